package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/credential"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/net"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Store is the sum of the engines' ports. store/sqlite and store/memory have one each.
type Store interface {
	turn.Journal
	prompt.Journal
	turn.History
	effect.Journal
	effect.Grants
	effect.Reconciliations
	effect.Resolutions
	approval.Journal
	outbox.Queue
	outbox.Records
	task.Queue
	task.Records
	turn.Notices
	authority.Bindings
	authority.Audit
	sandbox.KV
}

// Config is what a Host works with. Home and Store are required; the caller owns the Store and closes it after the
// Host.
type Config struct {
	Home     string // absolute; exists
	Store    Store
	CacheDir string                    // compiled plugins; empty: "cache" below the home
	Compiler sandbox.Compiler          // compiles plugins in a process of its own; zero: in this one, see [sandbox.SelfCompiler]
	Keeper   process.Keeper            // keeps programs, see [process.SelfKeeper]; zero: on Linux none is run
	Clock    func() time.Time          // nil: time.Now
	Rand     io.Reader                 // nil: crypto/rand
	Prompter approval.Prompter         // nil: nobody can be asked in this process
	Courier  approval.Courier          // with no Prompter: brings questions to where a person answers them by id
	Wait     time.Duration             // with no Prompter: how long a question waits for another process to decide
	Models   map[string]provider.Model // models by provider name, over the configured ones; for embedding and tests
	Progress func(line string)         // long work, such as compiling a plugin; may be nil
	// Work says that background tasks run here. Without it they are queued for a host that works.
	Work bool
	// WorkOn says that this one task runs here and every other is left queued, whatever Work says. Not with Schedules.
	WorkOn id.Task
	// Schedules says that what the cores' schedules are due is queued and run here; it implies Work.
	Schedules bool
	Senders   []outbox.Sender // bring replies to conversations, one for each channel instance; none: they stay queued
	Log       Logger          // nil: none; what reaches it is redacted
}

// Host is one running host. It is safe for concurrent use.
type Host struct {
	cfg      Config
	settings core.HostConfig
	epoch    id.Epoch
	ids      *id.Source
	resolver *authority.Resolver
	gate     *approval.Gate
	binder   *credential.Binder
	effects  *effect.Runtime
	turns    *turn.Execution
	plugins  *plugin.Folder
	network  *net.Gate
	secrets  secret.Reader
	engine   func() (*sandbox.Engine, error)

	programs  *process.Engine
	digests   *process.Digests
	artifacts *process.Artifacts

	outbox     *outbox.Worker // nil without senders; set before Open returns
	stopOutbox func()         // ends the delivery worker and waits for it

	tasks     *task.Worker // nil: none runs here
	endTasks  func()       // tells the worker and the scheduler to end
	stopTasks func()       // waits for them
	fires     sync.Map     // of id.Turn to the *waits of the run of a schedule that it is, or that it works for
	unread    sync.Map     // faults of cores that the log has told

	mu     sync.Mutex // guards the caches below; not held while anything is compiled or opened
	loaded map[string]*loading
	models map[string]provider.Model
	opened bool // whether engine was ever made
	closed bool

	revisions map[string]string // of each core, as its last turn found it; guarded by mu

	veil   sync.Mutex // guards what follows
	veiled redact.Set // what turns hid so far
	knows  bool       // whether veiled was ever filled
}

