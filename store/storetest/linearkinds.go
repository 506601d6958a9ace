package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func contentions() []contention {
	return []contention{
		{"values are compared and set, until their turn is over", valueModel, playValues, func(s Store) Store { return unconditional{s} }},
		{"nothing is written under a turn that is over", valueModel, playValues, func(s Store) Store { return unfenced{s} }},
		{"one request key starts one turn", turnModel, playTurns, func(s Store) Store { return forgetful{s, id.NewSource(beginning, rand.New(rand.NewSource(1)))} }},
		{"a session's lease is one turn's", turnModel, playTurns, func(s Store) Store { return generous{s} }},
		{"an approval carries one call", approvalModel, playApproval, func(s Store) Store { return careless{s} }},
	}
}

// The stores that forget.
type (
	unconditional struct{ Store } // sets whatever the condition says
	unfenced      struct{ Store } // takes every turn for one that runs
	forgetful     struct {        // knows no request again
		Store
		ids *id.Source
	}
	generous struct{ Store } // lets every claim extend
	careless struct{ Store } // starts every effect
)

func (s unconditional) Set(ctx context.Context, scope sandbox.KVScope, key string, value []byte, _ *int64) (int64, bool, error) {
	return s.Store.Set(ctx, scope, key, value, nil)
}

func (s unfenced) Set(ctx context.Context, scope sandbox.KVScope, key string, value []byte, v *int64) (int64, bool, error) {
	version, ok, err := s.Store.Set(ctx, scope, key, value, v)
	if err != nil {
		return 1, true, nil
	}
	return version, ok, err
}

func (s forgetful) Admit(ctx context.Context, a turn.Admission, r []event.Record) (turn.Admittance, error) {
	a.Request = s.ids.Request()
	return s.Store.Admit(ctx, a, r)
}

func (s generous) Append(ctx context.Context, t id.Turn, c lease.Claim, m []turn.Message) (turn.Fenced, error) {
	how, err := s.Store.Append(ctx, t, c, m)
	if err == nil {
		how = turn.Written
	}
	return how, err
}

func (s careless) EffectStarted(ctx context.Context, e effect.Started, r event.Record) (effect.Start, error) {
	if _, err := s.Store.EffectStarted(ctx, e, r); err != nil {
		return "", err
	}
	return effect.Begun, nil
}

// valueCall is a call about the one value of a scope, or the end of the turn that all write under.
type valueCall struct {
	act       string
	value     string
	condition int64 // -1: none
}

type valueAnswer struct {
	value   string
	version int64
	ok      bool
	over    bool // the turn had ended
}

// valueState is the value; version counts on when it is gone.
type valueState struct {
	there, over bool
	value       string
	version     int64
}

func (s valueState) current() int64 {
	if !s.there {
		return 0
	}
	return s.version
}

var valueModel = porcupine.Model{
	Init: func() any { return valueState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, want := state.(valueState), input.(valueCall), valueAnswer{}
		fits := in.condition < 0 || in.condition == s.current()
		switch {
		case in.act == "get":
			if s.there {
				want = valueAnswer{value: s.value, version: s.version}
			}
		case in.act == "end":
			s.over = true
		case s.over:
			want.over = true
		case !fits:
		case in.act == "set":
			s.there, s.value, s.version = true, in.value, s.version+1
			want = valueAnswer{version: s.version, ok: true}
		case in.act == "delete":
			s.there, want.ok = false, true
		}
		return output.(valueAnswer) == want, s
	},
}

