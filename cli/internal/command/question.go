package command

import (
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/approval"
)

// sayQuestion shows exactly what would run. The arguments are shown whole: what cannot be read cannot be approved.
func sayQuestion(t *console.Text, q approval.Question) {
	t.Say("%s wants to run (risk %s)", console.Bold(q.Tool), q.Risk)
	from := q.Plugin
	if from == "" {
		from = "the host itself"
	}
	t.Say("from       %s, for %s in core %s", from, q.Principal, q.Core)
	if len(q.Needs) > 0 {
		t.Say("uses       %s", strings.Join(q.Needs, ", "))
	}
	t.Say("asked by   %s", q.Why)
	t.Say("arguments  %s", q.Arguments)
	t.Say("question   %s, arguments sha256:%.12s", q.ID, q.Digest)
}
