package provider_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// clock is a fake clock whose Sleep advances it.
type clock struct {
	now    time.Time
	sleeps []time.Duration
}

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.sleeps = append(c.sleeps, d)
	c.now = c.now.Add(d)
	return nil
}

// flaky fails with each of its errors in turn and then answers.
type flaky struct {
	errs  []error
	say   string // shown before each failure
	calls int
	seen  []provider.Request
	spend func()
}

func (f *flaky) Generate(_ context.Context, req provider.Request, events func(provider.Event)) (provider.Response, error) {
	f.calls++
	f.seen = append(f.seen, req)
	if f.spend != nil {
		f.spend()
	}
	if f.calls > len(f.errs) {
		return provider.Response{Parts: []provider.Part{provider.Text("answer")}, FinishReason: provider.FinishStop}, nil
	}
	if f.say != "" && events != nil {
		events(provider.Event{Kind: provider.EventText, Text: f.say})
	}
	return provider.Response{}, f.errs[f.calls-1]
}

func (f *flaky) Limits() provider.Limits { return provider.LimitsFor("gpt-4o", 0, 0) }
func (f *flaky) Name() string            { return "flaky/1" }

func failing(kind provider.ErrorKind, after time.Duration, n int) []error {
	var errs []error
	for range n {
		errs = append(errs, &provider.Error{Kind: kind, Provider: "flaky", RetryAfter: after})
	}
	return errs
}

func request() provider.Request {
	return provider.Request{Messages: []provider.Message{provider.User("hello")}}
}

func half() float64 { return 0.5 }

func TestRetryWaitsLongerEachTimeWithEqualJitter(t *testing.T) {
	c := &clock{now: time.Unix(0, 0)}
	f := &flaky{errs: failing(provider.KindOverloaded, 0, 4)}
	policy := provider.RetryPolicy{MaxAttempts: 5, BaseDelay: time.Second, MaxDelay: 4 * time.Second, MaxElapsed: time.Hour}
	var notices []provider.RetryNotice
	resp, err := provider.WithRetry(f, policy, c, half).Generate(t.Context(), request(), func(e provider.Event) {
		if e.Kind == provider.EventRetry {
			notices = append(notices, e.Retry)
		}
	})
	if err != nil || resp.Text() != "answer" {
		t.Fatalf("%v, %v", resp, err)
	}
	// Half of 1, 2, 4, 4 s for certain, and half of the other half by chance.
	want := []time.Duration{750 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 3 * time.Second}
	if !reflect.DeepEqual(c.sleeps, want) {
		t.Errorf("waited %v, want %v", c.sleeps, want)
	}
	if len(notices) != 4 || notices[1] != (provider.RetryNotice{Attempt: 2, Wait: want[1], Cause: provider.KindOverloaded}) {
		t.Errorf("notices %+v", notices)
	}
}

func TestRetryJitterStaysWithinItsHalf(t *testing.T) {
	for _, random := range []float64{0, 0.999999} {
		c := &clock{now: time.Unix(0, 0)}
		f := &flaky{errs: failing(provider.KindNetwork, 0, 1)}
		m := provider.WithRetry(f, provider.RetryPolicy{BaseDelay: time.Second}, c, func() float64 { return random })
		if _, err := m.Generate(t.Context(), request(), nil); err != nil {
			t.Fatal(err)
		}
		if d := c.sleeps[0]; d < 500*time.Millisecond || d > time.Second {
			t.Errorf("random %v waited %s", random, d)
		}
	}
}

