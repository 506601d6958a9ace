package prompt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// forgetful is a store that reads every window from its beginning.
type forgetful struct{ prompt.Journal }

func (f forgetful) Context(ctx context.Context, by principal.Scope, s id.Session, _ prompt.Mark, limit, maxBytes int) (prompt.Snapshot, error) {
	return f.Journal.Context(ctx, by, s, prompt.Mark{}, limit, maxBytes)
}

// TestWhatIsRememberedIsWhatIsStored holds a manager that remembers to one that reads everything each time.
func TestWhatIsRememberedIsWhatIsStored(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		old, anew := w.manager(), w.manager(forgetful{w.store})
		window := rapid.SampledFrom([]int{4_000, 30_000, 2_000_000}).Draw(rt, "window")
		for n := range rapid.IntRange(1, 12).Draw(rt, "turns") {
			w.say(someMessages(rt, n)...)
			if rapid.IntRange(0, 5).Draw(rt, "summary") == 0 { // by another process, as it were
				c := openIn(t, w, anew, model(3_000, w.writer))
				w.prepare(c, step(1))
			}
			of := model(window, nil)
			of.Limits.Tokenizer = "" // which counts long texts of other scripts by their bytes: fast
			want := w.prepare(openIn(t, w, anew, of), step(1))
			got := w.prepare(openIn(t, w, old, of), step(1))
			want.Decision, got.Decision = "", ""
			if a, b := text(t, want), text(t, got); a != b {
				rt.Fatalf("turn %d: stored\n%s\nremembered\n%s", n, a, b)
			}
		}
	})
}

// someMessages are what a turn may leave, also one that broke off.
func someMessages(rt *rapid.T, n int) (all []provider.Message) {
	for i := range rapid.SampledFrom([]int{0, 1, 1, 2, 30}).Draw(rt, "exchanges") {
		all = append(all, exchange(100*n+i, rapid.SampledFrom([]int{0, 500, 2_000}).Draw(rt, "bytes"))...)
	}
	switch rapid.IntRange(0, 5).Draw(rt, "broken off") {
	case 0:
		all = append(all, exchange(100*n+99, 10)[:2]...)
	case 1:
		all = append(all, exchange(100*n+99, 10)[2:3]...)
	case 2:
		long := exchange(100*n+99, 0)[:3]
		long[2].Parts[0].Result.Content = strings.Repeat("ж", 300_000)
		all = append(all, long...)
	}
	return all
}

