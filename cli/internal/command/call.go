package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

func (s *shell) call() *cli.Command {
	return &cli.Command{
		Name: "call", Usage: "run one tool through the whole gate, without a model", ArgsUsage: "TOOL",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "args", Usage: "arguments as `JSON`, @FILE, or - for standard input", Value: "{}"},
			&cli.StringFlag{Name: "core", Usage: "`CORE` whose agent it is", DefaultText: "default_core of config.yaml"},
			&cli.StringFlag{Name: "view", Usage: "print the `VIEW` of: model, operator, event, durable, debug", Value: "model"},
			&cli.BoolFlag{Name: "trace", Usage: "show each step of the gate"},
			approveFlag(),
		},
		Action: s.callTool,
	}
}

// callAnswer is one effect in a document.
type callAnswer struct {
	ID       id.Effect       `json:"id"`
	Tool     string          `json:"tool"`
	Plugin   string          `json:"plugin,omitempty"`
	Status   effect.Status   `json:"status"`
	Started  bool            `json:"started"`
	Result   json.RawMessage `json:"result"`
	Reason   string          `json:"reason,omitempty"`
	Sentence string          `json:"sentence,omitempty"`
	Remedy   string          `json:"remedy,omitempty"`
	Approval id.Approval     `json:"approval,omitempty"`
	Duration float64         `json:"duration_ms"`
	Stages   []stageAnswer   `json:"stages,omitempty"`
}

func (s *shell) callTool(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	view, err := pickView(c.String("view"))
	if err != nil {
		return err
	}
	a, err := s.approving(c)
	if err != nil {
		return err
	}
	raw, err := s.arguments(c.String("args"))
	if err != nil {
		return err
	}
	var bad *json.SyntaxError
	if err := json.Unmarshal(raw, new(json.RawMessage)); errors.As(err, &bad) {
		p := usage("--args is not JSON: %s: %v, at byte %d", console.Cut(string(raw), 60), bad, bad.Offset)
		p.Code, p.Remedy = "arguments_not_json", "write a JSON object, quoted for the shell: --args '{\"name\": \"value\"}'; `portcullis plugin list` names the plugin whose `portcullis plugin inspect ID` shows the arguments"
		return p
	}
	lines := console.NewLines(s.proc.In)
	defer lines.Close()
	req := host.Request{Core: c.String("core"), Workspace: s.workspace(), Reason: c.Command.HelpName}
	show := &screen{words: s.out.Out(), notes: s.out.Err()}
	return s.opened(c, a, &asker{lines: lines, text: s.out.Err(), begin: show.line}, show, func(ctx context.Context, h *app.Running) error {
		ran, r, err := h.Call(ctx, req, args[0], raw, turn.Observer{})
		if _, err = finished(ran, err); err != nil {
			return s.why(ctx, h.Host, req.Core, err)
		}
		if r.ID == "" { // the turn ended before there was an effect
			return unfit(ran)
		}
		if err := s.advise(ctx, h.Host, req.Core, &r); err != nil {
			return err
		}
		show.room()
		answer := callAnswer{
			ID: r.ID, Tool: r.Tool, Plugin: r.Plugin, Status: r.Status, Started: r.Started, Reason: r.Reason, Sentence: s.out.Typed(r.Sentence),
			Remedy: s.out.Typed(r.Remedy), Approval: r.Approval, Duration: milliseconds(r.Duration), Result: view(r.Views).JSON(),
		}
		if c.Bool("trace") {
			answer.Stages = stagesOf(r.Stages)
		}
		err = s.out.Answer(answer, func(t *console.Text) {
			if c.Bool("trace") {
				sayStages(s.out.Err(), r.Stages)
			}
			sayCalled(t, s.out.Err(), r, view(r.Views))
		})
		if err == nil && r.Status != effect.Succeeded {
			err = no{}
		}
		return err
	})
}

