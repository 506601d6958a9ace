package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// doer is a network of one function.
type doer func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error)

func (d doer) Do(ctx context.Context, r wire.HTTPRequest, body []byte) (wire.HTTPReply, []byte, error) {
	return d(ctx, r, body)
}

func (doer) Unanswered() bool { return false }

func (doer) Changed() bool { return false }

// frame lays out one frame of parts that fit.
func frame(header, body string) []byte {
	f, err := wire.EncodeFrame([]byte(header), []byte(body))
	if err != nil {
		panic(err)
	}
	return f
}

// ask calls one ability of the fixture and decodes the header of the reply.
func ask[Reply any](t *testing.T, p *sandbox.Plugin, fn, header, body string, opt sandbox.CallOptions) (Reply, string) {
	t.Helper()
	out := p.Call(t.Context(), fn, frame(header, body), opt)
	want(t, out, sandbox.OK, "")
	h, b, err := wire.SplitFrame(out.Output)
	if err != nil {
		t.Fatalf("%s answered %q: %v", fn, out.Output, err)
	}
	var reply Reply
	if err := decode(h, &reply); err != nil {
		t.Fatalf("%s answered %q: %v", fn, h, err)
	}
	return reply, string(b)
}

func code(f *wire.Fault) wire.Code {
	if f == nil {
		return ""
	}
	return f.Code
}

func abilities(t *testing.T, cfg sandbox.Config) *sandbox.Plugin {
	e := open(t, cfg)
	return load(t, e, "abilities", append(sandbox.AbilityNames(), "now_flood", "random_flood", "http_flood", "bogus_block")...)
}

func TestAbilityNotGivenToTheCallIsDenied(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	kv := newMemKV()
	opt := sandbox.CallOptions{Workspace: workspace(t), KV: kv, HTTP: doer(func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) {
		t.Error("the network was reached")
		return wire.HTTPReply{}, nil, nil
	})}
	denied := 0
	for _, fn := range sandbox.AbilityNames() {
		imp, _ := wire.LookupImport(wire.ModuleHost, fn)
		if imp.Needs == "" {
			continue
		}
		denied++
		for _, have := range []sandbox.Abilities{0, everything &^ sandbox.AbilitiesFrom(func(n string) bool { return n == imp.Needs })} {
			opt.Abilities = have
			reply, _ := ask[wire.Ack](t, p, fn, `{"key":"k","path":"a.txt","from":"a.txt","to":"b.txt","mode":"replace","url":"http://x","method":"GET"}`, "", opt)
			if code(reply.Fault) != wire.CodeDenied {
				t.Errorf("%s with %s answered %+v", fn, have, reply.Fault)
			} else if want := `add sdk.Needs("` + imp.Needs + `") to the tool`; !strings.Contains(reply.Fault.Message, want) {
				t.Errorf("%s says %q, which lacks %s", fn, reply.Fault.Message, want)
			}
		}
	}
	if denied != 13 || len(kv.values) != 0 {
		t.Errorf("%d abilities tried, values %v", denied, kv.values)
	}
}

// Start functions and initializers run before anybody's authority is bound.
func TestNothingIsDoneBeforeTheEntryPoint(t *testing.T) {
	e := open(t, sandbox.Config{})
	kv := newMemKV()
	s := sandbox.CallOptions{Abilities: everything, KV: kv}
	p := loadWith(t, e, sandbox.Foreign{Name: "init_effect", Wasm: fixture(t, "init_effect"), Exports: []string{"run"}, Granted: sandbox.MayKeepValues, Limits: small()})
	want(t, p.Call(t.Context(), "run", nil, s), sandbox.Trap, "host_call_before_entry")
	if len(kv.values) != 0 {
		t.Errorf("initializer kept %v", kv.values)
	}
	p = loadWith(t, e, sandbox.Foreign{Name: "start_effect", Wasm: fixture(t, "start_effect"), Exports: []string{"run"}, Granted: sandbox.MayKeepValues, Limits: small()})
	out := p.Call(t.Context(), "run", nil, s)
	want(t, out, sandbox.Trap, "host_call_before_entry")
	if out.Entered || len(kv.values) != 0 {
		t.Errorf("start function: entered %v, kept %v", out.Entered, kv.values)
	}
}