func playValues(t testing.TB, w *world, r *rand.Rand) [][]step {
	l := w.start(t, alice(), fresh())
	scope := sandbox.KVScope{Plugin: "notes", Principal: "alice", Turn: l.turn}
	over := new(*sandbox.KVOverError)
	clients := make([][]step, 5)
	for i := range clients {
		for n := range 8 {
			in := valueCall{act: []string{"set", "set", "set", "delete", "get"}[r.Intn(5)], value: fmt.Sprint(i, " ", n), condition: -1}
			if r.Intn(2) == 0 {
				in.condition = int64(r.Intn(6))
			}
			if i == 0 && n == 5 {
				in = valueCall{act: "end", condition: -1}
			}
			clients[i] = append(clients[i], step{in, func() any {
				var a valueAnswer
				var err error
				condition := &in.condition
				if in.condition < 0 {
					condition = nil
				}
				switch in.act {
				case "set":
					a.version, a.ok, err = w.Store.Set(w.ctx, scope, "k", []byte(in.value), condition)
				case "delete":
					a.ok, err = w.Store.Delete(w.ctx, scope, "k", condition)
				case "get":
					var v []byte
					v, a.version, err = w.Store.Get(w.ctx, scope, "k")
					a.value = string(v)
				case "end":
					_, err = w.Store.Finish(w.ctx, w.terminal(l, turn.Completed), w.record(event.TurnFinished))
				}
				target := *over
				if errors.As(err, &target) {
					return valueAnswer{over: true}
				}
				if err != nil {
					t.Error(err)
				}
				return a
			}})
		}
	}
	return clients
}

// turnCall is an admission under a request key into a person's session, or a write under a claim that a client has.
type turnCall struct {
	act    string
	key    id.Request
	digest string
	turn   *id.Turn // the turn that is asked for, or that the client had last; "" for none
}

func (c turnCall) String() string { return fmt.Sprint(c.act, " ", c.key, " ", c.digest, " ", *c.turn) }

// admitted is a request as it was first admitted.
type admitted struct {
	turn   id.Turn
	digest string
}

type turnState struct {
	running id.Turn
	keys    map[id.Request]admitted
}

var turnModel = porcupine.Model{
	Init: func() any { return turnState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, want := state.(turnState), input.(turnCall), ""
		switch before, known := s.keys[in.key]; {
		case in.act == "admit" && known && before.digest == in.digest:
			want = fmt.Sprint(turn.Duplicate, before.turn)
		case in.act == "admit" && known:
			want = string(turn.Conflict)
		case in.act == "admit" && s.running != "":
			want = string(turn.Busy)
		case in.act == "admit":
			s.keys, s.running = maps.Clone(s.keys), *in.turn
			if s.keys == nil {
				s.keys = map[id.Request]admitted{}
			}
			s.keys[in.key] = admitted{*in.turn, in.digest}
			want = string(turn.Admitted)
		case in.act == "recover":
			want, s.running = fmt.Sprint(s.running), ""
		case *in.turn == "":
			want = "none"
		case s.running != *in.turn:
			want = string(turn.AlreadyEnded)
		default:
			want = string(turn.Written)
			if in.act == "finish" {
				s.running = ""
			}
		}
		return output.(string) == want, s
	},
	Equal: func(a, b any) bool { return reflect.DeepEqual(a, b) },
}

func playTurns(t testing.TB, w *world, r *rand.Rand) [][]step {
	keys := []id.Request{w.ids.Request(), w.ids.Request(), w.ids.Request()}
	w.ended(t, alice(), bound()) // so that the session is there
	clients := make([][]step, 5)
	for i := range clients {
		mine := new(live)
		for range 8 {
			in := turnCall{act: []string{"admit", "admit", "admit", "append", "finish", "recover"}[r.Intn(6)]}
			a := w.admission(alice(), bound())
			a.Request, a.Digest = keys[r.Intn(len(keys))], []string{"d1", "d1", "d1", "d2"}[r.Intn(4)]
			used := new(id.Turn)
			in.turn = used
			if in.act == "admit" {
				in.key, in.digest, *used = a.Request, a.Digest, a.Turn
			}
			clients[i] = append(clients[i], step{in, func() any { return w.turnStep(t, in, a, mine) }})
		}
	}
	return clients
}

