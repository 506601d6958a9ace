package prompt

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
)

// Step is one step's material. Prepare changes none of it.
type Step struct {
	Number  int
	System  string
	Tools   []provider.ToolDefinition
	Current []provider.Message // this turn, oldest first: the input, then what was said and done since
}

// Prepared is ready, or an overflow with its sizes. Sizes are tokens as estimated.
type Prepared struct {
	Overflow  bool
	Reason    string             // of an overflow, stable
	Decision  id.Decision        // to observe the answer under; when ready
	Messages  []provider.Message // when ready; the slice is the caller's own, what its messages hold is shared and must not be changed
	MaxOutput int                // output budget to request
	Estimate  int                // what the request is estimated to take
	Budget    int                // what it may take
	Assumed   int                // the window that is assumed of a model of which nothing is known; else 0

	Summarised bool // a summary stands for the older part
	Compacted  bool // it was written now
	Dropped    int  // messages of history left out
	Shortened  int  // tool results shortened
	Waited     bool // another was at a summary
}

// Reasons of an overflow.
const (
	OverflowTurn  = "turn_too_large"   // what may not be left out does not fit
	OverflowModel = "window_too_small" // the model's limits leave no room for any prompt
)

// Sentence says an overflow in words, with what to do.
func (p Prepared) Sentence() string {
	what := "use a model with a larger window, or fewer tools in the core"
	if p.Assumed > 0 {
		what = fmt.Sprintf("nothing is known of this model, and a window of %d tokens is assumed: set context_window below its provider's model in config.yaml if it takes more, else %s", p.Assumed, what)
	}
	if p.Dropped > 0 || p.Summarised {
		what += ", or start afresh with `--fresh`"
	}
	return fmt.Sprintf("the request needs about %d tokens and %d fit: %s", p.Estimate, p.Budget, what)
}

const (
	minimumOutput = 256
	// unmeasured is what an estimate is worth before a model has reported anything: a quarter more.
	unmeasured = 1.25
	// headroom is on top of the highest ratio that was reported.
	headroom = 1.05
)

// factor is by how much estimates are raised. A report may only lower it as far as the count itself.
func (c *Conversation) factor() float64 {
	if c.degraded || c.calibrate.Samples == 0 {
		return max(unmeasured, c.calibrate.Ratio*headroom)
	}
	return max(1, c.calibrate.Ratio*headroom)
}

// raised is an estimate corrected by what the model reported.
func (c *Conversation) raised(n int) int { return raise(n, c.factor()) }

func raise(n int, factor float64) int { return int(float64(n)*factor) + 1 }

// Prepare fits one step into the model's window. It reads and writes the store only when the history has to be summarised,
// when an observation is not durable yet, or when only the calibration lets a request not fit. An error means that ctx ended or the store failed; what does not fit is a value.
func (c *Conversation) Prepare(ctx context.Context, s Step) (Prepared, error) {
	c.heed(ctx)
	p := c.budget()
	if p.Overflow {
		return p, nil
	}
	f := c.fit(s, p)
	f.prune()
	if f.over() && len(f.groups) > 0 && c.model.Summary != nil {
		if err := c.compact(ctx, f); err != nil {
			return Prepared{}, err
		}
	} else if c.crowded && c.model.Summary != nil {
		// It fits, and will soon be more than is read: what falls out of that is lost to every summary. Half of it stays as it
		// is. A turn tries once.
		c.crowded = false
		if err := c.compactTo(ctx, f, max(protectedTail, len(f.groups)/2), false); err != nil {
			return Prepared{}, err
		}
	}
	f.drop()
	p = f.result()
	if p.Overflow {
		p.Reason = OverflowTurn
		c.yielded(ctx, s.Number, f)
		return p, nil
	}
	p.Decision = c.m.cfg.IDs.Decision()
	c.given[p.Decision] = decision{s.Number, f.size()}
	return p, nil
}

// budget chooses the output reservation and what is left for the prompt.
func (c *Conversation) budget() Prepared {
	l := c.model.Limits
	out := l.MaxOutput
	if c.model.MaxOutput > 0 {
		out = min(out, c.model.MaxOutput)
	}
	out = max(min(out, l.ContextWindow/2), min(minimumOutput, l.ContextWindow/4))
	p := Prepared{MaxOutput: out, Budget: l.ContextWindow - out - l.SafetyMargin}
	if l.Assumed {
		p.Assumed = l.ContextWindow
	}
	if p.Budget <= 0 {
		p.Overflow, p.Reason = true, OverflowModel
	}
	return p
}
