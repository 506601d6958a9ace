package effect

import (
	"context"
	"sync"
	"time"

	gate "github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/document"
)

// Approver decides what policy says a person must decide.
type Approver interface {
	Decide(ctx context.Context, req gate.Request) gate.Decision
}

// Config is what a Runtime works with. Secrets may be nil: then a tool that needs one is denied. Log takes what plugins
// write to the operator's log, after the effect is on record, from the calling goroutine; nil drops it. Reconciliations and
// Audit are for [Runtime.Reconcile] alone.
type Config struct {
	Journal  Journal
	Grants   Grants
	Approver Approver
	Secrets  Secrets
	IDs      *id.Source
	Clock    func() time.Time
	Log      func(LogLine)

	Reconciliations Reconciliations
	Audit           Audit
}

// Runtime is the gate. It is safe for concurrent use.
type Runtime struct {
	journal  Journal
	grants   Grants
	approver Approver
	secrets  Secrets
	ids      *id.Source
	clock    func() time.Time
	log      func(LogLine)

	reconciliations Reconciliations
	audit           Audit
	schemas         schemas
	readers         sync.Pool // of *document.Reader
}

// NewRuntime returns a gate over cfg.
func NewRuntime(cfg Config) *Runtime {
	return &Runtime{
		journal: cfg.Journal, grants: cfg.Grants, approver: cfg.Approver, secrets: cfg.Secrets, ids: cfg.IDs, clock: cfg.Clock, log: cfg.Log,
		reconciliations: cfg.Reconciliations, audit: cfg.Audit,
	}
}

// reader gives one effect the memory of earlier ones to read into.
func (r *Runtime) reader() *document.Reader {
	if kept, ok := r.readers.Get().(*document.Reader); ok {
		return kept
	}
	return &document.Reader{}
}

// done takes it back. Nothing that it read may be in use.
func (r *Runtime) done(one *document.Reader) {
	one.Reset()
	r.readers.Put(one)
}
