package turn_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// losing is a store whose host dies before the results of tools are written.
type losing struct{ *memory.Store }

func (l losing) AppendBehind(ctx context.Context, t id.Turn, c lease.Claim, m []turn.Message) error {
	if m[0].Role == string(provider.RoleTool) {
		return nil
	}
	return l.Store.AppendBehind(ctx, t, c, m)
}

// beforeHistory is what stands before the history in the newest request.
func (w *world) beforeHistory() string {
	return w.shown[len(w.shown)-1].Messages[0].Text()
}

// What happened in a turn that nobody finished is told to the next one, so that it does not happen again: its results are not in
// the history, because the answer that asked for them never had all of them.
func TestWhatHappenedInATurnThatWasCutOffIsTold(t *testing.T) {
	const happened, uncertain = `it happened, which the conversation does not show. Its result was {"note":"n-17"}. Do not repeat it.`, "it is not known whether it happened. Do not repeat it"
	for name, c := range map[string]struct {
		calls   []string
		givenUp bool
		model   bool // it is the next answer that does not come
		want    []string
	}{
		"killed in the second call":                  {calls: []string{"test.do", "test.do"}, want: []string{happened, uncertain, "was cut off"}},
		"killed while the next answer is waited for": {calls: []string{"test.do"}, model: true, want: []string{happened, "was cut off"}},
		"given up in the second call":                {calls: []string{"test.do", "test.do"}, givenUp: true, want: []string{happened, uncertain}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release, ran := make(chan struct{}), 0
				w := newWorld(t, func(_ context.Context, n int, _ provider.Request) (provider.Response, error) {
					switch {
					case n == 1:
						return call(c.calls...)
					case n == 2 && c.model:
						<-release
					}
					return say("I see.")
				})
				w.tool = func(context.Context, effect.Call) effect.Outcome {
					if ran++; ran == 2 {
						<-release
					}
					return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{"note":"n-17"}`)}
				}
				w.plan.Timeout = time.Hour
				w.cfg.Journal = losing{w.store}
				first := turn.New(w.cfg)
				_, session, done := w.start(first, t.Context())
				synctest.Wait()
				if c.givenUp {
					w.want((<-done).res, turn.Indeterminate, "cleanup_unconfirmed")
				}
				w.cfg.Journal, w.cfg.Epoch = w.store, w.ids.Epoch() // the next host
				if _, err := w.store.Recover(t.Context(), w.cfg.Epoch, time.Now()); err != nil {
					t.Fatal(err)
				}
				next := turn.New(w.cfg)
				for i := range 2 {
					if res, err := next.Run(t.Context(), again(session), turn.Observer{}); err != nil || res.Outcome() != turn.Completed {
						t.Fatal(res.Sentence(), err)
					}
					told := w.beforeHistory()
					for _, want := range c.want {
						open := want == uncertain // until it is settled
						if n := strings.Count(told, want); i == 0 && n != 1 || i == 1 && open != (n == 1) {
							t.Errorf("turn %d is told %q %d times: %s", i, want, n, told)
						}
					}
				}
				close(release)
				synctest.Wait()
				first.Close()
				next.Close()
			})
		})
	}
}

// A turn whose calls were answered leaves no note, whatever its end.
func TestATurnWithAllItsResultsLeavesNoNote(t *testing.T) {
	w := newWorld(t, func(_ context.Context, n int, _ provider.Request) (provider.Response, error) {
		switch n {
		case 1:
			return call("test.do", "test.do")
		case 3:
			return call("test.do")
		case 4:
			return provider.Response{}, &provider.Error{Kind: provider.KindNetwork}
		}
		return say("done")
	})
	x := turn.New(w.cfg)
	res, err := x.Run(t.Context(), ask("go"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []turn.Outcome{turn.Failed, turn.Completed} {
		if got, err := x.Run(t.Context(), again(res.Session()), turn.Observer{}); err != nil || got.Outcome() != want {
			t.Fatal(got.Outcome(), got.Sentence(), err)
		}
		if told := w.beforeHistory(); strings.Contains(told, "Note from the host") {
			t.Errorf("a note: %s", told)
		}
	}
}
