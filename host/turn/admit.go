package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// admitted is a turn that has its row, its session and its claim.
type admitted struct {
	req     Request
	plan    Plan
	turn    id.Turn
	session id.Session
	trace   id.Trace
	claim   lease.Claim
	input   provider.Message // as the model sees it
	started time.Time
	leave   []func() // leaves the lanes, in the order they were entered

	generation int // how many turns it works for, one for another
}

// admit makes the turn durable, after earlier turns of its session. A turn that was admitted before under the same
// key and digest comes back as a Record instead.
func (x *Execution) admit(ctx context.Context, req Request, digest string, plan Plan) (*admitted, *Record, error) {
	a := &admitted{req: req, plan: plan, turn: x.cfg.IDs.Turn(), trace: x.cfg.IDs.Trace(), session: req.Selector.Session}
	fresh := x.cfg.IDs.Session()
	if err := x.queue(ctx, a, fresh); err != nil {
		a.release()
		return nil, nil, err
	}
	before, moves, err := x.boundBefore(ctx, req)
	if err != nil {
		a.release()
		return nil, nil, &InfrastructureError{req.Key, a.turn, "look up the bound session", err}
	}
	a.started = x.cfg.Clock()
	var messages []Message
	if !req.Direct { // no model sees a direct call
		a.input = provider.User(plan.Setup.Known.Text(redact.ForModel, req.Input))
		first, err := x.message(a.turn, a.input)
		if err != nil {
			a.release()
			return nil, nil, &RejectedError{req.Key, RejectInput, fmt.Sprintf("the input cannot be written down: %v", err)}
		}
		messages = []Message{first}
	}
	got, err := x.cfg.Journal.Admit(ctx, Admission{
		Request: req.Key, Digest: digest, Turn: a.turn, NewSession: fresh, Selector: req.Selector, Owner: req.Actor,
		Core: plan.Core.ID, Revision: plan.Core.Revision, Capabilities: plan.Core.Capabilities.Fingerprint(),
		Claim: lease.Claim{Token: x.cfg.IDs.Lease(), Epoch: x.cfg.Epoch, Expires: a.started.Add(plan.Timeout + grace)},
		Trace: a.trace, Input: plan.Setup.Known.Text(redact.ForDurable, req.Input), Messages: messages, At: a.started,
	}, x.admissionRecords(a))
	if err != nil {
		a.release()
		return nil, nil, &InfrastructureError{req.Key, a.turn, "admit the turn", err}
	}
	if got.Disposition == Admitted {
		if moves && before != got.Session {
			x.cfg.Left(before)
		}
		a.session, a.claim = got.Session, got.Claim
		return a, nil, nil
	}
	a.release()
	switch got.Disposition {
	case Duplicate:
		return nil, &got.Existing, nil
	case Conflict:
		return nil, nil, conflict(req.Key)
	case SessionNotFound:
		return nil, nil, &RejectedError{req.Key, RejectSession, fmt.Sprintf("session %s not found: `portcullis sessions list` shows yours", req.Selector.Session)}
	case SessionOver:
		return nil, nil, &RejectedError{req.Key, RejectEnded, fmt.Sprintf("session %s was ended: use --fresh for a new one", req.Selector.Session)}
	case Busy:
		return nil, nil, &RejectedError{req.Key, RejectBusy, "another process is running a turn in this session: wait for it, or use --fresh"}
	default:
		return nil, nil, &InfrastructureError{req.Key, a.turn, "admit the turn", fmt.Errorf("store answered %q", got.Disposition)}
	}
}

// boundBefore is the session that the request's conversation may leave for another one.
func (x *Execution) boundBefore(ctx context.Context, req Request) (id.Session, bool, error) {
	if x.cfg.Left == nil || req.Selector.Kind == Bound || req.Actor.ConversationKey == "" {
		return "", false, nil
	}
	return x.cfg.Journal.BoundSession(ctx, req.Actor)
}