func openIn(t *testing.T, w *world, m *prompt.Manager, of prompt.Model) *prompt.Conversation {
	t.Helper()
	c, err := m.Open(t.Context(), w.bound, of)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func text(t *testing.T, p prompt.Prepared) string {
	t.Helper()
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// reading counts what a store is asked for and gives.
type reading struct {
	prompt.Journal
	messages []int
}

func (r *reading) Context(ctx context.Context, by principal.Scope, s id.Session, since prompt.Mark, limit, maxBytes int) (prompt.Snapshot, error) {
	got, err := r.Journal.Context(ctx, by, s, since, limit, maxBytes)
	r.messages = append(r.messages, len(got.Messages))
	return got, err
}

func TestATurnReadsOnlyWhatCameSinceTheLast(t *testing.T) {
	w := newWorld(t)
	store := &reading{Journal: w.store}
	m := w.manager(store)
	for range 3 {
		w.say(exchanges(5, 10)...)
		w.prepare(openIn(t, w, m, model(50_000, nil)), step(1))
	}
	if want := []int{20, 20, 20}; !slices.Equal(store.messages, want) {
		t.Errorf("read %v messages, want %v", store.messages, want)
	}
}

func TestASecretThatCameLaterIsHiddenInWhatIsRemembered(t *testing.T) {
	w := newWorld(t)
	w.say(provider.User("the word is hunter2"), provider.Assistant(provider.Text("understood")))
	m, plain := w.manager(), model(50_000, nil)
	first := w.prepare(openIn(t, w, m, plain), step(1))
	if !strings.Contains(text(t, first), "hunter2") {
		t.Fatal("there is nothing to hide")
	}
	hiding := plain
	hiding.Hide = func(m provider.Message) (provider.Message, bool) {
		if !strings.Contains(m.Text(), "hunter2") {
			return m, false
		}
		return provider.User(strings.ReplaceAll(m.Text(), "hunter2", "[hidden]")), true
	}
	for range 2 {
		p := w.prepare(openIn(t, w, m, hiding), step(1))
		if got := text(t, p); strings.Contains(got, "hunter2") || !strings.Contains(got, "[hidden]") {
			t.Errorf("shown: %s", got)
		}
	}
	if p := w.prepare(openIn(t, w, m, plain), step(1)); !strings.Contains(text(t, p), "hunter2") {
		t.Error("what one turn hides changed what is remembered")
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	w := newWorld(t)
	store := &reading{Journal: w.store}
	m := w.manager(store)
	w.say(exchanges(3, 10)...)
	w.prepare(openIn(t, w, m, model(50_000, nil)), step(1))
	mine := *w
	for n := range 20 { // 20 sessions of one megabyte and more
		w.conversation = fmt.Sprint("chat:dm:", n)
		w.end()
		w.begin()
		w.say(exchanges(2, 900_000)...)
		w.prepare(openIn(t, w, m, model(50_000, nil)), step(1))
	}
	w.conversation = ""
	store.messages = nil
	openIn(t, &mine, m, model(50_000, nil))
	if !slices.Equal(store.messages, []int{12}) {
		t.Errorf("read %v: the session that was asked for longest ago is still remembered", store.messages)
	}
	store.messages = nil
	openIn(t, w, m, model(50_000, nil))
	if !slices.Equal(store.messages, []int{0}) {
		t.Errorf("read %v: the last session is not remembered", store.messages)
	}
}

func TestWhatIsRememberedDoesNotJoinOverAGap(t *testing.T) {
	w := newWorld(t)
	m, of := w.manager(), model(4_000_000, nil)
	of.Limits.Tokenizer = ""
	w.say(provider.User("before the gap"))
	w.prepare(openIn(t, w, m, of), step(1))
	long := strings.Repeat("ж", 600_000)
	w.say(provider.User("1"+long), provider.User("2"+long)) // both are more than a window
	got := text(t, w.prepare(openIn(t, w, m, of), step(1)))
	if strings.Contains(got, "before the gap") || strings.Contains(got, `"1ж`) || !strings.Contains(got, `"2ж`) {
		t.Errorf("shown %d bytes, with what lies before a message that is not shown", len(got))
	}
}

func TestASecretThatCameLaterIsHiddenInWhatIsShortened(t *testing.T) {
	w := newWorld(t)
	all := exchanges(4, 8000)
	all[1].Parts = append([]provider.Part{provider.Text("with hunter2: ")}, all[1].Parts...)
	w.say(all...)
	m, of := w.manager(), model(8_000, nil)
	if p := w.prepare(openIn(t, w, m, of), step(1)); p.Shortened == 0 || !strings.Contains(text(t, p), "hunter2") {
		t.Fatalf("%d results were shortened", p.Shortened)
	}
	of.Hide = func(m provider.Message) (provider.Message, bool) {
		if !strings.Contains(m.Text(), "hunter2") {
			return m, false
		}
		m = m.Clone()
		m.Parts[0].Text = "with [hidden]: "
		return m, true
	}
	if p := w.prepare(openIn(t, w, m, of), step(1)); p.Shortened == 0 || strings.Contains(text(t, p), "hunter2") {
		t.Errorf("%d results were shortened, and what is hidden is shown", p.Shortened)
	}
}

// Where there is nothing to hide, the messages of a long history need not be looked at one by one.
func TestWhereNothingIsHiddenNoMessageIsLookedAt(t *testing.T) {
	w := newWorld(t)
	w.say(provider.User("the word is hunter2"), provider.Assistant(provider.Text("understood")))
	m, of := w.manager(), model(50_000, nil)
	hides, asked := false, 0
	of.Hides = func() bool { return hides }
	of.Hide = func(provider.Message) (provider.Message, bool) {
		asked++
		return provider.User("[hidden]"), true
	}
	if got := text(t, w.prepare(openIn(t, w, m, of), step(1))); asked != 0 || !strings.Contains(got, "hunter2") {
		t.Errorf("asked %d times: %s", asked, got)
	}
	hides = true
	if got := text(t, w.prepare(openIn(t, w, m, of), step(1))); asked == 0 || strings.Contains(got, "hunter2") {
		t.Errorf("asked %d times: %s", asked, got)
	}
}
