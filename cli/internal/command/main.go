package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Main runs one command line, args[0] being the program's name, and returns the exit code of the process. It reads
// and writes p only and may be called several times in one process. Cancelling ctx is an interrupt that cannot be
// followed by a second.
func Main(ctx context.Context, args []string, p console.Process) int {
	if process.IsKeeper(args) {
		return process.Keep()
	}
	if sandbox.IsCompileChild(args) {
		return sandbox.CompileChild(args, p.In, p.Err)
	}
	log.SetOutput(io.Discard) // Go's HTTP client tells it what a server sends unasked, which may be what it was sent
	s := &shell{proc: p, interrupts: console.Watch(p)}
	defer s.interrupts.Close()
	ctx, end := s.interrupts.Scope(ctx)
	defer end()

	app := s.tree()
	// Whether failures are a document must be known before the line is understood: it may be the line that fails.
	s.out = console.NewPrinter(p, asksForJSON(args), colours(p.Env))
	s.out.Type(console.Typing{Program: p.Typed})
	if unfinished, ok := completes(args); ok {
		for _, word := range s.suggest(ctx, complete(app, unfinished)) {
			s.out.Out().Say("%s", word)
		}
		return console.ExitDone
	}
	return s.finish(ctx, s.perform(ctx, app, args))
}

// perform is what the command returned. A panic is an error like any other: Go's own report of it would show on stderr
// whatever the value that caused it holds.
func (s *shell) perform(ctx context.Context, app *cli.App, args []string) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &console.Problem{
				Code: "host_fault", Message: fmt.Sprintf("the program broke an invariant of its own: %v", fault), Exit: console.ExitHost,
				Remedy: "please report this; `portcullis --log-level debug ...` shows where it broke",
			}
			if s.flags.logLevel == "debug" {
				s.out.Err().Prose("", s.hidden(ctx).Text(redact.ForOperator, string(debug.Stack())))
			}
		}
	}()
	ordered, err := order(app, args)
	if err != nil {
		return err
	}
	return app.RunContext(ctx, ordered)
}

// shell is one command line being run.
type shell struct {
	proc       console.Process
	out        *console.Printer
	interrupts *console.Interrupts
	flags      global
	hides      redact.Set // of the host that was open last
}

// global are the flags that every command has.
type global struct {
	home, workspace, logLevel string
	logJSON                   bool
}

// no is the error of a command that printed its answer, and the answer is no.
type no struct{}

// Error is never shown: the answer was printed.
func (no) Error() string { return "the answer is no" }

// finish turns what a command returned into an exit code, and shows it if that has not been done.
func (s *shell) finish(ctx context.Context, err error) int {
	if err == nil {
		return console.ExitDone
	}
	switch err.(type) { //nolint:errorlint // only a command itself returns these, never wrapped
	case no:
		return console.ExitNo
	case noHome:
		return console.ExitUsage
	}
	if errors.Is(err, syscall.EPIPE) { // who read us has seen enough
		return console.ExitUnread
	}
	p := s.redacted(ctx, s.placed(problemOf(ctx, err)))
	if s.out.Fail(p) != nil {
		return console.ExitHost // nobody reads us: the code is all that is left to say
	}
	return p.ExitCode()
}

// redacted is a failure as it may be shown: an error may quote what it failed on. Ctx may have ended.
func (s *shell) redacted(ctx context.Context, p *console.Problem) *console.Problem {
	set := s.hidden(context.WithoutCancel(ctx))
	shown := *p
	for _, text := range []*string{&shown.Message, &shown.Remedy, &shown.File} {
		*text = set.Text(redact.ForOperator, *text)
	}
	return &shown
}

// hidden is what the host hid that was open, or what the home keeps if none was.
func (s *shell) hidden(ctx context.Context) redact.Set {
	if s.hides.Len() > 0 {
		return s.hides
	}
	home, err := s.home()
	if err != nil {
		return redact.Set{}
	}
	return home.Hidden(ctx, s.proc.Env)
}

