package quickstart

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Input is what the user of the quickstart says.
const Input = "What is 0.1 + 0.2? Look at deploy.env, keep the sum in summary.txt, then clean up."

// Options says how to run.
type Options struct {
	CacheDir string // compiled plugins, shared by quickstarts
	LogLevel string
	LogJSON  bool
	LogTo    io.Writer
	Progress func(line string)
	Asked    func(approval.Question) // told of the question before it is answered with "allow once"; may be nil
	Observe  turn.Observer           // the caller's screen
}

// Outcome is a finished quickstart.
type Outcome struct {
	Turn    turn.Result
	Effects []effect.Result
	Search  Search
}

// Good reports whether everything went as it must.
func (o Outcome) Good() bool { return o.Turn.Outcome() == turn.Completed && len(o.Search.Found) == 0 }

// Run runs the turn and looks for the secret.
func (h *Home) Run(ctx context.Context, o Options) (Outcome, error) {
	var log bytes.Buffer
	answers := &answering{told: o.Asked}
	running, err := h.OpenHost(ctx, app.HostOptions{
		Command: "quickstart", CacheDir: o.CacheDir, Prompter: answers, Progress: o.Progress,
		LogLevel: o.LogLevel, LogJSON: o.LogJSON, LogTo: io.MultiWriter(console.Escaping(o.LogTo), &log),
	})
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	screen := o.Observe
	seen := o.Observe.Effect
	screen.Effect = func(r effect.Result) {
		out.Effects = append(out.Effects, r)
		if seen != nil {
			seen(r)
		}
	}
	out.Turn, err = running.Run(ctx, host.Request{
		Core: CoreID, Input: Input, Reason: "quickstart",
		Known: []redact.Secret{redact.NewSecret("API_TOKEN", h.secret)},
	}, screen)
	// The database is looked into only when it is closed: then nothing of it is in memory.
	if err := errors.Join(err, running.Close()); err != nil {
		return out, err
	}
	out.Search, err = h.search(out, answers.asked, log.Bytes())
	return out, err
}

// answering allows every question once and keeps it.
type answering struct {
	told  func(approval.Question)
	asked []approval.Question
}

// Prompt answers for the person who is not there.
func (a *answering) Prompt(_ context.Context, q approval.Question) (approval.Answer, error) {
	a.asked = append(a.asked, q)
	if a.told != nil {
		a.told(q)
	}
	return approval.Answer{State: approval.Allowed, Reach: approval.Once, By: authority.OperatorID, Reason: "answered by the quickstart"}, nil
}
