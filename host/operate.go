package host

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// maxOperatorReason is the runes that an operator's reason may have.
const maxOperatorReason = 200

// Operator issues an operator scope for a reason of 1 to 200 characters, which the audit record keeps. It ends with
// Close.
func (h *Host) Operator(ctx context.Context, reason string) (principal.Scope, error) {
	return h.resolver.Operator(ctx, h.hide(ctx, reason, maxOperatorReason))
}

// History reads what happened.
func (h *Host) History() turn.History { return h.cfg.Store }

// Tasks reads background tasks and cancels them.
func (h *Host) Tasks() task.Records { return h.cfg.Store }

// Approvals reads the durable questions; deciding goes through [Host.Decide].
func (h *Host) Approvals() approval.Journal { return h.cfg.Store }

// Decide records a person's decision on a pending question.
func (h *Host) Decide(ctx context.Context, by principal.Scope, a id.Approval, allow bool, reach approval.Reach, reason string) (approval.Question, approval.Recording, error) {
	return h.gate.Record(ctx, by, a, allow, reach, h.hide(ctx, reason, utf8.RuneCountInString(reason)))
}

// RevokeApproval takes an allowance for the session back, by the id of the question that gave it.
func (h *Host) RevokeApproval(ctx context.Context, by principal.Scope, a id.Approval, reason string) (approval.Question, approval.Recording, error) {
	return h.gate.Revoke(ctx, by, a, h.hide(ctx, reason, utf8.RuneCountInString(reason)))
}

// EndSession ends a session for good, for a reason that the audit keeps: what was allowed for it is revoked and what it asks
// denied, nothing starts in it any more, and its running turn is asked to end. See [turn.Journal].
func (h *Host) EndSession(ctx context.Context, by principal.Scope, s id.Session, reason string) (turn.Ending, error) {
	how, err := h.cfg.Store.EndSession(ctx, by, s, turn.EndRecord(h.ids.Event(), h.cfg.Clock(), by, s, h.hide(ctx, reason, maxOperatorReason)))
	if err != nil {
		return "", fmt.Errorf("host: end session: %w", err)
	}
	if how == turn.Ended {
		h.gate.EndSession(s)
	}
	return how, nil
}

// Plugins is the folder of installed plugins. Whoever installs or removes calls [Host.NoteInstalled] or
// [Host.NoteRemoved] for the audit record.
func (h *Host) Plugins() *plugin.Folder { return h.plugins }

// Settings is config.yaml as it was read.
func (h *Host) Settings() core.HostConfig { return h.settings }

// PluginGrants is what the operator lets a plugin do.
func (h *Host) PluginGrants(ctx context.Context, id string) (capability.Snapshot, error) {
	return h.cfg.Store.PluginGrants(ctx, id)
}

// Grant lets a plugin do one more thing; false when it could already. text is a grant such as "fs.read" or
// "net.fetch:example.org"; a wrong one is a [*capability.SyntaxError].
func (h *Host) Grant(ctx context.Context, by principal.Scope, plugin, text string) (bool, error) {
	g, err := capability.ParseGrant(text)
	if err != nil {
		return false, err
	}
	return h.cfg.Store.GrantPlugin(ctx, by, plugin, g, h.pluginEvent(by, event.PluginGranted, plugin, event.F("grant", g.String())))
}

// Revoke takes one grant away; false when it was not there. No effect of any process starts by it any more; one that runs
// goes on.
func (h *Host) Revoke(ctx context.Context, by principal.Scope, plugin, text string) (bool, error) {
	g, err := capability.ParseGrant(text)
	if err != nil {
		return false, err
	}
	return h.cfg.Store.RevokePlugin(ctx, by, plugin, g, h.pluginEvent(by, event.PluginRevoked, plugin, event.F("grant", g.String())))
}

// NoteInstalled records an installation by the operator.
func (h *Host) NoteInstalled(ctx context.Context, by principal.Scope, in plugin.Installed) error {
	return h.note(ctx, by, h.pluginEvent(by, event.PluginInstalled, in.ID, event.F("version", in.Version), event.F("digest", in.Digest)))
}

// NoteRemoved records a removal by the operator.
func (h *Host) NoteRemoved(ctx context.Context, by principal.Scope, plugin, version string) error {
	return h.note(ctx, by, h.pluginEvent(by, event.PluginRemoved, plugin, event.F("version", version)))
}

// note appends a record of what the operator did outside the store.
func (h *Host) note(ctx context.Context, by principal.Scope, r event.Record) error {
	if err := h.resolver.Accept(by); err != nil {
		return err
	}
	return h.cfg.Store.Record(ctx, r)
}

func (h *Host) pluginEvent(by principal.Scope, kind event.Kind, plugin string, more ...event.Field) event.Record {
	return event.Record{
		ID: h.ids.Event(), At: h.cfg.Clock(), Kind: kind, Principal: by.PrincipalID(),
		Fields: append([]event.Field{event.F("plugin", plugin)}, more...),
	}
}

// CheckCore loads a core and holds it against what is installed, as the start of a turn does, up to the frozen catalog:
// two plugins that offer one tool name are a [*effect.ClashError]. The errors are those of a rejected or failed turn.
func (h *Host) CheckCore(ctx context.Context, id string) (core.Core, error) {
	ready, err := h.prepare(ctx, id)
	if err != nil {
		return core.Core{}, err
	}
	bound, err := h.supposed(ready.core, ready.core.Workspace(), principal.Operator)
	if err != nil {
		return core.Core{}, err
	}
	setup, _, err := h.setup(ctx, ready, redact.Set{}, factsOf(bound.Principal()), nil)
	if err != nil {
		return core.Core{}, err
	}
	catalog, err := h.effects.Prepare(ctx, bound, setup)
	if err != nil {
		return core.Core{}, err
	}
	catalog.Close()
	return ready.core, nil
}

// Describe asks a module what it is, in an empty sandbox, for the builder. It needs no home; compiled code is kept in
// cacheDir, or nowhere when that is empty; compiler is as in [Config].
func Describe(ctx context.Context, cacheDir string, compiler sandbox.Compiler, wasm []byte) ([]byte, error) {
	engine, err := sandbox.Open(ctx, sandbox.Config{CacheDir: cacheDir, Compiler: compiler})
	if err != nil {
		return nil, fmt.Errorf("host: open a sandbox to describe: %w", err)
	}
	defer func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer stop()
		_ = engine.Close(ctx) // nothing can be done about a guest that does not end; the process is about to
	}()
	return engine.Describe(ctx, wasm)
}