// placed makes the file of a failure absolute: packages below name files of the home as they stand below it.
func (s *shell) placed(p *console.Problem) *console.Problem {
	if home, err := s.home(); err == nil && p.File != "" && !filepath.IsAbs(p.File) {
		whole := *p
		whole.File = home.Join(filepath.FromSlash(p.File))
		return &whole
	}
	return p
}

// closing adds what goes wrong at the end to what a command returns, and leaves that alone when nothing does.
func closing(err *error, last func() error) {
	if also := last(); also != nil {
		*err = errors.Join(*err, also)
	}
}

func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// tree is the whole command line.
func (s *shell) tree() *cli.App {
	app := &cli.App{
		Name:            "portcullis",
		Usage:           "run AI-agent tools as WebAssembly plugins behind one gate",
		Description:     about,
		HideVersion:     true,
		HideHelpCommand: true, // order knows it
		Flags:           s.globalFlags(),
		Commands:        s.commands(),
		Writer:          s.proc.Out,
		ErrWriter:       io.Discard, // failures are shown by finish alone
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    onUsageError,
		Before:          s.readGlobals,
		Action:          s.bare,
	}
	for _, c := range app.Commands {
		prepare(c)
	}
	exemplify(app.Commands, "")
	return app
}

// prepare gives a command and those below it what urfave/cli does not inherit.
func prepare(c *cli.Command) {
	c.OnUsageError = onUsageError
	c.HideHelpCommand = true // "help" is an ordinary operand: `portcullis run help` asks the model for help
	for _, sub := range c.Subcommands {
		prepare(sub)
	}
}

func (s *shell) globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "home", Usage: "`DIR` with configuration, plugins and database", DefaultText: "$PORTCULLIS_HOME, else ~/.portcullis"},
		&cli.StringFlag{Name: "workspace", Usage: "`DIR` that file tools are confined to", DefaultText: "the core's own"},
		&cli.BoolFlag{Name: "json", Usage: "print one JSON document instead of text"},
		&cli.BoolFlag{Name: "no-color", Usage: "print no colours; so do $NO_COLOR and TERM=dumb"},
		&cli.StringFlag{Name: "log-format", Usage: "write the log as `FORMAT`: text or json", Value: "text"},
		&cli.StringFlag{Name: "log-level", Usage: "log to stderr from `LEVEL` on: debug, info, warn, error or off", Value: "warn"},
	}
}

// colours reports whether the environment lets a terminal have colours: one that calls itself dumb prints the codes.
func colours(env func(string) string) bool { return env("NO_COLOR") == "" && env("TERM") != "dumb" }

// logLevels are what --log-level takes.
func logLevels() []string { return []string{"debug", "info", "warn", "error", "off"} }

func (s *shell) readGlobals(c *cli.Context) error {
	if c.IsSet("home") && c.String("home") == "" {
		p := usage("--home is empty")
		p.Remedy = "name a folder with --home DIR, or leave it out"
		return p
	}
	s.flags = global{home: c.String("home"), workspace: c.String("workspace"), logLevel: c.String("log-level")}
	if levels := logLevels(); !slices.Contains(levels, s.flags.logLevel) {
		return usage("log level %q is not one of %s", s.flags.logLevel, strings.Join(levels, ", "))
	}
	switch format := c.String("log-format"); format {
	case "text", "json":
		s.flags.logJSON = format == "json"
	default:
		return usage("log format %q is not one of text, json", format)
	}
	s.out = console.NewPrinter(s.proc, c.Bool("json"), !c.Bool("no-color") && colours(s.proc.Env))
	s.out.Type(console.Typing{Program: s.proc.Typed, Home: s.flags.home})
	return nil
}

// bare is the program without a command.
func (s *shell) bare(c *cli.Context) error {
	if s.out.JSON() {
		return usage("--json needs a command")
	}
	return cli.ShowAppHelp(c)
}
