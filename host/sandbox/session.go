package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// CallOptions bind one call to what it acts on and how far it may go. The zero
// value lets the guest compute and nothing else.
type CallOptions struct {
	// Timeout bounds the call from its start, queueing included; 0 leaves it to
	// the plugin's limit, which bounds it in any case.
	Timeout time.Duration
	// OutputLimit is how many bytes the caller will read; 0 leaves it to the
	// plugin's limit, which bounds it in any case.
	OutputLimit int64
	// Abilities is what this call may do, out of what the plugin was granted.
	// The rest is answered with the fault "denied".
	Abilities Abilities
	// Workspace confines file calls; nil answers them with "denied". It is not
	// closed by the call.
	Workspace *os.Root
	KV        KV // nil answers with "unavailable"
	Scope     KVScope
	HTTP      HTTPDoer // nil answers with "unavailable"
	Sign      Signer   // nil answers with "unavailable"
	// Progress receives progress at most every 100 ms, on the goroutine that
	// runs the guest; nil drops it. It must not block.
	Progress func(wire.Progress)
	// Redactor is what is hidden in the guest's words before they are cut; nil
	// hides nothing.
	Redactor func() redact.Set
}

// Session is the host's side of one guest call, whichever engine runs the
// guest: what it may do, what it has used, what it said. It is used by one
// goroutine at a time.
type Session struct {
	opt    CallOptions
	limits Limits
	clock  func() time.Time
	rand   io.Reader

	starting bool // module start and _initialize: nobody's authority yet
	stats    Stats
	logBytes int64
	kvBytes  int64 // of values, read and written
	signed   int64 // bytes
	dropped  bool  // an answer came that the guest was not given
	// portsUntil is when calls of ports end: fixed at the first.
	portsUntil time.Time
	logs       []wire.LogRecord
	progress   struct {
		last    time.Time
		held    wire.Progress
		holding bool
	}
}

// NewSession begins a call. clock and random are the host's own.
func NewSession(limits Limits, opt CallOptions, clock func() time.Time, random io.Reader) *Session {
	return &Session{opt: opt, limits: limits, clock: clock, rand: random}
}

// trapError ends a guest from inside a host call. It never reaches the guest.
type trapError struct {
	status Status
	reason string
	detail string // for the log
}

// Error is for the log.
func (e *trapError) Error() string {
	return strings.TrimSpace(string(e.status) + ": " + e.reason + " " + e.detail)
}

func trapped(reason string) *trapError { return &trapError{status: Trap, reason: reason} }

// ability is one host function as a plain function over bytes, so that any
// engine can serve it.
type ability struct {
	name  string
	needs Abilities
	// early says that it may be called before the entry point runs.
	early bool
	// serve answers; an error ends the guest. A "no" is a reply, not an error.
	serve func(s *Session, ctx context.Context, in []byte) ([]byte, error)
}

// abilityTable holds every ability, in the order of package wire. It is never
// changed.
var abilityTable = []ability{
	{name: wire.ImportLog, early: true, serve: (*Session).serveLog},
	{name: wire.ImportEmit, serve: (*Session).serveEmit},
	{name: wire.ImportNow, early: true, serve: (*Session).serveNow},
	{name: wire.ImportRandom, early: true, serve: (*Session).serveRandom},
	{name: wire.ImportHTTP, needs: MayFetch, serve: framed((*Session).fetch)},
	{name: wire.ImportFSStat, needs: MayReadFiles, serve: framed((*Session).fileStat)},
	{name: wire.ImportFSRead, needs: MayReadFiles, serve: framed((*Session).fileRead)},
	{name: wire.ImportFSList, needs: MayReadFiles, serve: framed((*Session).fileList)},
	{name: wire.ImportFSWrite, needs: MayWriteFiles, serve: framed((*Session).fileWrite)},
	{name: wire.ImportFSMkdir, needs: MayWriteFiles, serve: framed((*Session).fileMkdir)},
	{name: wire.ImportFSRemove, needs: MayWriteFiles, serve: framed((*Session).fileRemove)},
	{name: wire.ImportFSRename, needs: MayWriteFiles, serve: framed((*Session).fileRename)},
	{name: wire.ImportKVGet, needs: MayKeepValues, serve: framed((*Session).valueGet)},
	{name: wire.ImportKVSet, needs: MayKeepValues, serve: framed((*Session).valueSet)},
	{name: wire.ImportKVDelete, needs: MayKeepValues, serve: framed((*Session).valueDelete)},
	{name: wire.ImportKVList, needs: MayKeepValues, serve: framed((*Session).valueList)},
	{name: wire.ImportSign, needs: MaySign, serve: framed((*Session).sign)},
}