func TestRequestsAreReadStrictly(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	opt := sandbox.CallOptions{Abilities: everything, Workspace: workspace(t), KV: newMemKV()}
	for _, header := range []string{
		`{"key":"a","key":"b"}`, `{"key":"a","extra":1}`, `{"KEY":"a"}`, `{"key":1}`, `{"key":"a"} ` + "x", `[]`, `{"key":"` + "\xff" + `"}`, `{"key":"a"`,
	} {
		if reply, _ := ask[wire.KVGetReply](t, p, wire.ImportKVGet, header, "", opt); code(reply.Fault) != wire.CodeInvalid {
			t.Errorf("%s was answered %+v", header, reply)
		}
	}
	for _, raw := range []string{"", "\x00", "\xff\xff\xff\xff{}", "\x00\x00\x00\x00"} {
		out := p.Call(t.Context(), wire.ImportKVGet, []byte(raw), opt)
		want(t, out, sandbox.OK, "")
		if !strings.Contains(string(out.Output), `"invalid"`) {
			t.Errorf("%q was answered %q", raw, out.Output)
		}
	}
	want(t, p.Call(t.Context(), "bogus_block", nil, opt), sandbox.Trap, "argument_range")
}

func TestLogIsBoundedAndEscaped(t *testing.T) {
	e := open(t, sandbox.Config{})
	p := outcomes(t, e, "log_flood")
	out := p.Call(t.Context(), "log_flood", nil, sandbox.CallOptions{})
	want(t, out, sandbox.OK, "")
	limit := small().LogLines
	if int64(len(out.Logs)) != limit || out.Stats.LogLines != limit || out.Stats.LogDropped != 100_000-limit {
		t.Errorf("%d lines kept, %+v", len(out.Logs), out.Stats)
	}
	if want := `a\n\xff\x1b[1m\n`; out.Logs[0].Message != want || out.Logs[0].Level != "info" {
		t.Errorf("line %+v, want %q", out.Logs[0], want)
	}

	a := abilities(t, sandbox.Config{})
	line := `{"level":"warn","message":"a\nb","attrs":[{"key":"k\u001b","value":"v"}]}`
	out = a.Call(t.Context(), wire.ImportLog, []byte(line), sandbox.CallOptions{})
	want(t, out, sandbox.OK, "")
	got := fmt.Sprintf("%+v", out.Logs)
	if got != `[{Level:warn Message:a\nb Attrs:[{Key:k\x1b Value:v}]}]` {
		t.Errorf("kept %s", got)
	}
	for _, bad := range []string{`{"level":"fatal","message":"x"}`, `{"level":"info","message":"x","more":1}`, `x`, ``} {
		out := a.Call(t.Context(), wire.ImportLog, []byte(bad), sandbox.CallOptions{})
		if !strings.Contains(string(out.Output), `"invalid"`) || len(out.Logs) != 0 {
			t.Errorf("%q was answered %q and kept %v", bad, out.Output, out.Logs)
		}
	}
}

func TestLogTotalIsBounded(t *testing.T) {
	limits := small()
	limits.LogLines, limits.HostCalls = 10_000, 10_000
	s := sandbox.NewSession(limits, sandbox.CallOptions{}, time.Now, nil)
	line, err := json.Marshal(wire.LogRecord{Level: "info", Message: strings.Repeat("m", 4000)})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := s.Serve(t.Context(), wire.ImportLog, line); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for _, l := range s.Logs() {
		total += len(l.Message)
	}
	if total > 256<<10 || total < 200<<10 || s.Stats().LogDropped == 0 {
		t.Errorf("%d bytes kept, %+v", total, s.Stats())
	}
}

