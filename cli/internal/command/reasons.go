package command

import (
	"context"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// reasonWords is a stable reason of a turn or an effect in words, for text that people read; a reason that has none
// stands for itself.
func reasonWords(reason string) string {
	words := map[string]string{
		"binding_failed":         "what the turn may do could not be put together",
		"catalog_failed":         "the tools of the core could not be put together",
		"step_limit":             "the agent used all its steps without an answer",
		"turn_timeout":           "the turn's time was over",
		"history_unreadable":     "the session's history cannot be read",
		"claim_lost":             "another host took the session over",
		"context_overflow":       "the conversation is too long for the model",
		"model_refused":          "the model declined to answer",
		"output_cut":             "the model's answer was cut at its output limit",
		"cancelled":              "cancelled",
		"cleanup_unconfirmed":    "it was told to end and something of it went on",
		"host_fault":             "the host broke an invariant of its own",
		"effect_indeterminate":   "an effect may or may not have happened: check, then decide by hand",
		"effect_denied":          "its one effect was denied",
		"effect_failed":          "its one effect failed",
		"effect_invalid":         "its one effect was asked for with arguments that do not fit",
		"effect_not_found":       "there was no such tool",
		"effect_timed_out":       "its one effect took too long",
		"host_restarted":         "the process that ran it was gone before it ended",
		"lease_expired":          "its host did not say for too long that it still ran",
		"no_interactive_route":   "it needs approval, and nobody could be asked",
		"approval_expired":       "nobody answered the question in time",
		"approval_denied":        "a person said no",
		"approval_interrupted":   "the question was interrupted",
		"approval_not_stored":    "the question could not be stored",
		"approval_not_delivered": "the question could not be delivered to anybody",
		"approval_revoked":       "its approval was taken back",
		"approval_used":          "its approval was good for once and was used already",
		"approval_missing":       "there was no approval of this very call",
		"approval_other":         "its approval was of another call",
		"host_closing":           "the host was shutting down",
		"operand_changed":        "what it would run had changed since it was approved",
		"plan_invalid":           "it could not be said what it would run",
		"not_approvable_masked":  "a part of it looked like a secret and would have been masked, so nobody could approve it",
		"not_approvable":         "the arguments are too large to be shown whole, so nobody could approve them",
		"capability_not_in_core": "the core does not list a capability that the tool needs",
		"capability_not_granted": "the plugin was not granted a capability that the tool needs",
		"denied_by_rules":        "the approval rules deny it",
		"arguments_schema":       "the arguments do not fit the tool's schema",
		"tool_not_found":         "there is no such tool in the core",
		"request_unanswered":     "a request of it that may have changed something went out, and no whole answer came",
		"request_answered":       "a request of it that may have changed something was answered, and it ended before it could say what came of it",
		"not_recorded":           "it could not be recorded, so it did not run",

		"missing_durable_owner":        "nobody owns it: its owner row is gone",
		"legacy_owner_requires_repair": "whose it is nobody can say",
	}
	if text, ok := words[reason]; ok {
		return text
	}
	if code, ok := strings.CutPrefix(reason, "fault_"); ok {
		return "the tool answered " + code
	}
	return reason
}

// explained is a reason with its words, where it has any.
func explained(reason string) string {
	if words := reasonWords(reason); words != reason {
		return reason + ": " + words
	}
	return reason
}

// endedBecause is why a turn ended as it did: the sentence that was recorded with its end, else its reason in words.
func endedBecause(ctx context.Context, r *app.Records, t turn.Record) (string, error) {
	if t.Reason == "" {
		return "", nil
	}
	found, err := r.Store.Events(ctx, r.By, turn.EventQuery{Turn: t.ID, Kind: event.TurnFinished, Limit: 1})
	if err != nil {
		return "", err
	}
	for _, e := range found {
		for _, f := range e.Fields {
			if f.Name == "why" && f.Value != "" {
				return f.Value, nil
			}
		}
	}
	if t.State == turn.State(turn.Cancelled) && interrupted(t) {
		return "it was asked to end, and its host was gone before it could write that down", nil
	}
	return reasonWords(t.Reason), nil
}
