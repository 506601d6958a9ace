package turn

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Bounds of a turn that no core can widen.
const (
	MaxSteps       = 90
	DefaultTimeout = 10 * time.Minute
	MaxTimeout     = time.Hour
	// grace is what cleanup and the terminal write may take after the turn's time is over; the claim covers it.
	grace = 30 * time.Second
	// cleanup is what of grace a turn that nobody works for has for its cleanup, and a child that much less for each generation.
	cleanup    = 24 * time.Second
	generation = 4 * time.Second
)

// Plan is one pinned core revision, made ready to run.
type Plan struct {
	Core        binding.Core
	System      string
	Model       provider.Model // nil for a Direct request
	MaxOutput   int            // bound on one answer in tokens; 0: the model's
	Summaries   bool           // the model may be asked to summarise a long history; else old messages are left out
	Temperature *float64
	Setup       effect.Setup
	MaxSteps    int           // 1..MaxSteps; 0: MaxSteps
	Timeout     time.Duration // 0: DefaultTimeout
	Workspace   string
}

func (p Plan) modelName() string {
	if p.Model == nil {
		return "none"
	}
	return p.Model.Name()
}

// Planner pins a core. An error that is a [*RejectedError] passes through; any other one is a core that cannot be used.
type Planner interface {
	Plan(ctx context.Context, req Request) (Plan, error)
}

// Authority issues the scope a turn runs under.
type Authority interface {
	Session(ctx context.Context, actor principal.Facts, s id.Session) (principal.Scope, error)
}

// Effects is the gate.
type Effects interface {
	Prepare(ctx context.Context, turn binding.Turn, setup effect.Setup) (*effect.Catalog, error)
	Execute(ctx context.Context, req effect.Request, turn binding.Turn) effect.Result
	// Unknown records a call of a tool that the catalog does not have.
	Unknown(ctx context.Context, req effect.Request, name string, turn binding.Turn) effect.Result
}

// Config is what an Execution works with. All fields but Left and Notices are required.
type Config struct {
	Journal   Journal
	Planner   Planner
	Authority Authority
	Effects   Effects
	Context   *prompt.Manager
	IDs       *id.Source
	Epoch     id.Epoch
	Left      func(id.Session)     // told when a conversation leaves a session for another one; may be nil
	Owed      func(channel string) // told when a turn's end has queued a delivery over a channel instance; may be nil
	Notices   Notices              // of background tasks; nil: there are none
	Clock     func() time.Time
}
