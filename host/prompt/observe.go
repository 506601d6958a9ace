package prompt

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
)

// Report is what a model said about the request of one decision.
type Report struct {
	Decision     id.Decision
	Usage        provider.Usage
	FinishReason string
	RequestID    string
}

// Observe keeps what a model reported; it is called after the answer was read and before the next Prepare or the turn's
// end. It becomes durable with the turn's next write, and corrects no estimate before. The second time for one decision
// changes nothing. An error means that it was not kept: the answer is good all the same and nothing is asked again, but
// from here on this conversation's estimates are not corrected.
func (c *Conversation) Observe(ctx context.Context, r Report) error {
	given, ok := c.given[r.Decision]
	if !ok {
		return fmt.Errorf("prompt: observe: decision %q is not of this turn", r.Decision)
	}
	kept, err := c.m.cfg.Journal.Observe(ctx, Observation{
		Decision: r.Decision, Session: c.turn.Session(), Turn: c.turn.ID(), Step: given.step, Provider: c.model.Name,
		Estimate: given.estimate, Usage: r.Usage, FinishReason: r.FinishReason, RequestID: r.RequestID, At: c.m.cfg.Clock(),
	})
	if err != nil {
		c.degraded = true
		return fmt.Errorf("prompt: keep the observation of %s: %w", r.Decision, err)
	}
	c.reports = append(c.reports, kept)
	return nil
}

// Refused keeps that the model refused the request of a decision as too large, although it was to fit. From then on none of its
// size is sent to that model, until it has reported on smaller ones what they take. An error means that it was not kept.
func (c *Conversation) Refused(ctx context.Context, d id.Decision) error {
	given, ok := c.given[d]
	if !ok {
		return fmt.Errorf("prompt: note a refusal: decision %q is not of this turn", d)
	}
	kept, err := c.m.cfg.Journal.Observe(ctx, Observation{
		Decision: d, Session: c.turn.Session(), Turn: c.turn.ID(), Step: given.step, Provider: c.model.Name,
		Estimate: given.estimate, Refused: c.budget().Budget, FinishReason: string(provider.KindContextOverflow), At: c.m.cfg.Clock(),
	})
	if err != nil {
		c.degraded = true
		return fmt.Errorf("prompt: keep the refusal of %s: %w", d, err)
	}
	c.reports = append(c.reports, kept)
	return nil
}

// heed waits until what was observed is durable, which the calls of the last step have made it as a rule, and takes the
// calibration that it made. A report that was not kept corrects nothing.
func (c *Conversation) heed(ctx context.Context) {
	for _, kept := range c.reports {
		now, err := kept(ctx)
		if err != nil {
			c.degraded = true
			continue
		}
		c.calibrate = now
	}
	c.reports = nil
}

// Degraded is whether a report is known not to have been kept. A conversation that was never opened is not.
func (c *Conversation) Degraded() bool { return c != nil && c.degraded }

// yielded notes that the ratio alone kept a request back. Nothing is sent then and nothing reported, so that a ratio which
// is too high would keep back all that follow for good. What does not fit an uncorrected model either says nothing of it.
func (c *Conversation) yielded(ctx context.Context, step int, f *fitting) {
	if c.degraded || c.calibrate.Samples == 0 || raise(f.size(), unmeasured) > f.out.Budget {
		return
	}
	kept, err := c.m.cfg.Journal.Observe(ctx, Observation{
		Decision: c.m.cfg.IDs.Decision(), Session: c.turn.Session(), Turn: c.turn.ID(), Step: step, Provider: c.model.Name,
		Estimate: f.size(), Overflow: true, FinishReason: OverflowTurn, At: c.m.cfg.Clock(),
	})
	if err != nil {
		c.degraded = true // the overflow is the answer all the same
		return
	}
	c.reports = append(c.reports, kept)
}

// Advance is the calibration after one more observation: the highest ratio of late, which falls slowly when the model
// reports less. A report of no usage, or of a prompt that was estimated as nothing, tells nothing. Of a small prompt most
// is what the vendor adds to every request: that is taken as a part of a prompt of [smallPrompt] and not as a ratio. An
// overflow that the ratio made lowers it, and never below what a model is trusted with that has reported nothing. A refusal of what
// was to fit raises it so far that the same does not fit again, and then no overflow lowers it, only reports do.
func (k Calibration) Advance(o Observation) Calibration {
	if o.Refused > 0 && o.Estimate > 0 {
		ratio := min(float64(o.Refused+1)/float64(o.Estimate), maxRatio)
		if k.Samples < refusedMark {
			k.Samples += refusedMark
		}
		return Calibration{Samples: k.Samples, Ratio: max(ratio, k.Ratio)}
	}
	if o.Overflow && k.Samples >= refusedMark {
		return k
	}
	if o.Overflow && k.Samples > 0 {
		return Calibration{Samples: k.Samples, Ratio: min(k.Ratio, max(k.Ratio*yield, unmeasured/headroom))}
	}
	if !o.Usage.Reported || o.Estimate <= 0 || o.Usage.Prompt() <= 0 {
		return k
	}
	reported, estimate := o.Usage.Prompt(), o.Estimate
	if small := smallPrompt - estimate; small > 0 {
		reported, estimate = reported+small, smallPrompt
	}
	ratio := min(float64(reported)/float64(estimate), maxRatio)
	switch {
	case k.Samples > 0:
		ratio = max(ratio, k.Ratio*fall+ratio*(1-fall))
	case estimate > o.Estimate: // it says little of larger ones
		ratio = max(ratio, unmeasured/headroom)
	}
	if k.Samples >= refusedMark && ratio <= unmeasured/headroom { // nothing is left of the refusal
		k.Samples -= refusedMark
	}
	return Calibration{Samples: k.Samples + 1, Ratio: ratio}
}

const (
	maxRatio    = 8       // what a report may raise estimates by: beyond it the report is wrong
	fall        = 0.9     // how much of the old ratio stays with each lower report
	yield       = 0.8     // and with each request that it kept back
	refusedMark = 1 << 40 // samples of a model that refused a request: no model reports so often
	smallPrompt = 512     // tokens: in a smaller one a vendor's own frame of some hundreds may be the most
)