// turnStep makes one call. mine is the turn that the client had last.
func (w *world) turnStep(t testing.TB, in turnCall, a turn.Admission, mine *live) (answer string) {
	var err error
	defer func() {
		if err != nil {
			t.Error(in.act, err)
		}
	}()
	if in.act == "admit" {
		got, failed := w.Store.Admit(w.ctx, a, w.records())
		if err = failed; got.Disposition == turn.Admitted {
			*mine = live{a.Turn, got.Session, got.Claim}
		}
		return string(got.Disposition) + string(got.Existing.ID)
	}
	if in.act == "recover" {
		got, failed := w.Store.Recover(w.ctx, "epo_next", w.Clock.Now())
		err = failed
		for _, one := range got {
			answer += string(one.Turn)
		}
		return answer
	}
	if *in.turn = mine.turn; mine.turn == "" {
		return "none"
	}
	var how turn.Fenced
	switch in.act {
	case "append":
		how, err = w.Store.Append(w.ctx, mine.turn, mine.claim, []turn.Message{w.message(*mine, "user", `{}`)})
	case "finish":
		how, err = w.Store.Finish(w.ctx, w.terminal(*mine, turn.Completed), w.record(event.TurnFinished))
	}
	return string(how)
}

// approvalCall answers the one question, takes the answer back, or starts an effect under it.
type approvalCall struct {
	act   string
	reach approval.Reach
	own   bool // the effect that was asked about
	n     int  // of another effect
}

type approvalState struct {
	state   approval.State
	reach   approval.Reach
	revoked bool
	used    bool
}

var approvalModel = porcupine.Model{
	Init: func() any { return approvalState{state: approval.Pending} },
	Step: func(state, input, output any) (bool, any) {
		s, in, want := state.(approvalState), input.(approvalCall), ""
		allowance := s.state == approval.Allowed && s.reach == approval.ForSession
		switch {
		case in.act == "decide" && s.state != approval.Pending:
			want = string(approval.AlreadyDecided)
		case in.act == "decide":
			want, s.state, s.reach = string(approval.Recorded), approval.Allowed, in.reach
			if in.reach == "" {
				s.state = approval.Denied
			}
		case in.act == "revoke" && !allowance:
			want = string(approval.NotAllowance)
		case in.act == "revoke" && s.revoked:
			want = string(approval.AlreadyDecided)
		case in.act == "revoke":
			want, s.revoked = string(approval.Recorded), true
		case s.state != approval.Allowed:
			want = string(effect.ApprovalMissing)
		case s.revoked:
			want = string(effect.ApprovalRevoked)
		case allowance && !in.own:
			want, s.used = string(effect.Begun), true
		case s.used:
			want = string(effect.ApprovalUsed)
		case !in.own:
			want = string(effect.ApprovalOther)
		default:
			want, s.used = string(effect.Begun), true
		}
		return output.(string) == want, s
	},
}

func playApproval(t testing.TB, w *world, r *rand.Rand) [][]step {
	l := w.start(t, alice(), fresh())
	q := w.ask(t, l)
	by := w.operator(t)
	clients := make([][]step, 5)
	reach := []approval.Reach{approval.Once, approval.Once, approval.ForSession, ""}
	for i := range clients {
		for n := range 6 {
			in := approvalCall{act: []string{"decide", "start", "start", "start", "revoke"}[r.Intn(5)], n: i*6 + n}
			in.reach, in.own = reach[r.Intn(len(reach))], r.Intn(2) == 0
			clients[i] = append(clients[i], step{in, func() any { return w.approvalStep(t, in, l, q, by) }})
		}
	}
	return clients
}

func (w *world) approvalStep(t testing.TB, in approvalCall, l live, q approval.Question, by principal.Scope) string {
	var (
		how string
		err error
	)
	switch in.act {
	case "decide":
		ans := denial()
		if in.reach != "" {
			ans = allow(in.reach)
		}
		ans.By = by.PrincipalID()
		_, got, failed := w.Store.Decide(w.ctx, by, q.ID, ans, w.Clock.Now(), w.record(event.ApprovalDecided))
		how, err = string(got), failed
	case "revoke":
		_, got, failed := w.Store.Revoke(w.ctx, by, q.ID, w.Clock.Now(), w.record(event.ApprovalRevoked))
		how, err = string(got), failed
	case "start":
		s := w.started(l)
		s.Approval, s.Tool, s.Plugin, s.Digest = q.ID, q.Tool, q.Plugin, q.Digest
		if in.own {
			s.Effect = q.Effect
		}
		got, failed := w.Store.EffectStarted(w.ctx, s, w.record(event.EffectStarted))
		how, err = string(got), failed
	}
	if err != nil {
		t.Error(in.act, err)
	}
	return how
}
