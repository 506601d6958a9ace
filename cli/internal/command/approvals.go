package command

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/id"
)

func (s *shell) approvals() *cli.Command {
	reason := &cli.StringFlag{Name: "reason", Usage: "`WORDS` for the record"}
	return &cli.Command{
		Name: "approvals", Usage: "questions about calls that a person must allow", Action: group,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list questions, newest first", Action: s.listApprovals,
				Flags: listFlags(20, &cli.StringFlag{Name: "state", Usage: "only those in `STATE`: pending, allowed, denied, expired or all", Value: "pending"}),
			},
			{Name: "show", Usage: "show one question whole", ArgsUsage: "APPROVAL", Action: s.showApproval},
			{
				Name: "allow", Usage: "let the call of a pending question run", ArgsUsage: "APPROVAL",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "session", Usage: "and further calls that the question's rule covers, until the session ends"},
					reason,
				},
				Action: func(c *cli.Context) error { return s.decide(c, true) },
			},
			{
				Name: "deny", Usage: "do not let the call of a pending question run", ArgsUsage: "APPROVAL",
				Flags: []cli.Flag{reason}, Action: func(c *cli.Context) error { return s.decide(c, false) },
			},
			{
				Name: "revoke", Usage: "take back what was allowed for a session", ArgsUsage: "APPROVAL",
				Flags: []cli.Flag{reason}, Action: s.revokeApproval,
			},
		},
	}
}

// approvalAnswer is a question in a document.
type approvalAnswer struct {
	ID        id.Approval     `json:"id"`
	State     approval.State  `json:"state"`
	Session   id.Session      `json:"session"`
	Turn      id.Turn         `json:"turn"`
	Effect    id.Effect       `json:"effect"`
	Principal string          `json:"principal"`
	Core      string          `json:"core"`
	Tool      string          `json:"tool"`
	Plugin    string          `json:"plugin,omitempty"`
	Risk      string          `json:"risk"`
	Needs     []string        `json:"needs"`
	Why       string          `json:"why"`
	Arguments string          `json:"arguments"`
	Plan      json.RawMessage `json:"plan,omitempty"`
	Digest    string          `json:"arguments_sha256"`         // of the arguments, and of the plan where there is one
	Covers    string          `json:"session_covers,omitempty"` // only when it may be allowed for the session
	Asked     *string         `json:"asked"`
	Expires   *string         `json:"expires"`
	Reach     approval.Reach  `json:"reach,omitempty"`
	DecidedBy string          `json:"decided_by,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Decided   *string         `json:"decided,omitempty"`
	Approvers []string        `json:"approvers,omitempty"` // beside the operator; none: the principal
	Used      *string         `json:"used,omitempty"`
	Revoked   *string         `json:"revoked,omitempty"`
}

func approvalOf(q approval.Question) approvalAnswer {
	a := approvalAnswer{
		ID: q.ID, State: q.State, Session: q.Session, Turn: q.Turn, Effect: q.Effect, Principal: q.Principal, Core: q.Core,
		Tool: q.Tool, Plugin: q.Plugin, Risk: q.Risk.String(), Needs: append([]string{}, q.Needs...), Why: q.Why,
		Arguments: q.Arguments, Digest: q.Digest, Asked: moment(q.Asked), Expires: moment(q.Expires), Reach: q.Reach,
		DecidedBy: q.DecidedBy, Reason: q.Reason, Decided: moment(q.Decided),
		Approvers: q.Approvers, Used: moment(q.Used), Revoked: moment(q.Revoked), Plan: json.RawMessage(q.Plan),
	}
	if q.Cacheable {
		a.Covers = q.RuleKey
	}
	return a
}

func (s *shell) listApprovals(c *cli.Context) error {
	state := approval.State(c.String("state"))
	switch state {
	case approval.Pending, approval.Allowed, approval.Denied, approval.Expired:
	case "all":
		state = ""
	default:
		p := usage("--state %q is not one of pending, allowed, denied, expired, all", string(state))
		p.Remedy = "write --state=all"
		return p
	}
	return listing[approval.Question]{
		name: "approvals", most: 500, none: "no questions of that state; `portcullis approvals list --state=all` shows every one",
		find: func(ctx context.Context, r *app.Records, skip, n int) ([]approval.Question, error) {
			return r.Store.Questions(ctx, r.By, state, skip, n)
		},
		answer: func(q approval.Question) any { return approvalOf(q) },
		head:   []string{"approval", "state", "tool", "risk", "asked", "expires", "arguments"},
		row: func(q approval.Question) []any {
			return []any{q.ID, standing(q), q.Tool, q.Risk, stamp(q.Asked), stamp(q.Expires), wholly(q.Arguments)}
		},
	}.show(s, c)
}

// wholly is arguments that a line of a list has room for, whole; of longer ones no part is shown beside an id that allows all.
func wholly(arguments string) string {
	if len(arguments) > 40 {
		return fmt.Sprintf("%d bytes: show it", len(arguments))
	}
	return arguments
}

// standing is the state of a question in a word or two.
func standing(q approval.Question) string {
	switch {
	case !q.Revoked.IsZero():
		return "revoked"
	case q.Reach == approval.ForSession:
		return "allowed for session"
	}
	return string(q.State)
}

func (s *shell) showApproval(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseApproval(args[0])
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		q, ok, err := r.Store.Question(ctx, r.By, name)
		if err != nil {
			return err
		}
		if !ok {
			return notFound("approval", name, "portcullis approvals list --state=all")
		}
		return s.out.Answer(approvalOf(q), func(t *console.Text) {
			sayQuestion(t, q)
			t.Say("state      %s", standing(q))
			switch {
			case q.State == approval.Expired || q.State == approval.Pending && !time.Now().Before(q.Expires):
				t.Say("expired    at %s; nobody answered, and the call was not run", stamp(q.Expires))
			case q.State != approval.Pending:
				t.Say("decided    by %s at %s: %s", q.DecidedBy, stamp(q.Decided), q.Reason)
				sayUse(t, q)
			default:
				sayHowToDecide(t, q)
			}
		})
	})
}

// sayUse is what became of an allowance.
func sayUse(t *console.Text, q approval.Question) {
	switch {
	case q.State != approval.Allowed:
		return
	case q.Used.IsZero():
		t.Say("used       not yet: no effect has started under it")
	default:
		t.Say("used       first at %s", stamp(q.Used))
	}
	switch {
	case q.Reach != approval.ForSession:
	case !q.Revoked.IsZero():
		t.Say("revoked    at %s", stamp(q.Revoked))
	default:
		t.Say("covers     %s, until its session or its host ends; `portcullis approvals revoke %s` takes it back", q.RuleKey, q.ID)
	}
}
