package effect_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gate "github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/approval"
)

// runner is a tool that runs the script at a path, as far as a test needs one: it plans, holds the script open, and
// looks again before it would run.
type runner struct {
	script string
	plan   func(*effect.Plan) // what a test changes of the plan
	late   func()             // what happens between the gate's last look and the run
	refuse effect.Objection
	plans  int
	ran    int
	closed int
	given  *effect.Plan
}

func (r *runner) Plan(_ context.Context, c effect.Call) (effect.Plan, effect.Objection) {
	r.plans++
	sum := effect.Absent
	if data, err := os.ReadFile(r.script); err == nil {
		hash := sha256.Sum256(data)
		sum = hex.EncodeToString(hash[:])
	} else if !errors.Is(err, fs.ErrNotExist) {
		return effect.Plan{}, effect.Objection{Reason: "unreadable", Why: err.Error(), Model: "cannot be read"}
	}
	p := effect.Plan{
		Argv: []string{"/bin/sh", r.script}, Dir: filepath.Dir(r.script), Env: []string{"GIT_DIR"}, Cacheable: true,
		Operands: []effect.Operand{{Role: "script", Path: r.script, SHA256: sum}}, Held: r,
	}
	if r.plan != nil {
		r.plan(&p)
	}
	return p, r.refuse
}

func (r *runner) Close() error { r.closed++; return nil }

func (r *runner) Invoke(ctx context.Context, c effect.Call) effect.Outcome {
	r.given = c.Plan
	if r.late != nil {
		r.late()
	}
	if now, _ := r.Plan(ctx, c); now.Digest("") != c.Plan.Digest("") {
		return effect.Outcome{Status: effect.Denied, Reason: effect.ReasonOperandChanged}
	}
	r.ran++
	return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
}

func script(t *testing.T) *runner {
	t.Helper()
	r := &runner{script: filepath.Join(t.TempDir(), "s.sh")}
	r.write(t, "echo hello")
	return r
}

