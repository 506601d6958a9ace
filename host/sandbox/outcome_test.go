package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
)

// outcomes loads the fixture with one export for each way to end.
func outcomes(t testing.TB, e *sandbox.Engine, exports ...string) *sandbox.Plugin {
	return loadWith(t, e, sandbox.Foreign{
		Name: "outcomes", Wasm: fixture(t, "outcomes"), Exports: exports, Limits: small(),
		Settings: map[string]string{"base_url": "https://example.com"},
	})
}

func TestOutcomeOfEachEnding(t *testing.T) {
	e := open(t, sandbox.Config{})
	for _, c := range []struct {
		export, input  string
		status         sandbox.Status
		reason, output string
	}{
		{"ok", "", sandbox.OK, "", "K"},
		{"ok_empty", "", sandbox.OK, "", ""},
		{"no_output", "", sandbox.NoOutput, "", ""},
		{"rc7", "", sandbox.GuestError, "rc_7", ""},
		{"rc_text", "it broke", sandbox.GuestError, "rc_1", ""},
		{"text_but_ok", "never mind", sandbox.OK, "", "K"},
		{"trap", "", sandbox.Trap, "engine", ""},
		{"trap_after_output", "", sandbox.Trap, "engine", ""},
		{"recurse", "", sandbox.LimitPassed, "stack_depth", ""},
		{"exit", "\x00", sandbox.Exited, "exit_0", ""},
		{"exit", "\x03", sandbox.Exited, "exit_3", ""},
		{"exit_as_deadline", "", sandbox.Exited, "exit_4026531839", ""},
		{"exit_as_cancelled", "", sandbox.Exited, "exit_4294967295", ""},
		{"stdout", "", sandbox.OK, "", "K"},

		{"bad_output", "", sandbox.BadOutputRange, "output_range", ""},
		{"bad_output_zero", "", sandbox.BadOutputRange, "output_range", ""},
		{"bad_output_long", "", sandbox.BadOutputRange, "output_range", ""},
		{"bad_output_wrap", "", sandbox.OutputTooLarge, "output_limit", ""},
		{"bad_output_freed", "", sandbox.BadOutputRange, "output_range", ""},
		{"free_after_output", "", sandbox.OK, "", "K"},
		{"big_output", "", sandbox.OutputTooLarge, "output_limit", ""},

		{"load_zero", "", sandbox.Trap, "load_range", ""},
		{"load_past", "", sandbox.Trap, "load_range", ""},
		{"load_word_past", "", sandbox.Trap, "load_range", ""},
		{"store_before", "", sandbox.Trap, "store_range", ""},
		{"store_header", "", sandbox.Trap, "store_range", ""},
		{"store_freed", "", sandbox.Trap, "store_range", ""},
		{"input_past", "abc", sandbox.Trap, "input_range", ""},
		{"error_bogus", "", sandbox.Trap, "error_range", ""},
		{"log_bogus", "", sandbox.Trap, "log_range", ""},
		{"config_bogus", "", sandbox.Trap, "config_range", ""},
		{"copy_past_memory", "", sandbox.Trap, "memory_range", ""},
		{"copy_past_block", "", sandbox.Trap, "load_range", ""},
		{"tolerated", "", sandbox.OK, "", "K"},
		{"setting", "base_url", sandbox.OK, "", "https://example.com"},
		{"setting", "other", sandbox.OK, "", ""},

		{"grow_bomb", "", sandbox.OutOfMemory, "engine", ""},
		{"grow_politely", "", sandbox.OK, "", "K"},
		{"alloc_bomb", "", sandbox.OutOfMemory, "engine", ""},
		{"block_bomb", "", sandbox.OutOfMemory, "engine", ""},
		{"alloc_free_loop", "", sandbox.OK, "", "K"},
		{"table_grow", "", sandbox.OK, "", "B"},
	} {
		t.Run(c.export, func(t *testing.T) {
			p := outcomes(t, e, c.export)
			out := p.Call(t.Context(), c.export, []byte(c.input), sandbox.CallOptions{})
			want(t, out, c.status, c.reason)
			if string(out.Output) != c.output {
				t.Errorf("output %q, want %q", out.Output, c.output)
			}
			if !out.Entered || out.Abandoned {
				t.Errorf("entered %v, abandoned %v", out.Entered, out.Abandoned)
			}
			if peak := out.Stats.MemoryPeak; peak < 64<<10 || peak > small().Memory {
				t.Errorf("memory peak %d is not between one page and the limit", peak)
			}
		})
	}
}

