package turn

import (
	"sync"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Observer is told what happens while it happens, for a screen. Every callback may be nil; they are called one at a time
// while the turn runs, and must not block. They show the operator view and are no record.
type Observer struct {
	Started  func(t id.Turn, s id.Session)
	Step     func(n int)
	Text     func(delta string) // a preview of the model's answer, redacted
	Waiting  func(retry provider.RetryNotice)
	Call     func(tool, callID string, arguments string) // operator view of the arguments
	Stage    func(effect.Stage)
	Progress func(e id.Effect, p wire.Progress)
	Effect   func(effect.Result)
}

// telling is whether an Observer is still told anything.
type telling struct {
	mu   sync.Mutex // guards over, and is held while something is told
	over bool
}

func (t *telling) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

func (t *telling) tell(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		f()
	}
}

// until is what o is told in the course of a turn, until t is over.
func (o Observer) until(t *telling) Observer {
	told := Observer{Step: while(t, o.Step), Text: while(t, o.Text), Waiting: while(t, o.Waiting), Stage: while(t, o.Stage), Effect: while(t, o.Effect)}
	if o.Call != nil {
		told.Call = func(tool, callID, arguments string) { t.tell(func() { o.Call(tool, callID, arguments) }) }
	}
	if o.Progress != nil {
		told.Progress = func(e id.Effect, p wire.Progress) { t.tell(func() { o.Progress(e, p) }) }
	}
	return told
}

func while[A any](t *telling, f func(A)) func(A) {
	if f == nil {
		return nil
	}
	return func(a A) { t.tell(func() { f(a) }) }
}
