package command

import (
	"encoding/json"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/approval"
)

// sayQuestion shows exactly what would run. Everything is shown whole: what cannot be read cannot be approved. The texts
// of a question hold nothing that a screen would act on; see [approval.Question].
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
	sayPlan(t, q.Plan)
	t.Say("question   %s, input sha256:%.12s", q.ID, q.Digest)
}

// covers says which further calls an allowance for the session lets run. The rule key is the tool, its capabilities, and
// behind " =" what the calls must have in common; see [approval.Question].
func covers(q approval.Question) string {
	_, same, narrow := strings.Cut(q.RuleKey, " =")
	switch {
	case !narrow:
		return "every call of " + q.Tool + ", whatever its arguments"
	case strings.HasPrefix(same, "input sha256:"):
		return "this same call again, with exactly these arguments"
	}
	return "calls of " + q.Tool + " for " + same
}

func sayHowToDecide(t *console.Text, q approval.Question) {
	t.Say("to decide  `portcullis approvals allow %s` or `portcullis approvals deny %s` until %s", q.ID, q.ID, stamp(q.Expires))
}

// plan is what would run beyond the arguments. Its words stay the JSON that they are, so that what was escaped is.
type plan struct {
	Argv     []json.RawMessage `json:"argv"`
	Dir      json.RawMessage   `json:"dir"`
	Env      []json.RawMessage `json:"env"`
	Notes    []json.RawMessage `json:"notes"`
	Operands []struct {
		Role   json.RawMessage `json:"role"`
		Path   json.RawMessage `json:"path"`
		SHA256 string          `json:"sha256"`
	} `json:"operands"`
}

func sayPlan(t *console.Text, text string) {
	if text == "" {
		return
	}
	var p plan
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil { // redaction gave it another form, or it says more than this knows: as it is, then
		t.Say("plan       %s", text)
		return
	}
	join := func(words []json.RawMessage) string {
		all := make([]string, len(words))
		for i, w := range words {
			all[i] = string(w)
		}
		return strings.Join(all, " ")
	}
	if len(p.Argv) > 0 {
		t.Say("would run  %s", join(p.Argv))
	}
	if len(p.Dir) > 0 {
		t.Say("in folder  %s", string(p.Dir))
	}
	if len(p.Env) > 0 {
		t.Say("sets       %s", join(p.Env))
	}
	for _, o := range p.Operands {
		t.Say("%-10s %s sha256:%.12s", strings.Trim(string(o.Role), `"`), string(o.Path), o.SHA256)
	}
	for _, n := range p.Notes {
		t.Say("note       %s", string(n))
	}
}