// Open makes a Host over cfg. Faults in config.yaml are [core.LoadErrors]. Turns that an earlier host left running are
// ended before Open returns, and nothing of them is run again: tools that can say what became of their calls are asked,
// within [ReconcileTime]; deliveries that it held are queued again or, when they may
// have left, unknown. With Senders, replies are delivered until Close.
func Open(ctx context.Context, cfg Config) (*Host, error) {
	if !filepath.IsAbs(cfg.Home) || cfg.Store == nil {
		return nil, errors.New("host: Home must be an absolute folder and Store be set")
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.CacheDir == "" {
		cfg.CacheDir = filepath.Join(cfg.Home, "cache")
	}
	if cfg.Log == nil {
		cfg.Log = quiet{}
	}
	settings, err := core.LoadHost(ctx, cfg.Home)
	if err != nil {
		return nil, err
	}
	h := &Host{
		cfg: cfg, settings: settings, ids: id.NewSource(cfg.Clock, cfg.Rand), plugins: plugin.At(cfg.Home),
		loaded: map[string]*loading{}, models: map[string]provider.Model{}, revisions: map[string]string{},
		secrets: secret.Reader{Home: cfg.Home, Lookup: os.LookupEnv, Vault: secret.Open(cfg.Home, settings.Identity, cfg.Clock), Clock: cfg.Clock},
	}
	h.cfg.Log = hidingLog{cfg.Log, h.Hidden}
	h.epoch = h.ids.Epoch()
	h.openPrograms()
	if err := h.join(); err != nil {
		return nil, err
	}
	ended, err := cfg.Store.Recover(ctx, h.epoch, cfg.Clock())
	if err != nil {
		return nil, fmt.Errorf("host: recover turns of an earlier host: %w", err)
	}
	for _, r := range ended {
		h.cfg.Log.Warn("ended a turn that an earlier host left running", "turn", r.Turn, "outcome", r.Outcome, "effects", r.Effects)
	}
	h.reconcileAfter(ctx, ended)
	if err := h.openOutbox(ctx); err != nil {
		return nil, err
	}
	if err := h.openTasks(ctx); err != nil {
		h.stopOutbox()
		return nil, err
	}
	return h, nil
}

// join makes the engines and hands each its ports.
func (h *Host) join() error {
	allow, err := net.ParseAllowances(h.settings.Private...)
	if err != nil {
		return fmt.Errorf("host: config.yaml: network.allow_private: %w", err)
	}
	h.network = net.New(net.Config{Private: allow, Audit: h.auditEgress})
	h.resolver = authority.NewResolver(h.cfg.Store, h.cfg.Store, h.cfg.Clock, h.ids)
	h.gate = approval.NewGate(approval.Config{
		Journal: h.cfg.Store, Prompter: h.cfg.Prompter, Courier: h.cfg.Courier, Wait: h.cfg.Wait, Waits: h.waiting, Clock: h.cfg.Clock, IDs: h.ids,
	})
	h.binder = credential.NewBinder(h.secrets, h.cfg.Store, h.ids, h.cfg.Clock)
	h.effects = effect.NewRuntime(effect.Config{
		Journal: h.cfg.Store, Grants: h.cfg.Store, Approver: h.gate, IDs: h.ids, Clock: h.cfg.Clock,
		Secrets: h.binder, Log: h.pluginLog, Reconciliations: h.cfg.Store, Audit: h.cfg.Store,
	})
	h.turns = turn.New(turn.Config{
		Journal: h.cfg.Store, Planner: planner{h}, Authority: h.resolver, Effects: h.effects,
		Context: prompt.New(prompt.Config{Journal: h.cfg.Store, IDs: h.ids, Epoch: h.epoch, Clock: h.cfg.Clock}),
		IDs:     h.ids, Epoch: h.epoch, Clock: h.cfg.Clock, Left: h.gate.EndSession, Notices: h.cfg.Store, Owed: h.owed,
	})
	h.engine = sync.OnceValues(h.openEngine)
	return nil
}

func (h *Host) openEngine() (*sandbox.Engine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, sandbox.ErrClosed
	}
	e, err := sandbox.Open(context.Background(), sandbox.Config{
		CacheDir: h.cfg.CacheDir, Compiler: h.cfg.Compiler, Clock: h.cfg.Clock, Rand: h.cfg.Rand,
		MaxMemoryBytes: h.settings.Limits.PluginMemory, MaxCalls: h.settings.Limits.ConcurrentEffects,
		PluginCalls:      min(h.settings.Limits.EffectsPerPlugin, h.settings.Limits.ConcurrentEffects),
		TotalMemoryBytes: h.settings.Limits.TotalMemory,
		LoadedBytes:      h.settings.Limits.LoadedPlugins, CacheBytes: h.settings.Limits.PluginCache,
		CompileTimeout: h.settings.Limits.CompileTime, CompileMemory: h.settings.Limits.CompileMemory,
	})
	h.opened = err == nil
	return e, err
}

// closeTime bounds how long Close waits for the sandbox to come free.
const closeTime = 10 * time.Second

// Close ends operator authority, denies what is being asked and forgets what was allowed for a session, then cancels
// running tasks and turns and waits for their ends, then lets the deliveries under way end, then ends the programs that
// still run and frees the sandbox, then ends all authority. Operator authority is over before anything that can fail, and
// all of it when Close returns, whatever failed. It may be called again.
func (h *Host) Close() error {
	h.endTasks() // before authority ends: a task that is just beginning must know why
	return h.close(func() { h.gate.Close(); h.stopTasks(); h.turns.Close(); h.stopOutbox() }, h.network.Close, h.closeEngines)
}

// close runs the steps of a shutdown, each of which may panic or not come back whole.
func (h *Host) close(turns, network func(), engine func() error) error {
	defer h.resolver.End()
	h.resolver.Close()
	turns()
	network()
	return engine()
}

// closeEngines ends what still runs, each engine whatever becomes of the other.
func (h *Host) closeEngines() error { return errors.Join(h.programs.Close(), h.closeSandbox()) }

func (h *Host) closeSandbox() error {
	h.mu.Lock()
	opened := h.opened && !h.closed
	h.closed = true
	h.mu.Unlock()
	if !opened {
		return nil
	}
	engine, err := h.engine()
	if err != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), closeTime)
	defer stop()
	if err := engine.Close(ctx); err != nil {
		return fmt.Errorf("host: close the sandbox: %w", err)
	}
	return nil
}

func (h *Host) progress(format string, args ...any) {
	if h.cfg.Progress != nil {
		h.cfg.Progress(fmt.Sprintf(format, args...))
	}
}
