package evasion_test

import (
	"context"
	"errors"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/gatetest"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// post delivers questions to where a row reads them.
type post struct {
	box  chan approval.Question
	fail error
}

func (p *post) Deliver(_ context.Context, q approval.Question) error {
	if p.fail == nil {
		p.box <- q
	}
	return p.fail
}

// delivered runs a call whose question is delivered elsewhere, hands it to do, and returns how the call ended. What do
// leaves pending is denied by the owner at last.
func (x *attempt) delivered(approvers []string, do func(q approval.Question)) effect.Result {
	x.Helper()
	mail := &post{box: make(chan approval.Question, 1)}
	x.w.Restart(approval.Config{Courier: mail})
	x.setup.Approvers = approvers
	done := make(chan effect.Result, 1)
	go func() { done <- x.call("a") }()
	q := <-mail.box
	do(q)
	by, err := x.w.Resolver.Operator(x.Context(), "end the row")
	if err != nil {
		x.Fatal(err)
	}
	if _, _, err := x.w.Gate.Record(x.Context(), by, q.ID, false, "", approval.ReasonDenied); err != nil {
		x.Fatal(err)
	}
	return <-done
}

// deciderRows: somebody decides who may not.
func deciderRows() []row {
	within := func(x *attempt, f principal.Facts) principal.Scope { // f, with this session as its own
		f.SessionID, f.AllowedSessions = string(x.turn.Session()), []string{string(x.turn.Session())}
		s, err := principal.NewIssuer(string(x.w.Store.StoreID())).Issue(f)
		if err != nil {
			x.Fatal(err)
		}
		return s
	}
	member := gatetest.Talker("a")
	member.PrincipalID = "principal:conversation:chat:b"
	tries := func(class, name string, approvers []string, by func(x *attempt) principal.Scope, want approval.Recording) row {
		return row{class, name, func(x *attempt) {
			res := x.delivered(approvers, func(q approval.Question) {
				scope := by(x)
				_, how, err := x.w.Gate.Record(x.Context(), scope, q.ID, true, approval.ForSession, "yes")
				var refused *principal.RefusedError
				if how != want || want != approval.NotFound && err != nil || err != nil && !errors.As(err, &refused) {
					x.Errorf("the attempt was taken as %q, %v; %q was due", how, err, want)
				}
				if now := x.w.Questions()[0]; now.ID != q.ID || now.State != approval.Pending {
					x.Errorf("the question is %s after the attempt", now.State)
				}
			})
			x.refused(res, approval.ReasonDenied)
		}}
	}
	return []row{
		tries("F28", "a member of the group", nil, func(x *attempt) principal.Scope { return within(x, member) }, approval.NotApprover),
		tries("F28", "a stranger", nil, func(x *attempt) principal.Scope {
			return x.w.Admit(gatetest.Talker("c"), gatetest.Fresh(), assistant()).Principal()
		}, approval.NotFound),
		tries("F28", "a schedule", nil, func(x *attempt) principal.Scope {
			return within(x, principal.Facts{PrincipalID: "principal:scheduler:x", Authority: principal.System})
		}, approval.NotApprover),
		tries("F28", "the agent's own child", nil, func(x *attempt) principal.Scope {
			return within(x, principal.Facts{PrincipalID: "principal:delegated_agent:x", Authority: principal.DelegatedAgent, ParentSession: "ses_parent", ParentTurn: "trn_parent"})
		}, approval.NotApprover),
		tries("F28", "an operator of a host that is closed", nil, func(x *attempt) principal.Scope {
			gone := authority.NewResolver(x.w.Store, x.w.Store, x.w.Clock, x.w.IDs)
			s, err := gone.Operator(x.Context(), "kept")
			if err != nil {
				x.Fatal(err)
			}
			gone.Close()
			return s
		}, approval.NotFound),
		tries("F28", "an operator of another store", nil, func(x *attempt) principal.Scope {
			s, err := principal.NewIssuer("sto_another").Issue(authority.OperatorFacts("test"))
			if err != nil {
				x.Fatal(err)
			}
			return s
		}, approval.NotFound),
		tries("F28", "the owner where others are named", []string{"principal:conversation:chat:c"}, func(x *attempt) principal.Scope { return x.turn.Principal() }, approval.NotApprover),
		{"A-1", "an answer in another's name", func(x *attempt) {
			x.p.by = authority.OperatorID
			x.refused(x.call("a"), approval.ReasonAnswerOdd)
		}},
		{"A-6", "a free text for an id", func(x *attempt) {
			x.refused(x.delivered(nil, func(approval.Question) {
				if _, how, err := x.w.Gate.Record(x.Context(), x.turn.Principal(), "yes", true, approval.Once, "yes"); how != approval.NotFound || err != nil {
					x.Errorf("taken as %q, %v", how, err)
				}
			}), approval.ReasonDenied)
		}},
	}
}

// claims is an approver that says what a row wants it to say, with nothing on record of its own.
type claims approval.Decision

func (c claims) Decide(context.Context, approval.Request) approval.Decision {
	return approval.Decision(c)
}

// durableRows: something runs without its decision on record, or after it was over.
func durableRows() []row {
	// claimed is a call that a broken approver says is allowed under an id.
	claimed := func(class, name string, from func(x *attempt) id.Approval, reason effect.Start) row {
		return row{class, name, func(x *attempt) {
			from := from(x)
			x.w.Runtime = effect.NewRuntime(effect.Config{
				Journal: x.w.Store, Grants: x.w.Store, IDs: x.w.IDs, Clock: x.w.Clock,
				Approver: claims{Allowed: true, Approval: from, By: "me"},
			})
			x.refused(x.call("b"), string(reason))
		}}
	}
	answered := func(s approval.State, r approval.Reach) func(x *attempt) id.Approval {
		return func(x *attempt) id.Approval {
			x.says(s, r)
			return x.call("a").Approval
		}
	}
	return []row{
		claimed("A-3", "without any question", func(*attempt) id.Approval { return "" }, effect.ApprovalMissing),
		claimed("A-3", "under a question that is not there", func(x *attempt) id.Approval { return x.w.IDs.Approval() }, effect.ApprovalMissing),
		claimed("A-3", "under a denial", answered(approval.Denied, ""), effect.ApprovalMissing),
		claimed("F27", "under an answer that was used", answered(approval.Allowed, approval.Once), effect.ApprovalUsed),
		{"A-2", "a button pressed after a restart", func(x *attempt) {
			res := x.delivered(nil, func(q approval.Question) {
				if _, err := x.w.Store.Recover(x.Context(), x.w.IDs.Epoch(), x.w.Clock()); err != nil {
					x.Fatal(err)
				}
				now, how, err := x.w.Gate.Record(x.Context(), x.turn.Principal(), q.ID, true, approval.Once, "yes")
				if how != approval.AlreadyDecided || now.State != approval.Expired || err != nil {
					x.Errorf("taken as %q, %s, %v", how, now.State, err)
				}
				if recs, err := x.w.Store.Events(x.Context(), x.turn.Principal(), turn.EventQuery{Session: x.turn.Session(), Kind: event.ApprovalDecided, Limit: 10}); err != nil || len(recs) != 1 || recs[0].Field("state") != "expired" {
					x.Errorf("records %+v, %v", recs, err)
				}
			})
			x.refused(res, "not_recorded", "host_restarted")
		}},
		{"A-4", "a delivery that fails, with another way at hand", func(x *attempt) {
			x.w.Restart(approval.Config{Courier: &post{fail: errors.New("the chat is down")}, Wait: time.Hour})
			x.refused(x.call("a"), approval.ReasonNotDelivered)
		}},
		{"A-9", "an answer after the time", func(x *attempt) {
			x.w.Restart(approval.Config{Courier: &post{box: make(chan approval.Question, 1)}, AnswerTime: 5 * time.Millisecond})
			res := x.call("a")
			_, how, err := x.w.Gate.Record(x.Context(), x.turn.Principal(), x.w.Questions()[0].ID, true, approval.Once, "yes")
			if how != approval.AlreadyDecided || err != nil {
				x.Errorf("taken as %q, %v", how, err)
			}
			x.refused(res, approval.ReasonExpired)
		}},
		{"A-9", "an answer in time, used after it", func(x *attempt) {
			now := time.Now()
			x.w = gatetest.New(x.T, approval.Config{Prompter: x.p, Clock: func() time.Time { return now }})
			x.turn = x.w.Admit(gatetest.Talker("a"), gatetest.Fresh(), assistant())
			x.tool.Adapter = &slow{adapter: counter(&x.ran), late: func() { now = now.Add(time.Hour) }}
			x.refused(x.call("a"), string(effect.ApprovalExpired))
		}},
		{"F27", "nobody to ask", func(x *attempt) {
			x.w.Restart(approval.Config{})
			x.refused(x.call("a"), approval.ReasonNoRoute)
		}},
		{"F27", "the session ends while the question stands", func(x *attempt) {
			x.p.during = func(approval.Question) { x.w.Gate.EndSession(x.turn.Session()) }
			x.refused(x.call("a"), approval.ReasonRevoked)
		}},
		{"F27", "the host ends while the question stands", func(x *attempt) {
			x.p.during = func(approval.Question) { x.w.Gate.Close() }
			x.refused(x.call("a"), approval.ReasonClosed)
		}},
	}
}

// slow is a tool whose plan is looked at again only after its time is over.
type slow struct {
	adapter
	late  func()
	plans int
}

func (s *slow) Plan(context.Context, effect.Call) (effect.Plan, effect.Objection) {
	if s.plans++; s.plans == 2 {
		s.late()
	}
	return effect.Plan{Argv: []string{"x"}, Cacheable: true}, effect.Objection{}
}