func TestProgressIsRateCappedAndTheLastArrives(t *testing.T) {
	now := frozen
	var seen []int64
	s := sandbox.NewSession(small(), sandbox.CallOptions{Progress: func(p wire.Progress) { seen = append(seen, p.Done) }}, func() time.Time { return now }, nil)
	emit := func(done int) {
		if _, err := s.Serve(t.Context(), wire.ImportEmit, fmt.Appendf(nil, `{"message":"m","done":%d}`, done)); err != nil {
			t.Fatal(err)
		}
	}
	emit(1)
	emit(2)
	emit(3)
	now = now.Add(100 * time.Millisecond)
	emit(4)
	emit(5)
	s.Close()
	s.Close()
	if got := fmt.Sprint(seen); got != "[1 4 5]" {
		t.Errorf("progress %s, want the first, the first after 100 ms, and the last", got)
	}
	if reply, _ := s.Serve(t.Context(), wire.ImportEmit, []byte(`{"message":"m","done":-1}`)); !strings.Contains(string(reply), "invalid") {
		t.Errorf("negative progress was answered %q", reply)
	}
}

func TestNowAndRandom(t *testing.T) {
	p := abilities(t, sandbox.Config{Clock: func() time.Time { return frozen }})
	for _, in := range []string{"", "{}", "junk"} {
		out := p.Call(t.Context(), wire.ImportNow, []byte(in), sandbox.CallOptions{})
		if want := fmt.Sprintf(`{"unix_ms":%d}`, frozen.UnixMilli()); string(out.Output) != want {
			t.Errorf("now(%q) is %s, want %s", in, out.Output, want)
		}
	}
	one := p.Call(t.Context(), wire.ImportRandom, []byte(`{"n":1024}`), sandbox.CallOptions{})
	two := p.Call(t.Context(), wire.ImportRandom, []byte(`{"n":1024}`), sandbox.CallOptions{})
	if len(one.Output) != 1024 || string(one.Output) == string(two.Output) || one.Stats.RandomBytes != 1024 {
		t.Errorf("random gave %d and %d bytes", len(one.Output), len(two.Output))
	}
	for _, bad := range []string{`{"n":0}`, `{"n":1025}`, `{"n":-1}`, `{"n":1,"m":2}`, ``, `1`} {
		if out := p.Call(t.Context(), wire.ImportRandom, []byte(bad), sandbox.CallOptions{}); out.Status != sandbox.OK || len(out.Output) != 0 {
			t.Errorf("random %q gave %s and %d bytes", bad, out.Status, len(out.Output))
		}
	}
}

func TestHostCallsInALoopAreStopped(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	out := p.Call(t.Context(), "now_flood", nil, sandbox.CallOptions{})
	want(t, out, sandbox.LimitPassed, "host_calls")
	if out.Stats.HostCalls != small().HostCalls+1 {
		t.Errorf("%d host calls, limit %d", out.Stats.HostCalls, small().HostCalls)
	}
	limits := small()
	limits.HostCalls = 1 << 20
	e := open(t, sandbox.Config{})
	p = loadWith(t, e, sandbox.Foreign{Name: "abilities", Wasm: fixture(t, "abilities"), Exports: []string{"random_flood"}, Granted: everything, Limits: limits})
	out = p.Call(t.Context(), "random_flood", []byte(`{"n":1024}`), sandbox.CallOptions{})
	if out.Status != sandbox.LimitPassed && out.Status != sandbox.OutOfMemory {
		t.Errorf("random flood ended with %s (%s)", out.Status, out.Reason)
	}
}

