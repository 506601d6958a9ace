package sandbox

import "context"

// share is what one plugin may take of the engine's calls at once, so that it
// cannot keep every other plugin waiting. Plugins are told apart by name: the
// same one may be loaded for several turns.
type share struct {
	slots chan struct{}
	calls int // running and waiting; guarded by Engine.mu
}

// join counts a call into its plugin's share.
func (e *Engine) join(plugin string) *share {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.shares[plugin]
	if s == nil {
		s = &share{slots: make(chan struct{}, e.cfg.PluginCalls)}
		e.shares[plugin] = s
	}
	s.calls++
	return s
}

// quit counts it out again, and forgets a plugin without calls.
func (e *Engine) quit(plugin string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.shares[plugin]; s != nil {
		if s.calls--; s.calls == 0 {
			delete(e.shares, plugin)
		}
	}
}

// acquire waits for a slot of the plugin's share and then for one of the
// engine's. When ctx or the engine ends first it holds neither.
func (e *Engine) acquire(ctx context.Context, s *share) bool {
	for _, slots := range []chan struct{}{s.slots, e.slots} {
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

// release gives both back.
func (e *Engine) release(s *share) {
	<-e.slots
	<-s.slots
}