// Each of these never comes back by itself. The deadline is the host's own, and
// an answer given before it does not count.
func TestDeadlineEndsEveryLoop(t *testing.T) {
	e := open(t, sandbox.Config{})
	for _, c := range []struct {
		fixture, export string
		entered         bool
	}{
		{"outcomes", "spin", true},
		{"outcomes", "spin_after_output", true},
		{"outcomes", "spin_fill", true},
		{"start_loop", "run", false},
		{"init_loop", "run", false},
		{"wasi", "sleep_an_hour", true},
	} {
		t.Run(c.fixture+" "+c.export, func(t *testing.T) {
			p := load(t, e, c.fixture, c.export)
			far := sandbox.LetIn
			if c.entered {
				far = sandbox.CameIn
			}
			var took time.Duration
			out, timeout := sandbox.Overdue(far, func(timeout time.Duration) sandbox.Outcome {
				begun := time.Now()
				defer func() { took = time.Since(begun) }()
				return p.Call(t.Context(), c.export, nil, sandbox.CallOptions{Timeout: timeout})
			})
			want(t, out, sandbox.TimedOut, "")
			if out.Entered != c.entered || out.Abandoned {
				t.Errorf("entered %v, abandoned %v", out.Entered, out.Abandoned)
			}
			if took < timeout || took > timeout+5*time.Second {
				t.Errorf("a deadline of %s took %s", timeout, took)
			}
		})
	}
}

func TestCallerEndsACall(t *testing.T) {
	e := open(t, sandbox.Config{})
	p := outcomes(t, e, "spin", "ok")
	why := errors.New("the person pressed stop")
	out, _ := sandbox.Overdue(sandbox.LetIn, func(timeout time.Duration) sandbox.Outcome {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(timeout, func() { cancel(why) })
		out := p.Call(ctx, "spin", nil, sandbox.CallOptions{})
		want(t, p.Call(ctx, "ok", nil, sandbox.CallOptions{}), sandbox.Cancelled, "not_started")
		return out
	})
	want(t, out, sandbox.Cancelled, "")

	out, _ = sandbox.Overdue(sandbox.LetIn, func(timeout time.Duration) sandbox.Outcome {
		late, stop := context.WithTimeout(t.Context(), timeout)
		defer stop()
		return p.Call(late, "spin", nil, sandbox.CallOptions{})
	})
	want(t, out, sandbox.TimedOut, "")
}

func TestGuestTextIsBoundedAndEscaped(t *testing.T) {
	e := open(t, sandbox.Config{})
	p := outcomes(t, e, "rc_text", "stderr", "stdout")
	out := p.Call(t.Context(), "rc_text", []byte("bad\n\x1b[31mred\xff\u202e"), sandbox.CallOptions{})
	if want := `bad\n\x1b[31mred\xff\u{202e}`; out.Text != want {
		t.Errorf("text %q, want %q", out.Text, want)
	}
	out = p.Call(t.Context(), "rc_text", bytes.Repeat([]byte("long "), 10_000), sandbox.CallOptions{})
	if len(out.Text) > 4<<10 || !strings.HasSuffix(out.Text, "…") {
		t.Errorf("text of %d bytes ends in %q", len(out.Text), out.Text[len(out.Text)-8:])
	}
	out = p.Call(t.Context(), "stderr", nil, sandbox.CallOptions{})
	want(t, out, sandbox.Trap, "engine")
	if want := `panic: it broke\x1b[31m\nat line 2`; out.Text != want {
		t.Errorf("text %q, want %q", out.Text, want)
	}
	if out = p.Call(t.Context(), "stdout", nil, sandbox.CallOptions{}); out.Text != "" {
		t.Errorf("stdout came back as %q", out.Text)
	}
}

