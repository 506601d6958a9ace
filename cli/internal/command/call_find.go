package command

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/child"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/exec"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/spelling"
)

// findTool says what to do about a tool that a core does not have: pin the installed plugin that has it, or type the
// name that was meant. It is "" when neither is known.
func findTool(ctx context.Context, h *host.Host, coreID, tool string) (string, error) {
	c, err := h.CheckCore(ctx, coreID)
	if err != nil {
		return "", err
	}
	switch at := path.Join(core.FolderName, c.ID(), core.AgentFile); tool {
	case exec.Tool:
		return "the host has it, for cores with the capability: add process.exec to capabilities in " + at, nil
	case exec.ShellTool:
		return "the host has it, for cores that switch it on: add process.exec to capabilities and shell: true below process in " + at, nil
	case turn.AskTool:
		return "the host has it, for turns of an agent: add tool.call:* or tool.call:" + tool + " to capabilities in " + at, nil
	case child.Tool:
		return "the host has it, for cores with the capability: add agents.spawn:CORE to capabilities in " + at + ", CORE being the core that may be started", nil
	case exec.StartTool:
		return "the host has it, for cores with both capabilities: add process.exec and task.control to capabilities in " + at, nil
	case task.ListTool, task.StatusTool, task.LogsTool, task.CancelTool:
		return "the host has it, for cores with the capability: add task.control to capabilities in " + at, nil
	}
	installed, err := h.Plugins().List(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range slices.Backward(installed) { // the newest version of a plugin first
		if e.Installed == nil {
			continue
		}
		if e.ID == tool {
			return tool + " is a plugin, and a call names one of its tools: " + strings.Join(toolNames(e.Installed.Manifest), ", "), nil
		}
		if pins(c, e.ID, e.Version) {
			for _, t := range e.Installed.Manifest.Tools {
				names = append(names, t.Name)
			}
			continue
		}
		if _, has := e.Installed.Manifest.Tool(tool); has {
			return "plugin " + e.ID + " " + e.Version + " has it, and core " + c.ID() + " does not pin that plugin: `portcullis plugin install DIR --core " +
				c.ID() + "`, DIR being the folder it was built in", nil
		}
	}
	if near := spelling.Nearest(tool, names); near != "" {
		return "did you mean " + near + "?", nil
	}
	return "", nil
}

func pins(c core.Core, id, version string) bool {
	return slices.ContainsFunc(c.Plugins(), func(p core.Pin) bool { return p.ID == id && p.Version == version })
}