func TestRetryHonoursRetryAfterUpToItsCap(t *testing.T) {
	c := &clock{now: time.Unix(0, 0)}
	f := &flaky{errs: failing(provider.KindRateLimited, 30*time.Second, 1)}
	m := provider.WithRetry(f, provider.RetryPolicy{BaseDelay: time.Second, MaxRetryAfter: 30 * time.Second}, c, half)
	if _, err := m.Generate(t.Context(), request(), nil); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{30*time.Second + 250*time.Millisecond}; !reflect.DeepEqual(c.sleeps, want) {
		t.Errorf("waited %v, want %v", c.sleeps, want)
	}

	c = &clock{now: time.Unix(0, 0)}
	f = &flaky{errs: failing(provider.KindRateLimited, 31*time.Second, 1)}
	_, err := provider.WithRetry(f, provider.RetryPolicy{MaxRetryAfter: 30 * time.Second}, c, half).Generate(t.Context(), request(), nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.RetryAfter != 31*time.Second || f.calls != 1 || len(c.sleeps) != 0 {
		t.Errorf("%v after %d calls and waits %v", err, f.calls, c.sleeps)
	}
}

func TestRetryStopsAtItsAttemptsAndItsTime(t *testing.T) {
	c := &clock{now: time.Unix(0, 0)}
	f := &flaky{errs: failing(provider.KindNetwork, 0, 99)}
	if _, err := provider.WithRetry(f, provider.RetryPolicy{MaxAttempts: 3}, c, half).Generate(t.Context(), request(), nil); err == nil || f.calls != 3 {
		t.Errorf("attempts: %v after %d calls", err, f.calls)
	}
	// Each attempt takes 40 s; the third would begin after 80 s and its waits.
	c = &clock{now: time.Unix(0, 0)}
	f = &flaky{errs: failing(provider.KindNetwork, 0, 99), spend: func() { c.now = c.now.Add(40 * time.Second) }}
	if _, err := provider.WithRetry(f, provider.RetryPolicy{MaxAttempts: 9, MaxElapsed: time.Minute}, c, half).Generate(t.Context(), request(), nil); err == nil || f.calls != 2 {
		t.Errorf("time: %v after %d calls", err, f.calls)
	}
	c = &clock{now: time.Unix(0, 0)}
	f = &flaky{errs: failing(provider.KindNetwork, 0, 1)}
	if _, err := provider.WithRetry(f, provider.RetryPolicy{MaxAttempts: 1}, c, half).Generate(t.Context(), request(), nil); err == nil || f.calls != 1 {
		t.Errorf("off: %v after %d calls", err, f.calls)
	}
}

func TestRetryDependsOnTheKind(t *testing.T) {
	kinds := map[provider.ErrorKind]bool{
		provider.KindRateLimited: true, provider.KindOverloaded: true, provider.KindNetwork: true, provider.KindProtocol: true,
		provider.KindContextOverflow: false, provider.KindRefused: false, provider.KindAuth: false,
		provider.KindBadRequest: false, provider.KindTooLarge: false, provider.KindCanceled: false, provider.KindScript: false,
	}
	for kind, again := range kinds {
		f := &flaky{errs: failing(kind, 0, 1)}
		_, err := provider.WithRetry(f, provider.RetryPolicy{}, &clock{}, half).Generate(t.Context(), request(), nil)
		if (err == nil) != again || kind.Retryable() != again {
			t.Errorf("%s: %v after %d calls", kind, err, f.calls)
		}
	}
	f := &flaky{errs: []error{errors.New("not ours")}}
	if _, err := provider.WithRetry(f, provider.RetryPolicy{}, &clock{}, half).Generate(t.Context(), request(), nil); err == nil || f.calls != 1 {
		t.Errorf("an untyped error was retried: %d calls", f.calls)
	}
}

func TestNothingIsRetriedOnceTheCallerHasSeenOutput(t *testing.T) {
	f := &flaky{errs: failing(provider.KindProtocol, 0, 1), say: "half an ans"}
	var shown []string
	_, err := provider.WithRetry(f, provider.RetryPolicy{}, &clock{}, half).Generate(t.Context(), request(), func(e provider.Event) {
		shown = append(shown, string(e.Kind))
	})
	if err == nil || f.calls != 1 || !reflect.DeepEqual(shown, []string{"text"}) {
		t.Errorf("%v after %d calls, events %v", err, f.calls, shown)
	}
	// Without a callback nobody has seen anything.
	f = &flaky{errs: failing(provider.KindProtocol, 0, 1), say: "half an ans"}
	if _, err := provider.WithRetry(f, provider.RetryPolicy{}, &clock{}, half).Generate(t.Context(), request(), nil); err != nil || f.calls != 2 {
		t.Errorf("%v after %d calls", err, f.calls)
	}
}

func TestACanceledWaitKeepsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(why) })
		f := &flaky{errs: failing(provider.KindOverloaded, time.Minute, 1)}
		began := time.Now()
		_, err := provider.WithRetry(f, provider.RetryPolicy{}, nil, nil).Generate(ctx, request(), nil)
		var e *provider.Error
		if !errors.As(err, &e) || e.Kind != provider.KindCanceled || !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}

func TestEveryAttemptSeesTheRequestAsItWas(t *testing.T) {
	f := &flaky{errs: failing(provider.KindNetwork, 0, 1)}
	req := request()
	f.spend = func() { req.Messages[0].Parts[0].Text = "changed" }
	if _, err := provider.WithRetry(f, provider.RetryPolicy{}, &clock{}, half).Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if got := f.seen[1].Messages[0].Text(); got != "hello" {
		t.Errorf("the second attempt saw %q", got)
	}
}

func TestRetryingIsTransparent(t *testing.T) {
	f := &flaky{}
	m := provider.WithRetry(f, provider.RetryPolicy{}, nil, nil)
	if m.Name() != "flaky/1" || m.Limits() != f.Limits() {
		t.Errorf("%s %+v", m.Name(), m.Limits())
	}
}

func ExampleError_Retryable() {
	err := &provider.Error{Kind: provider.KindRateLimited, Provider: "openai", Status: 429, RetryAfter: 2 * time.Second, Sentence: "too many requests for this account at the moment"}
	fmt.Println(err.Retryable(), err)
	// Output: true model openai: rate_limited (HTTP 429, retry after 2s): too many requests for this account at the moment
}