func TestInputAndOutputLimits(t *testing.T) {
	e := open(t, sandbox.Config{})
	limits := small()
	limits.Input, limits.Output = 100, 50
	p := loadWith(t, e, sandbox.Foreign{Name: "echo", Wasm: fixture(t, "echo"), Exports: []string{"run"}, Limits: limits})
	in := bytes.Repeat([]byte{'x'}, 101)
	want(t, p.Call(t.Context(), "run", in, sandbox.CallOptions{}), sandbox.Refused, "input_too_large")
	want(t, p.Call(t.Context(), "run", in[:100], sandbox.CallOptions{}), sandbox.OutputTooLarge, "output_limit")
	want(t, p.Call(t.Context(), "run", in[:50], sandbox.CallOptions{}), sandbox.OK, "")
	want(t, p.Call(t.Context(), "run", in[:50], sandbox.CallOptions{OutputLimit: 49}), sandbox.OutputTooLarge, "output_limit")
	want(t, p.Call(t.Context(), "run", in[:51], sandbox.CallOptions{OutputLimit: 1000}), sandbox.OutputTooLarge, "output_limit")
}

func TestEchoIsExact(t *testing.T) {
	e := open(t, sandbox.Config{})
	for _, name := range []string{"echo", "echo_words"} {
		p := load(t, e, name, "run")
		for _, n := range []int{0, 1, 7, 8, 9, 13, 65535, 65536, 65537, 1 << 20} {
			in := make([]byte, n)
			for i := range in {
				in[i] = byte(i*7 + i>>8)
			}
			out := p.Call(t.Context(), "run", in, sandbox.CallOptions{})
			want(t, out, sandbox.OK, "")
			if !bytes.Equal(out.Output, in) {
				t.Errorf("%s: %d bytes came back changed", name, n)
			}
		}
	}
}

// The input block shares memory with the caller's bytes until the guest writes.
func TestGuestNeverWritesTheCallersInput(t *testing.T) {
	e := open(t, sandbox.Config{})
	p := load(t, e, "echo_words", "same_block")
	in := []byte("hello")
	out := p.Call(t.Context(), "same_block", in, sandbox.CallOptions{})
	want(t, out, sandbox.OK, "")
	if string(out.Output) != "!ello" || string(in) != "hello" {
		t.Errorf("output %q, input is now %q", out.Output, in)
	}
}

func TestEachCallStartsFresh(t *testing.T) {
	e := open(t, sandbox.Config{})
	p := outcomes(t, e, "count", "trap")
	for range 3 {
		out := p.Call(t.Context(), "count", nil, sandbox.CallOptions{})
		want(t, out, sandbox.OK, "")
		if out.Output[0] != 2 { // one in a global, one in memory
			t.Fatalf("state of another call is there: %d", out.Output[0])
		}
		want(t, p.Call(t.Context(), "trap", nil, sandbox.CallOptions{}), sandbox.Trap, "engine")
	}
}

func TestInitializersRunInOrderWithoutInput(t *testing.T) {
	e := open(t, sandbox.Config{})
	p := load(t, e, "init_order", "run")
	out := p.Call(t.Context(), "run", []byte("input"), sandbox.CallOptions{})
	want(t, out, sandbox.OK, "")
	if out.Output[0] != 123 {
		t.Errorf("initializers ran as %d, want start, _initialize, hs_init", out.Output[0])
	}
}
