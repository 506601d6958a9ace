package provider

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// RetryPolicy bounds what [Retrying] does. A value of 0 means the default of
// [DefaultRetryPolicy]; MaxAttempts 1 turns retries off.
type RetryPolicy struct {
	MaxAttempts   int           // attempts in all, the first included
	MaxElapsed    time.Duration // no attempt begins later than this after the first
	BaseDelay     time.Duration // the first pause before jitter; it doubles each time
	MaxDelay      time.Duration // the largest pause before jitter
	MaxRetryAfter time.Duration // a vendor asking for a longer pause is not waited for
}

// DefaultRetryPolicy is four attempts within two minutes.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   4,
		MaxElapsed:    2 * time.Minute,
		BaseDelay:     500 * time.Millisecond,
		MaxDelay:      20 * time.Second,
		MaxRetryAfter: time.Minute,
	}
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	d := DefaultRetryPolicy()
	if p.MaxAttempts <= 0 {
		p.MaxAttempts = d.MaxAttempts
	}
	for _, f := range []struct{ have, def *time.Duration }{
		{&p.MaxElapsed, &d.MaxElapsed},
		{&p.BaseDelay, &d.BaseDelay},
		{&p.MaxDelay, &d.MaxDelay},
		{&p.MaxRetryAfter, &d.MaxRetryAfter},
	} {
		if *f.have <= 0 {
			*f.have = *f.def
		}
	}
	return p
}

// pause is the wait after failed attempt n (from 1): equal jitter, that is half
// of the doubling step for certain and the other half at random, but never less
// than the vendor asked for.
func (p RetryPolicy) pause(n int, asked time.Duration, random float64) time.Duration {
	step := p.BaseDelay
	for i := 1; i < n && step < p.MaxDelay; i++ {
		step *= 2
	}
	half := min(step, p.MaxDelay) / 2
	return max(half, asked) + time.Duration(random*float64(half))
}

// Retrying is a [Model] that asks another one again after a failure.
//
// A request is repeated only when all of this holds: the kind of the failure is
// retryable, the caller has been handed no output event (with a nil callback
// none ever is), attempts and time are left, and the vendor did not ask for a
// longer pause than MaxRetryAfter. Repeating is otherwise harmless: generating
// has no effect in the world but its price.
type Retrying struct {
	model  Model
	policy RetryPolicy
	clock  Clock
	random func() float64
}

// WithRetry wraps model. A nil clock is the system's, a nil random is
// math/rand's, which yields values in [0, 1).
func WithRetry(model Model, policy RetryPolicy, clock Clock, random func() float64) *Retrying {
	if clock == nil {
		clock = SystemClock{}
	}
	if random == nil {
		random = rand.Float64
	}
	return &Retrying{model: model, policy: policy.withDefaults(), clock: clock, random: random}
}

// Limits returns the wrapped model's limits.
func (r *Retrying) Limits() Limits { return r.model.Limits() }

// Name returns the wrapped model's name.
func (r *Retrying) Name() string { return r.model.Name() }

// Generate asks until there is an answer or the policy says stop; the error is
// that of the last attempt. A context that ends during a pause gives kind canceled.
func (r *Retrying) Generate(ctx context.Context, req Request, events func(Event)) (Response, error) {
	req = req.Clone()
	began := r.clock.Now()
	shown := false
	var watch func(Event)
	if events != nil {
		watch = func(e Event) {
			shown = shown || e.output()
			events(e)
		}
	}
	for attempt := 1; ; attempt++ {
		resp, err := r.model.Generate(ctx, req, watch)
		if err == nil {
			return resp, nil
		}
		var failure *Error
		if !errors.As(err, &failure) || !failure.Retryable() || shown || attempt >= r.policy.MaxAttempts {
			return Response{}, err
		}
		wait := r.policy.pause(attempt, failure.RetryAfter, r.random())
		if failure.RetryAfter > r.policy.MaxRetryAfter || r.clock.Now().Add(wait).Sub(began) > r.policy.MaxElapsed {
			return Response{}, err
		}
		if events != nil {
			events(Event{Kind: EventRetry, Retry: RetryNotice{Attempt: attempt, Wait: wait, Cause: failure.Kind}})
		}
		if r.clock.Sleep(ctx, wait) != nil {
			return Response{}, Canceled(ctx, failure.Provider)
		}
	}
}

// Canceled describes the end of ctx as an [*Error]: its chain holds both the
// context's error and its cause, so a named deadline can be told from a stop.
func Canceled(ctx context.Context, adapter string) *Error {
	sentence := "the request was canceled"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		sentence = "the deadline passed before the answer was complete"
	}
	cause := ctx.Err()
	if named := context.Cause(ctx); named != nil && named != cause {
		cause = errors.Join(cause, named)
	}
	return &Error{Kind: KindCanceled, Provider: adapter, Sentence: sentence, Cause: cause}
}