// advise adds what to type where the gate leaves that to its caller.
func (s *shell) advise(ctx context.Context, h *host.Host, coreID string, r *effect.Result) error {
	switch {
	case r.Status == effect.Invalid && r.Remedy == "" && r.Plugin != "":
		plugin, _ := target(r.Plugin)
		r.Remedy = "`portcullis plugin inspect " + plugin + "` shows the arguments"
	case r.Reason == "guest_trap" && r.Remedy == "" && s.flags.logLevel != "debug":
		r.Remedy = "add --log-level debug, which shows the stack that the plugin left, if it left one"
	case r.Status == effect.NotFound && r.Plugin == "" && r.Remedy == "":
		var err error
		r.Remedy, err = findTool(ctx, h, coreID, r.Tool)
		return err
	}
	return nil
}

// unfit is the failure of a turn that never came to its effect.
func unfit(r turn.Result) *console.Problem {
	p := &console.Problem{
		Code: r.Reason(), Exit: console.ExitNo, Message: r.Sentence(),
		Remedy: "`portcullis doctor` checks cores and plugins; `portcullis turns show " + string(r.Turn()) + "` shows the turn",
	}
	if p.Message == "" {
		p.Message = "the turn ended " + string(r.Outcome()) + ": " + reasonWords(r.Reason())
	}
	return p
}

// sayCalled prints the result alone on stdout, so that it can be piped on; why there is none goes to stderr.
func sayCalled(out, notes *console.Text, r effect.Result, v redact.View) {
	if r.Status == effect.Succeeded {
		out.Prose("", v.String())
		if r.Sentence != "" { // it happened, and cannot be shown
			notes.Advice("", r.Sentence)
		}
		return
	}
	notes.Say("%s %s (%s)", statusStyle(r.Status), r.Tool, r.Reason)
	if r.Sentence != "" {
		notes.Advice("  ", r.Sentence)
	}
	if r.Remedy != "" && !strings.Contains(r.Sentence, r.Remedy) {
		notes.Say("  to change that: %s", console.Command(r.Remedy))
	}
}

func pickView(name string) (func(redact.Views) redact.View, error) {
	switch name {
	case "model":
		return func(v redact.Views) redact.View { return v.Model }, nil
	case "operator":
		return func(v redact.Views) redact.View { return v.Operator }, nil
	case "event":
		return func(v redact.Views) redact.View { return v.Event }, nil
	case "durable":
		return func(v redact.Views) redact.View { return v.Durable }, nil
	case "debug":
		return func(v redact.Views) redact.View { return v.Debug }, nil
	}
	p := usage("--view %q is not one of model, operator, event, durable, debug", console.Cut(name, 40))
	p.Remedy = "write --view=operator"
	return nil, p
}

// maxArguments bounds what is read as arguments; the gate has a lower bound of its own and says so.
const maxArguments = 16 << 20

// arguments reads --args. What it holds is judged by the gate.
func (s *shell) arguments(text string) ([]byte, error) {
	var from io.Reader
	switch file, isFile := strings.CutPrefix(text, "@"); {
	case text == "-":
		from = s.proc.In
	case isFile:
		f, err := os.Open(s.path(file))
		if err != nil {
			p := usage("the file of --args cannot be read: %v", err)
			p.Code, p.Remedy = "unreadable_file", "name a file with JSON in it: --args @FILE"
			return nil, p
		}
		defer f.Close()
		from = f
	default:
		return []byte(text), nil
	}
	data, err := io.ReadAll(io.LimitReader(from, maxArguments+1))
	if err != nil && from != s.proc.In {
		p := usage("the file of --args cannot be read: %v", err)
		p.Code, p.Remedy = "unreadable_file", "name a file with JSON in it: --args @FILE"
		return nil, p
	}
	if err != nil {
		return nil, fmt.Errorf("command: read the arguments: %w", err)
	}
	if len(data) > maxArguments {
		p := usage("the arguments have more than %d bytes", maxArguments)
		p.Code, p.Remedy = "arguments_too_large", "put large content into a file of the workspace and pass its name"
		return nil, p
	}
	return data, nil
}
