package command

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/cli/internal/quickstart"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/shellword"
)

func (s *shell) quickstart() *cli.Command {
	return &cli.Command{
		Name: "quickstart", Usage: "see one offline turn go through the whole gate, in a home that is thrown away",
		Description: "Builds the plugins it needs, runs one scripted turn with five effects, shows every step and view of each,\n" +
			"and looks for a planted secret everywhere. Needs no network, no key and no home.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "keep", Usage: "leave the home behind and say where it is"},
			sourceFlag(),
		},
		Action: func(c *cli.Context) error {
			if _, err := operands(c); err != nil {
				return err
			}
			return s.quickstartIn(c)
		},
	}
}

// quickstartAnswer is the document of a quickstart: the turn's, with the whole way of each effect.
type quickstartAnswer struct {
	runAnswer
	Effects []tracedEffect    `json:"effects"`
	Secret  quickstart.Search `json:"secret"`
	Home    string            `json:"home,omitempty"` // only when it was kept
}

// tracedEffect is an effect with its steps and views.
type tracedEffect struct {
	effectSummary
	Stages []stageAnswer     `json:"stages"`
	Views  map[string]string `json:"views"`
}

func (s *shell) quickstartIn(c *cli.Context) (err error) {
	began := time.Now()
	source, err := s.bundled(c.String("source"))
	if err != nil {
		return err
	}
	home, err := quickstart.New()
	if err != nil {
		return err
	}
	keep := c.Bool("keep")
	if !keep {
		defer closing(&err, home.Remove)
	}
	work, err := os.MkdirTemp("", "portcullis-plugins-")
	if err != nil {
		return err
	}
	defer closing(&err, func() error { return os.RemoveAll(work) })
	cache, err := app.UserCache(s.proc.Env)
	if err != nil {
		return err
	}
	made, err := s.makePlugins(c.Context, source, work, cache, quickstart.Plugins())
	if err != nil {
		return err
	}
	folders := make([]string, len(made))
	for i, m := range made {
		folders[i] = m.Dir
	}
	if err := home.Furnish(c.Context, folders); err != nil {
		return err
	}
	o, err := s.quickstartTurn(c.Context, home, cache)
	if err != nil {
		return err
	}
	answer := quickstartAnswer{runAnswer: answerOf(o.Turn), Secret: o.Search, Effects: []tracedEffect{}}
	if keep {
		answer.Home = home.Path
	}
	for _, e := range o.Effects {
		answer.Effects = append(answer.Effects, traced(e))
	}
	if err := s.out.Answer(answer, func(t *console.Text) { saySearched(t, o, answer.Home, time.Since(began)) }); err != nil {
		return err
	}
	if !o.Good() {
		return no{}
	}
	return nil
}

// quickstartTurn runs the turn, showing it as it happens unless a document was asked for.
func (s *shell) quickstartTurn(ctx context.Context, home *quickstart.Home, cache string) (quickstart.Outcome, error) {
	progress := console.NewProgress(s.proc.Err, time.Now)
	defer progress.Close()
	o := quickstart.Options{CacheDir: cache, LogLevel: s.flags.logLevel, LogJSON: s.flags.logJSON, LogTo: s.proc.Err, Progress: func(line string) { progress.Later("%s", line) }}
	if s.out.JSON() {
		return home.Run(ctx, o)
	}
	t, n := s.out.Out(), 0
	t.Say("%s %s", console.Bold("user:"), quickstart.Input)
	show := &screen{words: t, notes: t, idle: progress.Idle}
	watched := show.observer()
	o.Observe = turn.Observer{
		Text: watched.Text,
		Effect: func(r effect.Result) {
			show.line()
			n++
			sayTraced(t, n, r)
		},
	}
	o.Asked = func(q approval.Question) {
		show.line()
		t.Say("%s", console.Warn("a person must allow this; the quickstart answers \"allow once\" itself:"))
		sayQuestion(t, q)
	}
	out, err := home.Run(ctx, o)
	show.line()
	return out, err
}

func traced(r effect.Result) tracedEffect {
	s := r.Summary()
	return tracedEffect{
		effectSummary{s.ID, s.Tool, s.Status, s.Started, s.Reason, milliseconds(s.Duration)},
		stagesOf(r.Stages),
		map[string]string{
			"model": r.Views.Model.String(), "operator": r.Views.Operator.String(), "event": r.Views.Event.String(),
			"durable": r.Views.Durable.String(), "debug": r.Views.Debug.String(),
		},
	}
}

// sayTraced shows one effect: how it ended, its steps, and what each audience sees.
func sayTraced(t *console.Text, n int, r effect.Result) {
	t.Say("%s %s  %s in %s", console.Bold("effect "+string(rune('0'+n))+":"), console.Bold(r.Tool), statusStyle(r.Status), took(r.Duration))
	sayStages(t, r.Stages)
	if r.Remedy != "" && !strings.Contains(r.Sentence, r.Remedy) {
		t.Say("  to change that: %s", console.Command(r.Remedy))
	}
	v := r.Views
	views := []struct{ name, text string }{
		{"model", v.Model.String()}, {"operator", v.Operator.String()}, {"event", v.Event.String()}, {"durable", v.Durable.String()}, {"debug", v.Debug.String()},
	}
	differ := false
	for _, view := range views[1:] {
		differ = differ || view.text != views[0].text
	}
	if !differ {
		t.Say("  all five audiences see %s", console.Cut(views[0].text, 220))
		return
	}
	for _, view := range views {
		t.Say("  %-8s sees %s", view.name, console.Cut(view.text, 220))
	}
}

func saySearched(t *console.Text, o quickstart.Outcome, kept string, all time.Duration) {
	if o.Turn.Outcome() == turn.Completed {
		t.Say("%s turn %s in %s", console.Good("completed:"), o.Turn.Turn(), took(o.Turn.Duration()))
	} else {
		t.Say("%s %s", console.Bad("turn "+string(o.Turn.Outcome())+":"), o.Turn.Sentence())
	}
	if len(o.Search.Found) == 0 {
		t.Say("%s the planted secret was looked for in %d places (%d bytes), the bytes of the database among them", console.Good("not found:"), o.Search.Places, o.Search.Bytes)
	}
	for _, place := range o.Search.Found {
		t.Say("%s the planted secret is in %s", console.Bad("found:"), place)
	}
	if kept != "" {
		t.Say("the home is kept in %s; look around: `portcullis doctor --home %s`", kept, shellword.Quote(kept))
	}
	t.Say("all in %s; next: `portcullis init` makes a home of your own", took(all))
}
