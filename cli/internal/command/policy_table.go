package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// tableAnswer is a tested table in a document.
type tableAnswer struct {
	File       string      `json:"file"`
	Rows       []rowAnswer `json:"rows"`
	AsExpected int         `json:"as_expected"`
}

// rowAnswer is one row: what was expected and what the rules say.
type rowAnswer struct {
	Name       string        `json:"name"`
	Line       int           `json:"line"`
	Core       string        `json:"core"`
	Tool       string        `json:"tool"`
	Expect     string        `json:"expect"`
	Decision   policy.Action `json:"decision"`
	Reason     string        `json:"reason,omitempty"`
	Rule       string        `json:"rule"`
	AsExpected bool          `json:"as_expected"`
	Difference string        `json:"difference,omitempty"`
}

func (s *shell) testPolicy(c *cli.Context) (err error) {
	args, err := operands(c)
	if err != nil {
		return err
	}
	home, err := s.home()
	if err != nil {
		return err
	}
	if err := home.Check(); err != nil {
		return err
	}
	file := home.Join(core.TableFile)
	if args[0] != "" {
		file = s.path(args[0])
	}
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		p := usage("there is no table %s", file)
		p.Code, p.File, p.Remedy = "no_table", file, "name one: `portcullis policy test FILE`; `portcullis init` writes one to start from"
		return p
	}
	table, err := core.ReadTable(file)
	if err != nil {
		return tableProblem(err, file)
	}
	look, err := home.OpenShadow(c.Context)
	if err != nil {
		return err
	}
	defer closing(&err, look.Close)
	with := explainers{s: s, h: look.Host, made: map[supposition]*host.Explainer{}}
	defer with.close()
	answer := tableAnswer{File: file, Rows: []rowAnswer{}}
	for _, row := range table.Rows {
		got, err := with.hold(c.Context, file, row)
		if err != nil {
			return err
		}
		if got.AsExpected {
			answer.AsExpected++
		}
		answer.Rows = append(answer.Rows, got)
	}
	err = s.out.Answer(answer, func(t *console.Text) { sayTable(t, answer) })
	if err == nil && answer.AsExpected != len(answer.Rows) {
		err = no{}
	}
	return err
}

// supposition is what rows have in common that one explainer answers.
type supposition struct{ core, as string }

// explainers are made as rows need them.
type explainers struct {
	s    *shell
	h    *host.Host
	made map[supposition]*host.Explainer
}

func (e *explainers) close() {
	for _, x := range e.made {
		x.Close()
	}
}

// hold holds one row of the table in file against the rules.
func (e *explainers) hold(ctx context.Context, file string, row core.Row) (rowAnswer, error) {
	key := supposition{row.Core, row.As}
	x, ok := e.made[key]
	if !ok {
		var err error
		x, err = e.h.Explainer(ctx, host.Supposed{Core: row.Core, Workspace: e.s.workspace(), As: principal.Authority(row.As), Rules: true})
		if err != nil {
			err = e.s.noCore(ctx, e.h, row.Core, err)
			if p := (*console.Problem)(nil); errors.As(err, &p) && row.Core != "" {
				p.Remedy = fmt.Sprintf("write another core in the row at %s:%d, or at the top of the table; `portcullis core list` shows them", file, row.At.Line)
			}
			return rowAnswer{}, err
		}
		e.made[key] = x
	}
	got, err := x.Explain(ctx, row.Tool, row.Arguments)
	if err != nil {
		return rowAnswer{}, err
	}
	j := got.Judge()
	a := rowAnswer{
		Name: row.Name, Line: row.At.Line, Core: got.Core, Tool: row.Tool, Expect: row.Expect,
		Decision: j.Action, Reason: j.Reason, Rule: j.Rule,
	}
	a.Difference = differs(row, j)
	a.AsExpected = a.Difference == ""
	return a, nil
}

// differs says in what the judgement is not what the row expects, and why it is what it is.
func differs(row core.Row, j host.Judgement) string {
	var parts []string
	if row.Expect != string(j.Action) {
		parts = append(parts, fmt.Sprintf("expected %s, and it is %s", row.Expect, j.Action))
	}
	if row.Reason != "" && row.Reason != j.Reason {
		parts = append(parts, fmt.Sprintf("expected the reason %s, and it is %s", row.Reason, orNone(j.Reason)))
	}
	if row.Rule != "" && row.Rule != j.Rule {
		parts = append(parts, fmt.Sprintf("expected the rule %q, and %q decides", row.Rule, j.Rule))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + ": " + j.Why
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func sayTable(t *console.Text, a tableAnswer) {
	for _, r := range a.Rows {
		if r.AsExpected {
			t.Say("%s %-5s %s", console.Good("ok  "), string(r.Decision), r.Name)
			continue
		}
		t.Say("%s %-5s %s", console.Bad("FAIL"), string(r.Decision), r.Name)
		t.Say("           %s:%d: %s", a.File, r.Line, r.Difference)
	}
	summary := fmt.Sprintf("%d of %d as expected", a.AsExpected, len(a.Rows))
	if a.AsExpected == len(a.Rows) {
		t.Say("%s", console.Good(summary))
		return
	}
	t.Say("%s; `portcullis policy explain TOOL --args JSON` shows every rule of a call", console.Bad(summary))
}

// tableProblem is a table that cannot be read. All faults are shown; the first gives the place.
func tableProblem(err error, file string) error {
	faults := core.Faults(err)
	if len(faults) == 0 {
		return err
	}
	first := faults[0]
	p := &console.Problem{
		Code: "bad_table", Message: first.Sentence, File: file, Line: first.Line, Column: first.Column, Exit: console.ExitUsage,
		Remedy: "mend the table; docs/configuration.md has every key",
	}
	for _, f := range faults[1:] {
		p.Message += "\n" + f.Error()
	}
	return p
}
