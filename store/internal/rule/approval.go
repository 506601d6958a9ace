package rule

import (
	"slices"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Begin is whether effect s may start under the approval that it names, at now. An effect that names none needed none.
// An answer for once carries the very call that was asked about and no other; an allowance for the session carries
// calls of its tool in its session.
func Begin(q approval.Question, found bool, s effect.Started, nowMillis int64) effect.Start {
	own := q.Effect == s.Effect && q.Digest == s.Digest
	switch {
	case s.Approval == "":
		return effect.Begun
	case !found || q.Session != s.Session || q.State != approval.Allowed:
		return effect.ApprovalMissing
	case q.Tool != s.Tool || q.Plugin != s.Plugin:
		return effect.ApprovalOther
	case !q.Revoked.IsZero():
		return effect.ApprovalRevoked
	case q.Reach == approval.ForSession && q.Effect != s.Effect:
		return effect.Begun
	case !q.Used.IsZero():
		return effect.ApprovalUsed
	case !own:
		return effect.ApprovalOther
	case nowMillis >= q.Expires.UnixMilli():
		return effect.ApprovalExpired
	}
	return effect.Begun
}

// MayDecide reports whether by, who reaches the question or is named by it, may decide it: the operator, those whom it
// names, and, where it names nobody, the principal for whom the call would run.
func MayDecide(q approval.Question, by principal.Scope) bool {
	if by.Authority() == principal.Operator || slices.Contains(q.Approvers, by.PrincipalID()) {
		return true
	}
	return len(q.Approvers) == 0 && by.PrincipalID() == q.Principal
}

// DecidedBy reports whether ans, given under by, is nobody's answer or by's own where by may give one.
func DecidedBy(q approval.Question, by principal.Scope, ans approval.Answer) bool {
	return ans.By == "" && ans.State != approval.Allowed || ans.By == by.PrincipalID() && MayDecide(q, by)
}

// Refused is r rewritten to say that by tried what is not by's to do.
func Refused(r event.Record, q approval.Question, by principal.Scope, what string) event.Record {
	r.Kind, r.Principal = event.ApprovalRefused, by.PrincipalID()
	r.Fields = []event.Field{
		event.F("approval", string(q.ID)), event.F("tool", q.Tool), event.F("tried", what), event.F("reason", "not_an_approver"),
	}
	return r
}

// Revocable is how a revocation of q by by is taken. Only Recorded changes anything.
func Revocable(q approval.Question, by principal.Scope) approval.Recording {
	switch {
	case !MayDecide(q, by):
		return approval.NotApprover
	case q.State != approval.Allowed || q.Reach != approval.ForSession:
		return approval.NotAllowance
	case !q.Revoked.IsZero():
		return approval.AlreadyDecided
	}
	return approval.Recorded
}