func (r *runner) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(r.script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func asking(r *runner) effect.Tool {
	one := tool("run.it", r)
	one.Approval = approval.Prompt
	return one
}

func TestThePlanIsShownAndApprovedAndRun(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.answer = gate.Decision{Allowed: true, By: "me"}
	r := script(t)
	res := f.run(`{"n":1}`, asking(r))
	f.want(res, effect.Succeeded, true, "")
	q := f.asked[0]
	for _, want := range []string{`"argv":["/bin/sh","` + r.script + `"]`, `"env":["GIT_DIR"]`, `"role":"script"`, `"dir":"` + filepath.Dir(r.script) + `"`} {
		if !strings.Contains(q.Plan, want) {
			t.Errorf("the question lacks %s: %s", want, q.Plan)
		}
	}
	if r.given == nil || r.given.Operands[0].Path != r.script || r.ran != 1 {
		t.Fatalf("the adapter was given %+v and ran %d times", r.given, r.ran)
	}
	if r.closed != r.plans-1 { // the one that Invoke made itself
		t.Fatalf("%d of %d plans were let go", r.closed, r.plans)
	}
	recs, err := f.store.Effects(t.Context(), f.turn.Principal(), f.turn.ID())
	if err != nil || len(recs) != 1 || recs[0].Digest != q.Digest {
		t.Fatalf("%+v %v: the effect has another digest than the question %s", recs, err, q.Digest)
	}
}

func TestEveryPartOfAPlanIsInItsDigest(t *testing.T) {
	base := effect.Plan{
		Argv: []string{"a", "b"}, Dir: "/d", Env: []string{"E"}, RuleKey: "k",
		Operands: []effect.Operand{{Role: "script", Path: "/s", SHA256: effect.Absent}},
	}
	seen := map[string]string{base.Digest("x"): "the plan itself", base.Digest("y"): "the arguments"}
	if len(seen) != 2 {
		t.Fatal("the arguments are not in the digest")
	}
	for name, change := range map[string]func(*effect.Plan){
		"a word":           func(p *effect.Plan) { p.Argv = []string{"a", "c"} },
		"words joined":     func(p *effect.Plan) { p.Argv = []string{"ab"} },
		"a word more":      func(p *effect.Plan) { p.Argv = []string{"a", "b", ""} },
		"a word for a dir": func(p *effect.Plan) { p.Argv, p.Dir = []string{"a", "b", "/d"}, "" },
		"the folder":       func(p *effect.Plan) { p.Dir = "/e" },
		"a variable":       func(p *effect.Plan) { p.Env = []string{"F"} },
		"a variable more":  func(p *effect.Plan) { p.Env = []string{"E", "F"} },
		"the rule key":     func(p *effect.Plan) { p.RuleKey = "l" },
		"an operand's role": func(p *effect.Plan) {
			p.Operands = []effect.Operand{{Role: "input", Path: "/s", SHA256: effect.Absent}}
		},
		"an operand's path": func(p *effect.Plan) {
			p.Operands = []effect.Operand{{Role: "script", Path: "/t", SHA256: effect.Absent}}
		},
		"an operand's bytes": func(p *effect.Plan) {
			p.Operands = []effect.Operand{{Role: "script", Path: "/s", SHA256: strings.Repeat("0", 64)}}
		},
		"no operand": func(p *effect.Plan) { p.Operands = nil },
	} {
		p := base
		change(&p)
		d := p.Digest("x")
		if other, taken := seen[d]; taken {
			t.Errorf("%s reads like %s", name, other)
		}
		seen[d] = name
	}
}

// What is approved is what runs: a file that changed while the question stood, or after the last look, does not run.
func TestAnOperandThatChangesDoesNotRun(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.answer = gate.Decision{Allowed: true, By: "me"}
	r := script(t)
	f.whileAsked = func() { r.write(t, "rm -rf /") }
	res := f.run(`{}`, asking(r))
	f.want(res, effect.Denied, false, effect.ReasonOperandChanged)
	f.whileAsked = nil
	r.late = func() { r.write(t, "rm -rf ~") }
	res = f.run(`{}`, asking(r))
	f.want(res, effect.Denied, true, effect.ReasonOperandChanged)
	if r.ran != 0 || !strings.Contains(res.Sentence, "has changed since it was approved") {
		t.Fatalf("ran %d times; %s", r.ran, res.Sentence)
	}
}

func TestAPlanThatCannotBeOneDenies(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.answer = gate.Decision{Allowed: true, By: "me"}
	for name, change := range map[string]func(*effect.Plan){
		"nothing in it":        func(p *effect.Plan) { p.Argv, p.Operands = nil, nil },
		"too many words":       func(p *effect.Plan) { p.Argv = make([]string, effect.MaxPlanItems+1) },
		"a relative folder":    func(p *effect.Plan) { p.Dir = "here" },
		"a relative operand":   func(p *effect.Plan) { p.Operands[0].Path = "s.sh" },
		"an unclean operand":   func(p *effect.Plan) { p.Operands[0].Path = "/a/../b" },
		"no digest":            func(p *effect.Plan) { p.Operands[0].SHA256 = "" },
		"half a digest":        func(p *effect.Plan) { p.Operands[0].SHA256 = "abcd" },
		"no role":              func(p *effect.Plan) { p.Operands[0].Role = "" },
		"a word of bad UTF-8":  func(p *effect.Plan) { p.Argv[1] = "\xff" },
		"a name of bad UTF-8":  func(p *effect.Plan) { p.Env[0] = "\xfe" },
		"an operand of it too": func(p *effect.Plan) { p.Operands[0].Path = "/\xff" },
	} {
		r := script(t)
		r.plan = change
		res := f.run(`{}`, asking(r))
		if res.Status != effect.Denied || res.Reason != effect.ReasonPlanInvalid || r.ran != 0 || r.closed != 1 {
			t.Errorf("%s: %s %s, ran %d, closed %d", name, res.Status, res.Reason, r.ran, r.closed)
		}
	}
	r := script(t)
	r.refuse = effect.Objection{Reason: "shell", Why: "no shell", Model: "no shell here", Remedy: "portcullis policy"}
	res := f.run(`{}`, asking(r))
	f.want(res, effect.Denied, false, "shell")
	if len(f.asked) != 0 || res.Remedy != "portcullis policy" || r.closed != 1 {
		t.Fatalf("asked %d times, remedy %q, closed %d", len(f.asked), res.Remedy, r.closed)
	}
	r = script(t)
	r.plan = func(p *effect.Plan) { p.Argv = append(p.Argv, strings.Repeat("long ", 8000)) }
	f.want(f.run(`{}`, asking(r)), effect.Denied, false, "not_approvable")
}

func TestAnAllowanceWithoutItsQuestionStartsNothing(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.bare = true
	f.answer = gate.Decision{Allowed: true, By: "me"}
	r := script(t)
	f.want(f.run(`{}`, asking(r)), effect.Denied, false, string(effect.ApprovalMissing))
	f.answer.Approval = f.ids.Approval()
	f.want(f.run(`{}`, asking(r)), effect.Denied, false, string(effect.ApprovalMissing))
	if r.ran != 0 {
		t.Fatal("ran without a decision on record")
	}
}

// What merely looks like a secret is masked in what a person reads, so it must not be part of a program that they approve.
func TestAMaskedPlanCannotBeApproved(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.answer = gate.Decision{Allowed: true, By: "me"}
	for name, word := range map[string]string{
		"a command behind an option": "mysql --password `touch /tmp/owned`; ls",
		"an assignment":              "PASSWORD='touch;/tmp/owned1' ls",
		"a header":                   "curl -H 'Cookie: a=b; $(touch /tmp/owned)'",
		"a private key":              "-----BEGIN PRIVATE KEY-----\ntouch /tmp/owned-1\n-----END PRIVATE KEY-----",
	} {
		r := script(t)
		r.plan = func(p *effect.Plan) { p.Argv = []string{"/bin/sh", "-c", word} }
		res := f.run(`{}`, asking(r))
		if res.Reason != "not_approvable_masked" || res.Started || r.ran != 0 || r.closed != r.plans {
			t.Errorf("%s: %s %s, ran %d, closed %d of %d", name, res.Status, res.Reason, r.ran, r.closed, r.plans)
		}
	}
	f.want(f.run(`{"key":"ls --password 'touch;/tmp/owned1'"}`, asking(script(t))), effect.Denied, false, "not_approvable_masked")
	if len(f.asked) != 0 {
		t.Fatalf("asked: %+v", f.asked)
	}
}
