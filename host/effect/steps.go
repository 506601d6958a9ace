package effect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	gate "github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// checkRequest is step 1. The reference must be of a live catalog that was prepared for this very turn.
func (r *Runtime) checkRequest(_ context.Context, p *passage) verdict {
	invalid := func(reason, why, model string) verdict {
		return verdict{status: Invalid, reason: reason, why: why, model: model}
	}
	switch {
	case p.entry == nil || p.catalog == nil:
		return invalid("no_reference", "the request refers to no tool of a catalog", "there is no such tool")
	case p.turn.Zero() || !p.catalog.turn.Same(p.turn):
		return invalid("wrong_turn", "the reference was resolved for another turn", "the tool is not available in this turn")
	case p.catalog.closed.Load():
		return invalid("catalog_closed", "the turn's catalog is closed: its effects are over", "the turn is over")
	case p.req.Malformed != "":
		return invalid("arguments_not_json", "the model's arguments are not JSON: "+p.req.Malformed, "the arguments are not a JSON object: "+p.req.Malformed)
	}
	p.worked = true
	args, err := parseArguments(p.reader, p.req.Arguments)
	if err != nil {
		var bad *ArgumentError
		if !errors.As(err, &bad) {
			return invalid("arguments_invalid", "the arguments cannot be read", "the arguments cannot be read")
		}
		return invalid("arguments_"+bad.Code, bad.Sentence, bad.Sentence)
	}
	p.args = args
	if redact.ContainsSentinel(args.Bytes()) {
		return invalid("arguments_redacted", holdsMark, "the arguments hold a value that the host redacted; you cannot pass it on")
	}
	if p.shown, err = p.catalog.views(questionBounds(), redact.Document(args.read), redact.ForOperator, redact.ForDurable); err != nil {
		return verdict{status: Failed, reason: "redaction_failed", why: "the arguments could not be redacted, so nothing is done with them", model: "the host could not handle the arguments"}
	}
	schema, err := p.entry.input()
	if err != nil {
		return verdict{status: Failed, reason: "schema_unusable", why: fmt.Sprintf("the input schema of %s cannot be used: %v", p.entry.tool.Name, err), model: "the tool is broken"}
	}
	if faults := schema.check(&args.read); len(faults) > 0 {
		why := "the arguments do not fit the schema: " + join(faults)
		return invalid("arguments_schema", why, why)
	}
	if p.needs, err = needsOf(p.entry.tool, args.read); err != nil {
		return invalid("secret_name", err.Error(), "the arguments name a secret by what is no name")
	}
	return pass(strconv.Itoa(len(args.Bytes())) + " bytes, sha256:" + args.Digest()[:12])
}

const holdsMark = "the arguments hold a redaction mark: the real value was never shown, so running this would write the mark in its place"

// approve is step 5.
func (r *Runtime) approve(ctx context.Context, p *passage) verdict {
	if p.policy.Action != policy.Ask {
		return p.said(policy.Approval)
	}
	p.worked = true
	if ctx.Err() != nil {
		return verdict{status: Cancelled, reason: "cancelled", why: "cancelled before it was asked about", model: "cancelled"}
	}
	if v := p.unshown(); v.stops() {
		return v
	}
	d := r.approver.Decide(ctx, p.question())
	p.result.Approval = d.Approval
	if d.Allowed && d.Approval == "" {
		return notBegun(ApprovalMissing, &p.entry.tool)
	}
	if !d.Allowed {
		v := verdict{status: Denied, reason: d.Reason, why: refusalWords(d, p.entry.tool.Name), model: "the user did not allow it"}
		if d.Reason == gate.ReasonNoRoute {
			v.remedy = "add --approve wait=5m, and decide in another terminal with `portcullis approvals allow ID`"
		}
		return v
	}
	if v := r.recheck(ctx, p); v.stops() {
		return v
	}
	if d.Words != "" {
		return pass(fmt.Sprintf("allowed by %s (%s: %s)", d.By, d.Reason, d.Words))
	}
	return pass(fmt.Sprintf("allowed by %s (%s)", d.By, d.Reason))
}

// unshown says why nobody can be asked about the call: a person has to read all of it. What merely looks like a secret is
// masked in every view, so that words of a program which do could be anything. A value that the host holds may be
// masked: whoever writes it knows it already, and it is named.
func (p *passage) unshown() verdict {
	if !p.shown.Operator.Cut().Zero() || !p.plan.Operator.Cut().Zero() {
		return verdict{
			status: Denied, reason: "not_approvable",
			why:   "the call is too large to be shown whole, and what cannot be read cannot be approved: pass large content by file",
			model: "the arguments are too large to be approved; use smaller ones",
		}
	}
	if p.planned == nil {
		return verdict{}
	}
	for _, f := range slices.Concat(p.shown.Found, p.plan.Found) {
		if f.Source != redact.Bound {
			return verdict{
				status: Denied, reason: "not_approvable_masked",
				why: fmt.Sprintf("a part of the call looks like a secret (%s) and would be masked in the question, and what cannot be read cannot be approved: "+
					"keep a secret with `portcullis secrets set NAME` and have the call name it in secrets", f.Name),
				model: "a part of the call looks like a secret, so it cannot be shown to be approved; leave it out, or name a kept secret in secrets",
			}
		}
	}
	return verdict{}
}

func refusalWords(d gate.Decision, tool string) string {
	switch d.Reason {
	case gate.ReasonNoRoute:
		return tool + " needs approval and nobody can be asked here"
	case gate.ReasonExpired:
		return tool + " was not approved in time"
	case gate.ReasonNotStored:
		return tool + " needs approval and the question could not be stored: `portcullis store check`"
	case gate.ReasonNotDelivered:
		return tool + " needs approval and the question could not be delivered to anybody"
	case gate.ReasonRevoked:
		return tool + " needs approval, and what was asked for it was taken back while it waited"
	case gate.ReasonClosed:
		return tool + " needs approval and the host is shutting down"
	case gate.ReasonDenied:
		if d.Words != "" {
			return tool + " was denied: " + d.Words
		}
		return tool + " was denied: a person said no"
	case gate.ReasonInterrupt:
		return "the question about " + tool + " was interrupted"
	}
	return tool + " was denied: " + d.Reason
}

// maxQuestion bounds what a person is asked to read. A call whose arguments are larger cannot be approved.
const maxQuestion = 16 << 10

// questionBounds show a whole argument document to the operator or say that it is cut.
func questionBounds() redact.Bounds {
	b := redact.DefaultBounds()
	b.Operator = redact.Limit{Bytes: maxQuestion, String: maxQuestion, Items: 1000, Depth: MaxArgumentDepth}
	b.Durable = redact.Limit{Bytes: 64 << 10, String: 64 << 10, Items: 1000, Depth: MaxArgumentDepth}
	return b
}
