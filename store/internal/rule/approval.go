package rule

import (
	"slices"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Begin is whether effect s may start under the approval that it names, at now. An effect that names none needed none.
// An answer for once carries the very call that was asked about and no other; an allowance for the session carries
// calls of its tool in its session.
func Begin(q approval.Question, found bool, s effect.Started, nowMillis int64) effect.Start {
	own := q.Effect == s.Effect && q.Digest == s.Digest
	switch {
	case s.Approval == "":
		return effect.Begun
	case !found || q.Session != s.Session || q.State != approval.Allowed:
		return effect.ApprovalMissing
	case q.Tool != s.Tool || q.Plugin != s.Plugin:
		return effect.ApprovalOther
	case !q.Revoked.IsZero():
		return effect.ApprovalRevoked
	case q.Reach == approval.ForSession && q.Effect != s.Effect:
		return effect.Begun
	case !q.Used.IsZero():
		return effect.ApprovalUsed
	case !own:
		return effect.ApprovalOther
	case nowMillis >= q.Expires.UnixMilli():
		return effect.ApprovalExpired
	}
	return effect.Begun
}

// MayDecide reports whether by, who reaches the question or is named by it, may decide it: the operator, those whom it
// names, and, where it names nobody, the principal for whom the call would run.
func MayDecide(q approval.Question, by principal.Scope) bool {
	if by.CrossSession() || slices.Contains(q.Approvers, by.PrincipalID()) {
		return true
	}
	return len(q.Approvers) == 0 && by.PrincipalID() == q.Principal
}
