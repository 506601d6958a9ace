package approval

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/approval"
)

// allowance is one "for this session" as it is remembered. The question it came from is asked again with each use, so
// that a revocation by any process ends it.
type allowance struct {
	given time.Time
	until time.Time
	by    string
	from  id.Approval
}

// deciding is one decision under way. A revocation that concerns it marks it, and what is marked is denied whatever
// answer it gets.
type deciding struct {
	key     approval.Key
	cancel  context.CancelCauseFunc
	revoked bool
}

// lane lets the requests of one key in, one after another.
type lane struct {
	in    chan struct{} // of capacity 1: who holds it is deciding
	users int           // deciding or waiting
}

// begin counts a decision in, unless the gate is closed.
func (g *Gate) begin(req Request, cancel context.CancelCauseFunc) (*deciding, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := &deciding{key: req.Key, cancel: cancel}
	d.key.Session, d.key.Core = string(req.Turn.Session()), req.Turn.Core().ID // what may not be remembered has no key
	d.key.Principal = req.Turn.Principal().PrincipalID()
	if !g.closed {
		g.under[d] = struct{}{}
	}
	return d, !g.closed
}

func (g *Gate) end(d *deciding) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.under, d)
}

// enter waits for the place of a request of t among those of its key; false when ctx ended first. A waiter that is cancelled
// leaves nothing behind.
func (g *Gate) enter(ctx context.Context, k approval.Key, t id.Turn) (leave func(), ok bool) {
	g.mu.Lock()
	l := g.lanes[k]
	if l == nil {
		l = &lane{in: make(chan struct{}, 1)}
		g.lanes[k] = l
	}
	l.users++
	g.mu.Unlock()
	gone := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(g.lanes, k)
		}
	}
	select {
	case l.in <- struct{}{}:
		return func() { <-l.in; gone() }, true
	default:
	}
	defer g.waits(ctx, t)()
	select {
	case l.in <- struct{}{}:
		return func() { <-l.in; gone() }, true
	case <-ctx.Done():
		gone()
		return nil, false
	}
}

// covered is the decision of a request that an allowance covers. The allowance must still stand in the store; one that
// cannot be looked up covers nothing, and the person is asked.
func (g *Gate) covered(ctx context.Context, d *deciding, req Request) (Decision, bool) {
	a, ok := g.remembered(req.Key)
	if !ok {
		return Decision{}, false
	}
	q, found, err := g.cfg.Journal.Question(ctx, req.Turn.Principal(), a.from)
	if err != nil || !found || q.State != Allowed || q.Reach != ForSession || !q.Revoked.IsZero() {
		g.forget(func(k approval.Key, have allowance) bool { return k == req.Key && have.from == a.from })
		return Decision{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.revoked || g.allowed[req.Key].from != a.from {
		return Decision{Approval: a.from, Reason: ReasonRevoked}, true
	}
	return Decision{Allowed: true, Cached: true, Approval: a.from, By: a.by, Reason: ReasonCached}, true
}

func (g *Gate) remembered(k approval.Key) (allowance, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, ok := g.allowed[k]
	if now := g.cfg.Clock(); ok && (!now.Before(a.until) || now.Before(a.given)) { // a clock that went back would make it longer
		delete(g.allowed, k)
		return allowance{}, false
	}
	return a, ok
}

// keep takes an allowance: it is denied after all when a revocation came first, else it is remembered if it is for the
// session.
func (g *Gate) keep(d *deciding, req Request, q Question, dec Decision) Decision {
	now := g.cfg.Clock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.revoked {
		return Decision{Approval: q.ID, Reason: ReasonRevoked}
	}
	if q.Reach != ForSession || !req.Cacheable {
		return dec
	}
	if len(g.allowed) >= maxAllowances {
		for k, a := range g.allowed {
			if !now.Before(a.until) {
				delete(g.allowed, k)
			}
		}
	}
	if len(g.allowed) < maxAllowances {
		g.allowed[req.Key] = allowance{given: now, until: now.Add(g.cfg.CacheTime), by: q.DecidedBy, from: q.ID}
	}
	return dec
}

// forget removes allowances without touching what is under way.
func (g *Gate) forget(which func(approval.Key, allowance) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, a := range g.allowed {
		if which(k, a) {
			delete(g.allowed, k)
		}
	}
}

// invalidate ends allowances, and denies whatever is being decided or waits under a key that which names: an answer
// that is given after this cannot bring back what this took away.
func (g *Gate) invalidate(cause error, which func(approval.Key) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.allowed {
		if which(k) {
			delete(g.allowed, k)
		}
	}
	for d := range g.under {
		if which(d.key) {
			d.revoked = true
			d.cancel(cause)
		}
	}
}

// EndSession forgets every allowance of a session and denies its questions that are open. Call it when the session ends
// or its conversation is bound to another one.
func (g *Gate) EndSession(s id.Session) {
	g.invalidate(errRevoked, func(k approval.Key) bool { return k.Session == string(s) })
}

// EndCore does the same for a core: call it when another revision takes its place, forwards or back.
func (g *Gate) EndCore(core string) {
	g.invalidate(errRevoked, func(k approval.Key) bool { return k.Core == core })
}

// Close forgets everything, denies every question that is open and every one to come. It may be called again.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.invalidate(errClosed, func(approval.Key) bool { return true })
}

// listen returns the channel that a decision by id is announced on.
func (g *Gate) listen(a id.Approval) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := make(chan struct{}, 1)
	g.wake[a] = c
	return c
}

func (g *Gate) unlisten(a id.Approval) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wake, a)
}

// announce wakes who waits for a decision by id in this process; another one finds it by looking.
func (g *Gate) announce(a id.Approval) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case g.wake[a] <- struct{}{}:
	default: // nobody waits, or it was told already
	}
}
