package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/host/child"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// waiting notes what only a person can end.
func (e *examination) waiting(w app.Waiting) {
	note := func(code string, n int, one, many, remedy string) {
		if n == 0 {
			return
		}
		message := "1 " + one
		if n > 1 {
			message = strconv.Itoa(n) + " " + many
		}
		if n == app.MaxWaiting {
			message += ", or more"
		}
		e.add(code, Warn, message, remedy)
	}
	note("effects.open", w.Effects, "effect may or may not have happened, and nobody has settled it", "effects may or may not have happened, and nobody has settled them", "portcullis effects list --open")
	note("outbox.unknown", w.Deliveries, "reply may or may not have arrived", "replies may or may not have arrived", "portcullis outbox list --state=unknown")
	note("approvals.open", w.Questions, "call waits for an answer", "calls wait for an answer", "portcullis approvals list")
}

// programs notes a core that may run programs and lists none: each call of the tool is denied.
func (e *examination) programs(cores []core.Core) {
	for _, c := range cores {
		name, err := capability.Parse("process.exec")
		if err == nil && c.Capabilities().Allows(name) && len(c.Process().Programs) == 0 {
			e.add("core.process", Warn, fmt.Sprintf("core %s may run programs (process.exec) and lists none: every call is denied", c.ID()),
				"name them in "+e.home.Join(core.FolderName, c.ID(), core.AgentFile)+": process: {programs: [git, go]}")
		}
	}
}

// workspaces notes a core whose folder for files cannot be used, and one outside the home that is not there: the next turn
// would make it, and a misspelt path would be an agent without its files.
func (e *examination) workspaces(cores []core.Core) {
	for _, c := range cores {
		dir := c.Workspace()
		if dir == "" {
			continue
		}
		edit := "edit workspace in " + e.home.Join(core.FolderName, c.ID(), core.AgentFile)
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if !strings.HasPrefix(dir, e.home.Path+string(filepath.Separator)) {
				e.add("core.workspace", Warn, fmt.Sprintf("the workspace of core %s, %s, is not there: the next turn makes it, empty", c.ID(), dir), edit+", or leave it")
			}
		case err != nil:
			e.add("core.workspace", Error, fmt.Sprintf("the workspace of core %s cannot be used: %v", c.ID(), err), edit)
		case !info.IsDir():
			e.add("core.workspace", Error, fmt.Sprintf("the workspace of core %s, %s, is not a folder: no turn of it begins", c.ID(), dir), edit)
		}
	}
}

// children notes a core that may have another one do work, which is not there.
func (e *examination) children(cores []core.Core) {
	for _, c := range cores {
		for _, grant := range c.Capabilities().Strings() {
			id, is := strings.CutPrefix(grant, child.Tool+":")
			if is && !slices.ContainsFunc(cores, func(other core.Core) bool { return other.ID() == id }) {
				e.add("core.child", Warn, fmt.Sprintf("core %s may have core %s do work (%s), and there is no such core that can be used", c.ID(), id, grant),
					"make "+e.home.Join(core.FolderName, id)+", or take "+grant+" out of "+e.home.Join(core.FolderName, c.ID(), core.AgentFile))
			}
		}
	}
}

// room holds what the tools of a core take of every request against what its model takes at once. Tools that fill half of
// it leave too little for a conversation, and more than that for none.
func (e *examination) room(settings core.HostConfig, cores []core.Core, plugins []plugin.Installed) {
	for _, c := range cores {
		_, model, err := settings.ModelFor(c)
		if err != nil || model.Provider == core.Scripted {
			continue // said elsewhere; a script reads no tools
		}
		var defs []provider.ToolDefinition
		for _, p := range plugins {
			if !slices.ContainsFunc(c.Plugins(), func(pin core.Pin) bool { return pin.ID == p.ID && pin.Version == p.Version }) {
				continue
			}
			for _, t := range p.Manifest.Tools {
				defs = append(defs, provider.ToolDefinition{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
			}
		}
		limits := provider.LimitsFor(model.Name, model.ContextWindow, model.MaxOutputTokens)
		if takes := prompt.ToolTokens(limits.Tokenizer, defs); takes > limits.ContextWindow/2 {
			e.add("core.window", Warn, fmt.Sprintf("the %d tools of core %s take about %d tokens of each request, and model %s takes %d in all: little is left for a conversation, or nothing",
				len(defs), c.ID(), takes, model.Name, limits.ContextWindow),
				"set context_window of the model in config.yaml if it takes more, or leave plugins out of "+e.home.Join(core.FolderName, c.ID(), core.AgentFile))
		}
	}
}

// places notes secrets that are kept as a place with nothing in it now.
func (e *examination) places(ctx context.Context, settings core.HostConfig) {
	reader := e.reader(settings)
	kept, err := reader.Vault.List(ctx)
	if err != nil {
		return // said elsewhere
	}
	for _, one := range kept {
		if one.From.Zero() {
			continue
		}
		if _, err := reader.Read(ctx, one.From); err != nil {
			e.add("secrets.place", Warn, fmt.Sprintf("the secret %s is kept as a place, and %v", one.Name, err), "portcullis secrets set "+string(one.Name))
		}
	}
}
