package command

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/id"
)

// decide records the operator's answer to one question, by its id alone: never by free text, never "the last one".
func (s *shell) decide(c *cli.Context, allow bool) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseApproval(args[0])
	if err != nil {
		return err
	}
	reach := approval.Once
	if allow && c.Bool("session") {
		reach = approval.ForSession
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		q, how, err := r.Decide(ctx, name, allow, reach, c.String("reason"))
		if err != nil {
			return err
		}
		if p := notRecorded(name, q, how, allow); p != nil {
			return p
		}
		waiting, err := s.waits()
		if err != nil {
			return err
		}
		return s.out.Answer(approvalOf(q), func(t *console.Text) {
			if allow && how == approval.Recorded {
				sayQuestion(t, q) // what was allowed, whole: whoever typed the id may have seen it in a list alone
			}
			switch {
			case how == approval.AlreadyDecided:
				t.Say("%s is %s already, by %s at %s; nothing changed", q.ID, q.State, q.DecidedBy, stamp(q.Decided))
				return
			case !waiting:
				t.Say("%s %s, but nothing waits for it any more: the process that asked is gone, and the call will not run", console.Warn(string(q.State)+":"), q.Tool)
			case !allow:
				t.Say("%s %s will not run", console.Bad("denied:"), q.Tool)
			case q.Reach == approval.ForSession:
				t.Say("%s %s, and until the session ends %s", console.Good("allowed:"), q.Tool, covers(q))
			default:
				t.Say("%s %s, this once", console.Good("allowed:"), q.Tool)
				if reach == approval.ForSession {
					t.Say("not for the session: this question does not offer that")
				}
			}
		})
	})
}

// revokeApproval takes an allowance for a session back. What already runs under it goes on; nothing more starts.
func (s *shell) revokeApproval(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseApproval(args[0])
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		q, how, err := r.RevokeApproval(ctx, name, c.String("reason"))
		if err != nil {
			return err
		}
		switch how {
		case approval.Recorded, approval.AlreadyDecided:
		case approval.NotAllowance:
			return &console.Problem{
				Code: "not_an_allowance", Exit: console.ExitNo,
				Message: fmt.Sprintf("approval %s did not allow for the session (it is %s), so there is nothing to take back", name, standing(q)),
				Remedy:  "`portcullis approvals list --state=allowed` shows what was allowed",
			}
		default:
			return notFound("approval", name, "portcullis approvals list --state=allowed")
		}
		return s.out.Answer(approvalOf(q), func(t *console.Text) {
			if how == approval.AlreadyDecided {
				t.Say("%s was revoked at %s already; nothing changed", q.ID, stamp(q.Revoked))
				return
			}
			t.Say("%s %s needs to be allowed again (it was: %s)", console.Good("revoked:"), q.Tool, covers(q))
		})
	})
}

// waits reports whether a process that could have asked still holds the home.
func (s *shell) waits() (bool, error) {
	home, err := s.home()
	if err != nil {
		return false, err
	}
	by, err := home.LockedBy()
	return by != "", err
}

// notRecorded is the failure of an answer that changed nothing, or nil. To give the answer that stands already is not
// a failure.
func notRecorded(name id.Approval, q approval.Question, how approval.Recording, allow bool) error {
	no := func(code, format string, a ...any) error {
		return &console.Problem{
			Code: code, Exit: console.ExitNo, Message: fmt.Sprintf(format, a...),
			Remedy: "`portcullis approvals list` shows what may still be answered",
		}
	}
	switch how {
	case approval.Recorded:
		return nil
	case approval.AlreadyDecided:
		if q.State == approval.Allowed && allow || q.State == approval.Denied && !allow {
			return nil
		}
		if q.State == approval.Expired { // by nobody
			return no("approval_expired", "approval %s expired at %s; the call was not run", name, stamp(q.Expires))
		}
		return no("already_decided", "approval %s is %s already, by %s, and keeps its first answer", name, q.State, q.DecidedBy)
	case approval.NotApprover:
		return no("not_approver", "approval %s is for somebody else to decide", name)
	case approval.TooLate:
		return no("approval_expired", "approval %s expired at %s; the call was not run", name, stamp(q.Expires))
	}
	return notFound("approval", name, "portcullis approvals list --state=all")
}