func TestHTTPIsHeldToItsBudget(t *testing.T) {
	limits := small()
	limits.HTTPCalls, limits.HTTPBytes = 3, 100
	e := open(t, sandbox.Config{})
	p := loadWith(t, e, sandbox.Foreign{Name: "abilities", Wasm: fixture(t, "abilities"), Exports: []string{wire.ImportHTTP, "http_flood"}, Granted: everything, Limits: limits})
	calls := 0
	var last wire.HTTPRequest
	body := ""
	opt := sandbox.CallOptions{Abilities: everything, HTTP: doer(func(_ context.Context, r wire.HTTPRequest, in []byte) (wire.HTTPReply, []byte, error) {
		calls++
		last = r
		if string(in) == "fail" {
			return wire.HTTPReply{}, nil, errors.New("dial tcp 10.0.0.7:443: secret detail")
		}
		if string(in) == "fault" {
			return wire.HTTPReply{Fault: &wire.Fault{Code: "odd", Message: "no\n"}}, nil, nil
		}
		return wire.HTTPReply{Status: 200, Headers: map[string][]string{"A": {"b"}}, URL: r.URL}, []byte(body), nil
	})}
	get := `{"method":"GET","url":"http://x/"}`
	body = strings.Repeat("x", 100)
	reply, got := ask[wire.HTTPReply](t, p, wire.ImportHTTP, get, "", opt)
	if reply.Status != 200 || got != body || reply.Headers["A"][0] != "b" || last.MaxBytes != 100 {
		t.Errorf("reply %+v with %d bytes, max_bytes %d", reply, len(got), last.MaxBytes)
	}
	body = strings.Repeat("x", 101) // a port that does not hold the bound
	if reply, got := ask[wire.HTTPReply](t, p, wire.ImportHTTP, get, "", opt); code(reply.Fault) != wire.CodeTooLarge || got != "" {
		t.Errorf("an answer past the budget: %+v, %d bytes", reply.Fault, len(got))
	}
	body = "ok"
	if reply, _ := ask[wire.HTTPReply](t, p, wire.ImportHTTP, `{"method":"GET","url":"http://x/","max_bytes":1}`, "", opt); code(reply.Fault) != wire.CodeTooLarge {
		t.Errorf("an answer past max_bytes: %+v", reply.Fault)
	}
	if reply, _ := ask[wire.HTTPReply](t, p, wire.ImportHTTP, get, "fail", opt); code(reply.Fault) != wire.CodeIO || strings.Contains(reply.Fault.Message, "10.0.0.7") {
		t.Errorf("a failed exchange: %+v", reply.Fault)
	}
	if reply, _ := ask[wire.HTTPReply](t, p, wire.ImportHTTP, get, "fault", opt); code(reply.Fault) != wire.CodeFailed || reply.Fault.Message != `no\n` {
		t.Errorf("a port's own fault: %+v", reply.Fault)
	}
	for _, bad := range []string{
		`{"method":"GET","url":"http://x/` + strings.Repeat("a", wire.MaxURL) + `"}`,
		`{"method":"GET","url":"http://x/","timeout_ms":-1}`,
		`{"method":"GET","url":"http://x/","max_bytes":-1}`,
	} {
		before := calls
		if reply, _ := ask[wire.HTTPReply](t, p, wire.ImportHTTP, bad, "", opt); reply.Fault == nil || calls != before {
			t.Errorf("%.60s was let through", bad)
		}
	}
	calls = 0
	out := p.Call(t.Context(), "http_flood", frame(get, ""), opt)
	want(t, out, sandbox.LimitPassed, "host_calls")
	if calls != 3 || out.Stats.HTTPCalls != 3 {
		t.Errorf("%d exchanges, limit 3; %+v", calls, out.Stats)
	}
	if reply, _ := ask[wire.HTTPReply](t, p, wire.ImportHTTP, get, "", sandbox.CallOptions{Abilities: everything}); code(reply.Fault) != wire.CodeUnavailable {
		t.Errorf("without a port: %+v", reply)
	}
}

func TestHTTPTimeoutOfTheRequestIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time passes when all wait: a busy machine is never late
		p := abilities(t, sandbox.Config{})
		reply, _ := ask[wire.HTTPReply](t, p, wire.ImportHTTP, `{"method":"GET","url":"http://x/","timeout_ms":5}`, "", sandbox.CallOptions{
			Abilities: everything,
			HTTP: doer(func(ctx context.Context, _ wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
				<-ctx.Done()
				return wire.HTTPReply{}, nil, ctx.Err()
			}),
		})
		if code(reply.Fault) != wire.CodeTimeout {
			t.Errorf("reply %+v", reply)
		}
	})
}

