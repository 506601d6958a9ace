package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// turnFlags are those of commands that run turns.
func turnFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "core", Usage: "`CORE` whose agent it is", DefaultText: "default_core of config.yaml"},
		&cli.StringFlag{Name: "session", Usage: "go on in this `SESSION`"},
		&cli.BoolFlag{Name: "fresh", Usage: "begin a new session; so does leaving --session out"},
		&cli.StringFlag{Name: "provider", Usage: "`PROVIDER` of config.yaml, instead of the core's"},
		&cli.StringFlag{Name: "model", Usage: "`NAME` of a model, instead of the core's"},
		&cli.StringFlag{Name: "script", Usage: "let the scripted model answer from `FILE`"},
		approveFlag(),
	}
}

// turnRequest reads turnFlags into a request without input.
func (s *shell) turnRequest(c *cli.Context) (host.Request, error) {
	req := host.Request{
		Core: c.String("core"), Workspace: s.workspace(), Reason: c.Command.HelpName,
		Model: turn.ModelChoice{Provider: c.String("provider"), Name: c.String("model")},
	}
	if script := c.String("script"); script != "" {
		req.Model.Script = s.path(script)
		if info, err := os.Stat(req.Model.Script); err != nil || !info.Mode().IsRegular() {
			p := usage("there is no script file %s", req.Model.Script)
			p.Code, p.Remedy = "script_missing", "name the file with the model's answers: --script FILE"
			return req, p
		}
	}
	if req.Model.Script != "" && (req.Model.Provider != "" || req.Model.Name != "") {
		return req, usage("--script goes with neither --provider nor --model")
	}
	session, err := selector(c)
	req.Session = session
	return req, err
}

// selector reads --session and --fresh.
func selector(c *cli.Context) (turn.Selector, error) {
	switch text := c.String("session"); {
	case text != "" && c.Bool("fresh"):
		return turn.Selector{}, usage("--session and --fresh exclude each other")
	case text != "":
		session, err := id.ParseSession(text)
		return turn.Selector{Kind: turn.Resume, Session: session}, err
	}
	return turn.Selector{Kind: turn.Fresh}, nil
}

// workspace is --workspace as an absolute path, or "" for the core's own.
func (s *shell) workspace() string {
	if s.flags.workspace == "" {
		return ""
	}
	return filepath.Clean(s.path(s.flags.workspace))
}

// opened runs do with the home's host open. prompter is used when a asks; show, which may be nil, makes room for what
// the host is doing meanwhile; change makes the host do more than run turns.
func (s *shell) opened(c *cli.Context, a approving, prompter approval.Prompter, show *screen, do func(ctx context.Context, h *app.Running) error, change ...func(*app.HostOptions)) (err error) {
	home, err := s.home()
	if err != nil {
		return err
	}
	progress := console.NewProgress(s.proc.Err, time.Now)
	defer progress.Close()
	if show != nil {
		show.idle = progress.Idle
	}
	o := app.HostOptions{
		Command: c.Command.Name, CacheDir: home.Cache(s.proc.Env), Wait: a.wait, LogLevel: s.flags.logLevel, LogJSON: s.flags.logJSON, LogTo: console.Escaping(s.proc.Err),
		Progress: func(line string) { progress.Later("%s", line) },
	}
	if a.ask {
		o.Prompter = prompter
	}
	if a.wait > 0 {
		o.Courier = notice{s.out.Err(), show}
	}
	for _, more := range change {
		more(&o)
	}
	h, err := home.OpenHost(c.Context, o)
	if err != nil {
		return err
	}
	defer closing(&err, h.Close)
	defer func() { s.hides = h.Hidden(context.WithoutCancel(c.Context)) }()
	return do(c.Context, h)
}

// finished tells a turn's own ending from a failure of ours: a turn that was cancelled has a result and an error.
func finished(r turn.Result, err error) (turn.Result, error) {
	if r.Turn() != "" && (errors.Is(err, console.ErrInterrupted) || errors.Is(err, context.Canceled)) {
		return r, nil
	}
	return r, err
}