// AbilityNames lists the host functions that [Session.Serve] answers.
func AbilityNames() []string {
	names := make([]string, len(abilityTable))
	for i, a := range abilityTable {
		names[i] = a.name
	}
	return names
}

// Serve answers one host call by name. The reply is what the guest reads, nil
// for no block. An error means that the guest must be stopped at once: its call
// is over, it has used up its budget, or it called what is not there.
func (s *Session) Serve(ctx context.Context, name string, in []byte) ([]byte, error) {
	i := slices.IndexFunc(abilityTable, func(a ability) bool { return a.name == name })
	if i < 0 {
		return nil, trapped("unknown_host_call")
	}
	return s.serve(ctx, &abilityTable[i], in)
}

func (s *Session) serve(ctx context.Context, a *ability, in []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, trapped("call_is_over") // nothing starts after the end was decided
	}
	if s.starting && !a.early {
		return nil, trapped("host_call_before_entry")
	}
	if s.stats.HostCalls++; s.stats.HostCalls > s.limits.HostCalls {
		return nil, &trapError{status: LimitPassed, reason: "host_calls"}
	}
	if !s.opt.Abilities.Has(a.needs) {
		// The gate has let the tool through with all that it lists, so this one is not in its list.
		return faultFrame(faultf(wire.CodeDenied, "%s needs %s, and the tool that was called does not list it: add sdk.Needs(%q) to the tool", a.name, a.needs, a.needs.String())), nil
	}
	inner := ctx
	if a.needs != 0 {
		var done context.CancelFunc
		var open bool
		if inner, done, open = s.within(ctx); !open {
			done()
			return faultFrame(faultf(wire.CodeTimeout, "the call is about to end")), nil
		}
		defer done()
	}
	reply, err := a.guarded(s, context.WithValue(inner, insideKey{}, true), in)
	if err == nil && ctx.Err() != nil {
		err = trapped("call_is_over")
	}
	return reply, err
}

// within is the context of a port's call. It ends before the guest's own call
// does, so that the guest can say what it was waiting for; false says that this
// moment has passed.
func (s *Session) within(ctx context.Context) (context.Context, context.CancelFunc, bool) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}, true
	}
	if s.portsUntil.IsZero() {
		s.portsUntil = deadline.Add(-min(hostMargin, time.Until(deadline)/10))
	}
	inner, cancel := context.WithDeadline(ctx, s.portsUntil)
	return inner, cancel, time.Now().Before(s.portsUntil)
}

// guarded turns a panic of a port into the end of this call.
func (a *ability) guarded(s *Session, ctx context.Context, in []byte) (reply []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &trapError{HostFailure, "host_panic", fmt.Sprint(r)}
		}
	}()
	return a.serve(s, ctx, in)
}

// insideKey marks contexts handed to ports, so that a port which calls a plugin
// again is refused instead of recursing.
type insideKey struct{}

// Stats tells what the call has used so far.
func (s *Session) Stats() Stats { return s.stats }

// Logs returns the lines kept so far, bounded and escaped.
func (s *Session) Logs() []wire.LogRecord { return s.logs }

// Close hands on progress that was held back. Call it once, after the guest.
func (s *Session) Close() {
	if s.progress.holding && s.opt.Progress != nil {
		s.opt.Progress(s.progress.held)
	}
	s.progress.holding = false
}
