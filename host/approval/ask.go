package approval

import (
	"context"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// question is the request as it is stored and shown; false when there is no time in which it could be answered. An
// answer must come before the call's own time is over: after that it would allow nothing.
func (g *Gate) question(ctx context.Context, req Request) (Question, bool) {
	now := g.cfg.Clock()
	open := g.cfg.AnswerTime
	if g.cfg.Prompter == nil && g.cfg.Wait > 0 {
		open = min(open, g.cfg.Wait)
	}
	if over, bounded := ctx.Deadline(); bounded {
		open = min(open, time.Until(over).Truncate(time.Millisecond))
	}
	return Question{
		ID: g.cfg.IDs.Approval(), Session: req.Turn.Session(), Turn: req.Turn.ID(), Effect: req.Effect,
		Principal: req.Turn.Principal().PrincipalID(), Core: req.Turn.Core().ID,
		Tool: approval.Visible(req.Tool), Plugin: approval.Visible(req.Plugin), Risk: req.Risk, Needs: visible(req.Needs),
		Why: approval.Visible(req.Why), Arguments: approval.VisibleJSON(req.Arguments), Plan: approval.VisibleJSON(req.Plan),
		Digest: req.Digest, RuleKey: approval.Visible(req.Key.Rule), Cacheable: req.Cacheable, Approvers: req.Approvers,
		Asked: now, Expires: now.Add(open), State: Pending,
	}, open >= time.Millisecond
}

func visible(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, approval.Visible(t))
	}
	return out
}

// answer gets a person's answer, or makes the denial that stands in for one. Nothing here widens: a way that fails is a
// denial and no other way is tried.
func (g *Gate) answer(ctx context.Context, by principal.Scope, q Question, woken <-chan struct{}) Answer {
	ctx, stop := context.WithTimeoutCause(ctx, q.Expires.Sub(q.Asked), context.DeadlineExceeded)
	defer stop()
	if g.cfg.Prompter == nil && g.cfg.Courier == nil && g.cfg.Wait <= 0 {
		return Answer{State: Denied, Reason: ReasonNoRoute}
	}
	defer g.waits(ctx, q.Turn)()
	switch {
	case g.cfg.Prompter != nil:
		return g.prompted(ctx, by, q, woken)
	case g.cfg.Courier != nil:
		if err := g.cfg.Courier.Deliver(ctx, q); err != nil {
			return Answer{State: Denied, Reason: ReasonNotDelivered}
		}
	}
	return g.await(ctx, by, q, woken)
}

// prompted asks the Prompter, when it is free, and at the same time waits for an answer by id.
func (g *Gate) prompted(ctx context.Context, by principal.Scope, q Question, woken <-chan struct{}) Answer {
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type said struct {
		ans Answer
		err error
	}
	got := make(chan said, 1)
	go func() { // ends with the prompt, which ends soon after its context; answer waits for it
		select {
		case g.prompt <- struct{}{}:
			defer func() { <-g.prompt }()
		case <-asking.Done():
			got <- said{err: context.Cause(asking)}
			return
		}
		ans, err := g.cfg.Prompter.Prompt(asking, q)
		got <- said{ans, err}
	}()
	elsewhere := make(chan Answer, 1)
	go func() { elsewhere <- g.await(asking, by, q, woken) }() // ends with its context at the latest
	select {
	case s := <-got:
		cancel(errSettled)
		<-elsewhere
		if s.err != nil || ctx.Err() != nil {
			return refusal(ctx)
		}
		return sane(s.ans, q)
	case ans := <-elsewhere:
		cancel(errSettled)
		<-got
		return ans
	}
}

// await waits for a decision that is recorded by id, here or in another process. The poll reads one row by its key.
func (g *Gate) await(ctx context.Context, by principal.Scope, q Question, woken <-chan struct{}) Answer {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return refusal(ctx)
		case <-woken:
		case <-tick.C:
		}
		now, found, err := g.cfg.Journal.Question(ctx, by, q.ID)
		if ctx.Err() != nil { // the store was asked as the time ran out: the time decides, not its error
			return refusal(ctx)
		}
		if err != nil || !found {
			return Answer{State: Denied, Reason: ReasonInterrupt}
		}
		if now.State != Pending {
			return Answer{State: now.State, Reach: now.Reach, By: now.DecidedBy, Reason: now.Reason}
		}
	}
}

func refusal(ctx context.Context) Answer {
	if reason := stopped(ctx); reason != ReasonExpired {
		return Answer{State: Denied, Reason: reason}
	}
	return Answer{State: Expired, Reason: ReasonExpired}
}

// sane holds an answer to what the question offered: a reach that was not offered becomes once, and a decider
// without a name cannot allow.
func sane(a Answer, q Question) Answer {
	switch {
	case a.State == Allowed && a.By == "":
		return Answer{State: Denied, Reason: ReasonAnswerOdd}
	case a.State == Allowed && (a.Reach != ForSession || !q.Cacheable):
		a.Reach = Once
	case a.State != Allowed && a.State != Expired:
		a.State, a.Reach = Denied, ""
	}
	if a.Reason == "" {
		a.Reason = worded(a.State, a.Reach)
	}
	if r := []rune(strings.ToValidUTF8(a.Reason, "?")); len(r) > reasonMaxRunes {
		a.Reason = string(r[:reasonMaxRunes])
	}
	return a
}
