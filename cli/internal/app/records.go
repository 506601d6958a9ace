package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// Records is the store of a home with the operator in front of it, and nothing that could run an effect: what reading
// history, deciding questions and granting need. It works beside a process that holds the home's lock.
type Records struct {
	Store *sqlite.Store
	// By is the operator, for the reason that was given to [Home.OpenRecords]. It ends with Close.
	By principal.Scope

	home     Home
	resolver *authority.Resolver
	ids      *id.Source
	clock    func() time.Time
}

// OpenRecords opens the store of a home that exists, making an empty one when there is none. reason goes into the
// audit record of the operator's authority.
func (h Home) OpenRecords(ctx context.Context, reason string) (*Records, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	ids := id.NewSource(time.Now, rand.Reader)
	store, err := sqlite.Open(ctx, sqlite.Config{Path: h.Join(DatabaseName), Clock: time.Now, IDs: ids})
	if err != nil {
		return nil, storeProblem(h, err)
	}
	r := &Records{Store: store, home: h, resolver: authority.NewResolver(store, store, time.Now, ids), ids: ids, clock: time.Now}
	if r.By, err = r.resolver.Operator(ctx, reason); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close ends the operator's authority and closes the store.
func (r *Records) Close() error {
	r.resolver.End()
	return r.Store.Close()
}

// Decide records the operator's answer to a question; see [approval.Gate.Record]. What the reason holds of the home's
// secrets is hidden.
func (r *Records) Decide(ctx context.Context, a id.Approval, allow bool, reach approval.Reach, reason string) (approval.Question, approval.Recording, error) {
	reason = r.home.Hidden(ctx, os.Getenv).Text(redact.ForEvent, reason)
	gate := approval.NewGate(approval.Config{Journal: r.Store, Clock: r.clock, IDs: r.ids})
	q, how, err := gate.Record(ctx, r.By, a, allow, reach, reason)
	if err != nil {
		return q, how, fmt.Errorf("app: record the decision: %w", err)
	}
	return q, how, nil
}

// RevokeApproval takes an allowance for the session back; see [approval.Gate.Revoke]. What the reason holds of the home's
// secrets is hidden.
func (r *Records) RevokeApproval(ctx context.Context, a id.Approval, reason string) (approval.Question, approval.Recording, error) {
	reason = r.home.Hidden(ctx, os.Getenv).Text(redact.ForEvent, reason)
	gate := approval.NewGate(approval.Config{Journal: r.Store, Clock: r.clock, IDs: r.ids})
	q, how, err := gate.Revoke(ctx, r.By, a, reason)
	if err != nil {
		return q, how, fmt.Errorf("app: revoke the allowance: %w", err)
	}
	return q, how, nil
}

// ResolveEffect settles an uncertain effect; see [effect.Resolutions]. What the reason holds of the home's secrets is
// hidden.
func (r *Records) ResolveEffect(ctx context.Context, e id.Effect, as effect.Verdict, reason string) (effect.Record, effect.Settling, error) {
	reason = r.home.Hidden(ctx, os.Getenv).Text(redact.ForEvent, reason)
	if cut := []rune(reason); len(cut) > effect.MaxResolveReason { // a mask may be longer than what it hides
		reason = string(cut[:effect.MaxResolveReason])
	}
	now := r.clock()
	got, how, err := r.Store.ResolveEffect(ctx, r.By, e, effect.Resolution{Verdict: as, Reason: reason, By: r.By.PrincipalID(), At: now},
		event.Record{ID: r.ids.Event(), At: now, Kind: event.EffectResolved, Principal: r.By.PrincipalID()})
	if err != nil {
		return got, how, fmt.Errorf("app: resolve the effect: %w", err)
	}
	return got, how, nil
}

// RuleDelivery queues a delivery anew or drops it; see [outbox.Records]. What the reason holds of the home's secrets is
// hidden.
func (r *Records) RuleDelivery(ctx context.Context, d id.Delivery, drop bool, reason string) (outbox.Delivery, outbox.Recording, error) {
	reason = r.home.Hidden(ctx, os.Getenv).Text(redact.ForEvent, reason)
	reason = strings.ToValidUTF8(reason[:min(len(reason), outbox.MaxReason)], "") // a mask may be longer than what it hides
	rule, kind := r.Store.RequeueDelivery, event.DeliveryRequeued
	if drop {
		rule, kind = r.Store.DropDelivery, event.DeliveryDropped
	}
	got, how, err := rule(ctx, r.By, d, reason, event.Record{ID: r.ids.Event(), At: r.clock(), Kind: kind})
	if err != nil {
		return got, how, fmt.Errorf("app: rule on the delivery: %w", err)
	}
	return got, how, nil
}

// CancelTurn asks the process that runs a turn to end it; see [turn.Journal]. It returns the turn as it stands.
func (r *Records) CancelTurn(ctx context.Context, t id.Turn) (turn.Record, turn.Cancelling, error) {
	found, ok, err := r.Store.Turn(ctx, r.By, t)
	if err != nil || !ok {
		return found, turn.CancelNoTurn, err
	}
	how, err := r.Store.RequestCancel(ctx, r.By, t, turn.CancelRecord(r.ids.Event(), r.clock(), r.By, found))
	if err != nil {
		return found, "", fmt.Errorf("app: cancel the turn: %w", err)
	}
	return found, how, nil
}

// EndSession ends a session for good; see [turn.Journal]. What the reason holds of the home's secrets is hidden.
func (r *Records) EndSession(ctx context.Context, s id.Session, reason string) (turn.Ending, error) {
	how, err := r.Store.EndSession(ctx, r.By, s, turn.EndRecord(r.ids.Event(), r.clock(), r.By, s, r.Hide(ctx, reason, turn.MaxRepairReason)))
	if err != nil {
		return "", fmt.Errorf("app: end the session: %w", err)
	}
	return how, nil
}

// CancelTask asks for the end of a background task; see [task.Records].
func (r *Records) CancelTask(ctx context.Context, t id.Task) (task.Task, task.Cancelling, error) {
	got, how, err := r.Store.CancelTask(ctx, r.By, "", t, event.Record{ID: r.ids.Event(), At: r.clock(), Kind: event.TaskCancelAsked})
	if err != nil {
		return got, how, fmt.Errorf("app: cancel the task: %w", err)
	}
	return got, how, nil
}

// FireSchedule queues a run of a schedule now; whoever works in the home runs it. See [task.Scheduler.FireNow].
func (r *Records) FireSchedule(ctx context.Context, coreID string, s core.Schedule) (task.Task, task.Queueing, error) {
	by := task.NewScheduler(task.SchedulerConfig{Queue: r.Store, Owner: r.resolver.Schedule, IDs: r.ids, Clock: r.clock, Wake: func() {}})
	got, how, err := by.FireNow(ctx, host.ScheduleOf(coreID, s, r.home.Hidden(ctx, os.Getenv)))
	if err != nil {
		return got, how, fmt.Errorf("app: run the schedule: %w", err)
	}
	return got, how, nil
}

// Grant lets a plugin use one capability; false when it might already. The audit record is written with it.
func (r *Records) Grant(ctx context.Context, plugin string, g capability.Grant) (bool, error) {
	return r.Store.GrantPlugin(ctx, r.By, plugin, g, r.about(event.PluginGranted, plugin, g))
}

// Revoke takes a capability back; false when the plugin had no such grant.
func (r *Records) Revoke(ctx context.Context, plugin string, g capability.Grant) (bool, error) {
	return r.Store.RevokePlugin(ctx, r.By, plugin, g, r.about(event.PluginRevoked, plugin, g))
}

// Hide is what an audit record may hold of a text that a person typed: without the home's secrets, and of at most limit
// runes.
func (r *Records) Hide(ctx context.Context, text string, limit int) string {
	shown := []rune(r.home.Hidden(ctx, os.Getenv).Text(redact.ForEvent, text))
	return string(shown[:min(len(shown), limit)])
}

// Note appends one audit record of what the operator does outside the store. What the fields hold of the home's secrets is
// hidden: a value that was typed where a name belongs would stay in the audit.
func (r *Records) Note(ctx context.Context, kind event.Kind, fields ...event.Field) error {
	if err := r.resolver.Accept(r.By); err != nil {
		return err
	}
	set := r.home.Hidden(ctx, os.Getenv)
	for i := range fields {
		fields[i].Value = set.Text(redact.ForEvent, fields[i].Value)
	}
	return r.Store.Record(ctx, event.Record{ID: r.ids.Event(), At: r.clock(), Kind: kind, Principal: r.By.PrincipalID(), Fields: fields})
}

func (r *Records) about(kind event.Kind, plugin string, g capability.Grant) event.Record {
	return event.Record{
		ID: r.ids.Event(), At: r.clock(), Kind: kind, Principal: r.By.PrincipalID(),
		Fields: []event.Field{event.F("plugin", plugin), event.F("grant", g.String())},
	}
}
