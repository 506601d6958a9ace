package sandbox

import (
	"context"
	"maps"
)

// share is what one plugin may take of the engine's calls at once, so that it
// cannot keep every other plugin waiting. Plugins are told apart by name: the
// same one may be loaded for several turns.
type share struct {
	slots   chan struct{} // one for each running call
	plugins int           // of the name, loaded; guarded by Engine.mu
}

// join finds the share of a plugin that was loaded, once for all of its calls: a
// map and a lock in each of them were a tenth of a call, and more on two cores.
// Engine.mu is held.
func (e *Engine) join(plugin string) *share {
	s := e.shares[plugin]
	if s == nil {
		s = &share{slots: make(chan struct{}, e.cfg.PluginCalls)}
		e.shares[plugin] = s
	}
	s.plugins++
	return s
}

// quit counts a plugin out of its share, and forgets the shares that no plugin and
// no call has. Engine.mu is held.
func (e *Engine) quit(s *share) {
	s.plugins--
	maps.DeleteFunc(e.shares, func(_ string, s *share) bool { return s.plugins == 0 && len(s.slots) == 0 })
}

// acquire waits for a slot of the plugin's share and then for one of the
// engine's. When ctx or the engine ends first it holds neither.
func (e *Engine) acquire(ctx context.Context, s *share) bool {
	for _, slots := range [...]chan struct{}{s.slots, e.slots} {
		if tried(slots) {
			continue
		}
		select {
		case slots <- struct{}{}:
			continue
		case <-ctx.Done():
		case <-e.closing:
		}
		if slots == e.slots {
			<-s.slots
		}
		return false
	}
	return true
}

// tried takes a slot if there is one. Waiting on three channels locks them all,
// and the one that tells of closing is the same for every call on every core.
func tried(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// release gives both back.
func (e *Engine) release(s *share) {
	<-e.slots
	<-s.slots
}