// A port that waits as long as it may comes back in time for the guest to say
// so, and none is asked again after that.
func TestAGuestHearsOfATimeoutBeforeItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time passes when all wait: a busy machine is never late
		p := abilities(t, sandbox.Config{})
		reply, _ := ask[wire.HTTPReply](t, p, wire.ImportHTTP, `{"method":"GET","url":"http://x/"}`, "", sandbox.CallOptions{
			Abilities: everything, Timeout: 500 * time.Millisecond,
			HTTP: doer(func(ctx context.Context, _ wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
				<-ctx.Done()
				return wire.HTTPReply{}, nil, ctx.Err()
			}),
		})
		if code(reply.Fault) != wire.CodeTimeout {
			t.Errorf("reply %+v", reply)
		}
		calls := 0
		out := p.Call(t.Context(), "http_flood", frame(`{"method":"GET","url":"http://x/"}`, ""), sandbox.CallOptions{
			Abilities: everything, Timeout: 500 * time.Millisecond,
			HTTP: doer(func(ctx context.Context, _ wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
				calls++
				<-ctx.Done()
				return wire.HTTPReply{}, nil, ctx.Err()
			}),
		})
		if want(t, out, sandbox.LimitPassed, "host_calls"); calls != 1 {
			t.Errorf("%d exchanges began", calls)
		}
	})
}

// late is done after the call that a port's context belongs to.
func late(ctx context.Context) <-chan struct{} {
	deadline, _ := ctx.Deadline()
	after, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(time.Since(deadline).Abs()/9+time.Millisecond))
	context.AfterFunc(after, cancel)
	return after.Done()
}

// When the call is over inside a host function, the guest does not go on.
func TestNothingStartsAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time passes when all wait: a busy machine is never late
		p := abilities(t, sandbox.Config{})
		calls := 0
		out := p.Call(t.Context(), "http_flood", frame(`{"method":"GET","url":"http://x/"}`, ""), sandbox.CallOptions{
			Abilities: everything, Timeout: 30 * time.Millisecond,
			HTTP: doer(func(ctx context.Context, _ wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
				calls++
				<-late(ctx)
				return wire.HTTPReply{Status: 200}, nil, nil
			}),
		})
		want(t, out, sandbox.TimedOut, "")
		if calls != 1 {
			t.Errorf("%d exchanges began", calls)
		}
	})
}

// Each host call looks at the clock on the way in and on the way out.
func TestAHostCallAfterTheEndStopsTheGuest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	kv := newMemKV()
	s := sandbox.NewSession(small(), sandbox.CallOptions{Abilities: everything, KV: kv, HTTP: doer(func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) {
		cancel()
		return wire.HTTPReply{Status: 200}, nil, nil
	})}, time.Now, nil)
	if reply, err := s.Serve(ctx, wire.ImportHTTP, frame(`{"method":"GET","url":"http://x"}`, "")); err == nil {
		t.Errorf("the call ended meanwhile, and the guest got %q", reply)
	}
	if reply, err := s.Serve(ctx, wire.ImportKVSet, frame(`{"key":"k"}`, "v")); err == nil || len(kv.values) != 0 {
		t.Errorf("the call was over, and the guest got %q and kept %v", reply, kv.values)
	}
	if _, err := s.Serve(t.Context(), "portcullis_telepathy", nil); err == nil {
		t.Error("a host call that does not exist was answered")
	}
}

func TestRandomnessIsBudgeted(t *testing.T) {
	limits := small()
	limits.HostCalls = 1 << 20
	s := sandbox.NewSession(limits, sandbox.CallOptions{}, time.Now, zeros{})
	for i := 0; ; i++ {
		if _, err := s.Serve(t.Context(), wire.ImportRandom, []byte(`{"n":1024}`)); err != nil {
			if i != 1024 {
				t.Errorf("stopped after %d KiB, the budget is 1024", i)
			}
			return
		}
		if i > 2048 {
			t.Fatal("two mebibytes of randomness, and no end")
		}
	}
}