// queue puts the turn behind the earlier ones of its session. Which session a conversation is bound to is only safe
// to look up while no other first turn of the conversation is on its way, so the conversation's lane is taken first;
// no path takes them in the other order.
func (x *Execution) queue(ctx context.Context, a *admitted, fresh id.Session) error {
	enter := func(key string) error {
		leave, err := x.lanes.enter(ctx, key)
		var full *fullError
		if errors.As(err, &full) {
			return &RejectedError{a.req.Key, RejectQueueFull, full.Error() + ": nothing was started; ask again when some have ended"}
		}
		if errors.Is(err, errShut) {
			return closed(a.req.Key)
		}
		if err != nil {
			return &RejectedError{a.req.Key, RejectCancelled, "cancelled while waiting for the session's earlier turn"}
		}
		a.leave = append(a.leave, leave)
		return nil
	}
	switch a.req.Selector.Kind {
	case Fresh:
		a.session = fresh
	case Bound:
		if key := a.req.Actor.ConversationKey; key != "" {
			if err := enter("conversation " + key); err != nil {
				return err
			}
		}
		bound, found, err := x.cfg.Journal.BoundSession(ctx, a.req.Actor)
		if err != nil {
			return &InfrastructureError{a.req.Key, a.turn, "look up the bound session", err}
		}
		if a.session = bound; !found {
			a.session = fresh
		}
	}
	if err := enter(string(a.session)); err != nil {
		return err
	}
	select {
	case <-x.quit: // the turn before may have made way because of that
		return closed(a.req.Key)
	default:
		return nil
	}
}

// closed is the refusal of a turn by a host that is shutting down.
func closed(key id.Request) error {
	return &RejectedError{key, RejectClosed, "the host is shutting down: nothing was started, and the key may be used again"}
}

func (a *admitted) release() {
	for _, leave := range slices.Backward(a.leave) {
		leave()
	}
	a.leave = nil
}

func (x *Execution) admissionRecords(a *admitted) []event.Record {
	rec := event.Record{
		ID: x.cfg.IDs.Event(), At: a.started, Kind: event.TurnStarted, Principal: a.req.Actor.PrincipalID,
		Session: a.session, Turn: a.turn, Trace: a.trace,
		Fields: []event.Field{
			event.F("core", a.plan.Core.ID), event.F("revision", a.plan.Core.Revision),
			event.F("capabilities", a.plan.Core.Capabilities.Fingerprint()), event.F("model", a.plan.modelName()),
		},
	}
	if a.req.Parent != nil {
		rec.Fields = append(rec.Fields, event.F("parent_session", a.req.Actor.ParentSession), event.F("parent_turn", a.req.Actor.ParentTurn))
	}
	made := rec
	made.ID, made.Kind = x.cfg.IDs.Event(), event.SessionCreated
	records := []event.Record{made, rec}
	if a.req.Actor.Authority == principal.Operator {
		// The scope that bind issues is operator authority: its reason is on record before it exists.
		issued := rec
		issued.ID, issued.Kind = x.cfg.IDs.Event(), event.OperatorIssued
		issued.Fields = []event.Field{event.F("reason", a.plan.Setup.Known.Text(redact.ForEvent, a.req.Actor.Reason))}
		records = append(records, issued)
	}
	return records
}

// bind freezes what the turn is bound to.
func (x *Execution) bind(ctx context.Context, a *admitted) (binding.Turn, error) {
	scope, err := x.cfg.Authority.Session(ctx, a.req.Actor, a.session)
	if err != nil {
		return binding.Turn{}, fmt.Errorf("resolve authority: %w", err)
	}
	token := func() binding.Token {
		return binding.Token{ID: x.cfg.IDs.Token(), Request: a.req.Key, Turn: a.turn, Session: a.session}
	}
	return binding.New(binding.Spec{
		Request: a.req.Key, Turn: a.turn, Session: a.session, Principal: scope, Core: a.plan.Core,
		Workspace: a.plan.Workspace, Route: token(), Admission: token(), Cancellation: token(),
		Trace: a.trace, Interaction: a.req.Interaction,
	})
}

// rejected turns a planner's error into a rejection, keeping one that already is.
func rejected(key id.Request, err error) error {
	var r *RejectedError
	if errors.As(err, &r) {
		return r
	}
	return &RejectedError{key, RejectCore, err.Error()}
}
