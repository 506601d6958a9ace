package storetest

import (
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"pgregory.net/rapid"
)

type found struct {
	row any
	is  bool
}

// read compares one read by somebody of something.
func (p *pair) read(rt *rapid.T) {
	by := p.scope(rt)
	s, limit := p.session(rt), rapid.IntRange(0, 4).Draw(rt, "limit")
	turnID := id.Turn("trn_unknown")
	if len(p.turns) > 0 && rapid.Bool().Draw(rt, "known turn") {
		turnID = one(rt, "turn", p.turns).turn
	}
	what := one(rt, "what", []string{
		"Session", "Sessions", "Turn", "Turns", "EveryTurn", "Effects", "Window", "Questions", "Events", "BoundSession", "Owner", "Search", "Legacy",
		"Uncertain", "Effect", "Deliveries", "Left",
	})
	skip := rapid.IntRange(0, 3).Draw(rt, "skip")
	query := turn.EventQuery{Skip: skip, Limit: limit}
	if what == "Events" {
		query = p.eventQuery(rt, s, turnID, skip, limit)
	}
	bytes := rapid.IntRange(0, 60).Draw(rt, "bytes")
	state := one(rt, "state", []approval.State{"", approval.Pending, approval.Denied})
	standing := one(rt, "standing", []outbox.State{"", outbox.Queued, outbox.Unknown})
	f := p.person(rt)
	open, effectID := rapid.Bool().Draw(rt, "open"), id.Effect("eff_unknown")
	if len(p.effects) > 0 && rapid.Bool().Draw(rt, "known effect") {
		effectID = one(rt, "effect", p.effects).Effect
	}
	p.both(rt, what, func(w *world) (any, error) {
		switch what {
		case "Session":
			row, is, err := w.Store.Session(w.ctx, by(w), s)
			return found{row, is}, err
		case "Sessions":
			return w.Store.Sessions(w.ctx, by(w), skip, limit)
		case "Turn":
			row, is, err := w.Store.Turn(w.ctx, by(w), turnID)
			return found{row, is}, err
		case "Turns":
			return w.Store.Turns(w.ctx, by(w), s, skip, limit)
		case "EveryTurn":
			return w.Store.Turns(w.ctx, by(w), "", skip, limit)
		case "Effects":
			return w.Store.Effects(w.ctx, by(w), turnID)
		case "Uncertain":
			return w.Store.Uncertain(w.ctx, by(w), open, skip, limit)
		case "Left":
			return w.Store.Left(w.ctx, by(w), s, turnID, limit)
		case "Effect":
			row, is, err := w.Store.Effect(w.ctx, by(w), effectID)
			return found{row, is}, err
		case "Window":
			return w.Store.Window(w.ctx, by(w), s, limit, bytes)
		case "Questions":
			return w.Store.Questions(w.ctx, by(w), state, skip, limit)
		case "Deliveries":
			return w.Store.Deliveries(w.ctx, by(w), standing, skip, limit)
		case "Events":
			return w.Store.Events(w.ctx, by(w), query)
		case "Search":
			return w.Store.Search(w.ctx, by(w), turn.SearchQuery{Text: "Hell", Limit: limit})
		case "Legacy":
			row, is, err := w.Store.Legacy(w.ctx, by(w), turn.LegacyQuery{Session: s, Reason: "compare"})
			return found{row, is}, err
		case "BoundSession":
			row, is, err := w.Store.BoundSession(w.ctx, f)
			return found{row, is}, err
		default:
			row, is, err := w.Store.Owner(w.ctx, s)
			return found{row, is}, err
		}
	})
}

func (p *pair) eventQuery(rt *rapid.T, s id.Session, t id.Turn, skip, limit int) turn.EventQuery {
	q := turn.EventQuery{Skip: skip, Limit: limit}
	if rapid.Bool().Draw(rt, "by session") {
		q.Session = s
	}
	if rapid.Bool().Draw(rt, "by turn") {
		q.Turn = t
	}
	if rapid.Bool().Draw(rt, "by kind") {
		q.Kind = one(rt, "kind", []event.Kind{event.TurnStarted, event.TurnFinished, event.LookupDenied, event.EffectFinished})
	}
	if rapid.Bool().Draw(rt, "by time") {
		q.Since = beginning().Add(time.Duration(rapid.IntRange(0, 100_000).Draw(rt, "since")) * time.Millisecond)
	}
	return q
}

// everything compares all that an operator can read.
func (p *pair) everything(rt *rapid.T) {
	op := func(w *world) principal.Scope { return w.operator(p.t) }
	p.both(rt, "all sessions", func(w *world) (any, error) { return w.Store.Sessions(w.ctx, op(w), 0, 500) })
	p.both(rt, "all questions", func(w *world) (any, error) { return w.Store.Questions(w.ctx, op(w), "", 0, 500) })
	p.both(rt, "all deliveries", func(w *world) (any, error) { return w.Store.Deliveries(w.ctx, op(w), "", 0, 500) })
	p.both(rt, "all tasks", func(w *world) (any, error) { return w.Store.Tasks(w.ctx, op(w), "", "", 0, 500) })
	p.both(rt, "waiting channels", func(w *world) (any, error) { return w.Store.WaitingChannels(w.ctx, 500) })
	p.both(rt, "all records", func(w *world) (any, error) {
		return w.Store.Events(w.ctx, op(w), turn.EventQuery{Limit: 1000})
	})
	for _, l := range p.turns {
		p.both(rt, "turn", func(w *world) (any, error) {
			row, is, err := w.Store.Turn(w.ctx, op(w), l.turn)
			return found{row, is}, err
		})
		p.both(rt, "effects", func(w *world) (any, error) { return w.Store.Effects(w.ctx, op(w), l.turn) })
		p.both(rt, "window", func(w *world) (any, error) { return w.Store.Window(w.ctx, op(w), l.session, 1000, 1<<20) })
	}
}

// requested looks up a key that may have been used, for its principal or another.
func (p *pair) requested(rt *rapid.T) {
	who, key := p.person(rt), one(rt, "request", append([]id.Request{"req_unknown", ""}, p.requests...))
	p.both(rt, "Requested", func(w *world) (any, error) {
		row, is, err := w.Store.Requested(w.ctx, who, key)
		return found{row, is}, err
	})
}

// observe has a model report, once more at times, or of a session that the turn is not in.
func (p *pair) observe(rt *rapid.T) {
	l := one(rt, "turn", p.turns)
	o := p.l.observation(l)
	if len(p.decisions) > 0 && rapid.IntRange(0, 3).Draw(rt, "again") == 0 {
		o.Decision = one(rt, "decision", p.decisions)
	}
	if rapid.IntRange(0, 9).Draw(rt, "elsewhere") == 0 {
		o.Session = p.session(rt)
	}
	o.Step, o.Usage.Output = rapid.IntRange(1, 3).Draw(rt, "step"), rapid.IntRange(0, 9).Draw(rt, "tokens")
	o.Overflow = rapid.IntRange(0, 4).Draw(rt, "kept back") == 0
	if !o.Overflow && rapid.IntRange(0, 4).Draw(rt, "refused") == 0 {
		o.Refused = 1500
	}
	o.Usage.Reported = !o.Overflow && o.Refused == 0 && rapid.Bool().Draw(rt, "reported")
	p.decisions = append(p.decisions, o.Decision)
	p.both(rt, "Observe", func(w *world) (any, error) { return w.observe(o) })
}
