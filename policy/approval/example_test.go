package approval_test

import (
	"fmt"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// The worked example of docs/policy.md: a core's file and the host's file, asked about one tool.
func ExampleDecide() {
	read, write := capability.Name{}, capability.Name{}
	for text, n := range map[string]*capability.Name{"fs.read": &read, "fs.write": &write} {
		if err := n.UnmarshalText([]byte(text)); err != nil {
			fmt.Println(err)
		}
	}
	tools := []approval.Entry{
		{Tool: "files.read", Capabilities: []capability.Name{read}, Risk: approval.Low, Mode: approval.Auto},
		{Tool: "files.edit", Capabilities: []capability.Name{read, write}, Risk: approval.Medium, Mode: approval.Prompt},
		{Tool: "calc.eval", Risk: approval.Low, Mode: approval.Auto},
	}
	at := func(file string, line int) approval.Position {
		return approval.Position{File: file, Line: line, Column: 5}
	}
	core, faults := approval.Compile(approval.Rules{
		File: "cores/assistant/agent.yaml",
		Capabilities: []approval.Rule{
			{Key: "fs.read", Mode: "auto", At: at("cores/assistant/agent.yaml", 21)},
			{Key: "fs.write", Mode: "deny", At: at("cores/assistant/agent.yaml", 22)},
		},
		Risks: []approval.Rule{{Key: "low", Mode: "auto", At: at("cores/assistant/agent.yaml", 24)}},
	}, approval.Known{Tools: tools})
	host, more := approval.Compile(approval.Rules{
		File:    "config.yaml",
		Default: approval.Rule{Mode: "auto", At: at("config.yaml", 12)},
	}, approval.Known{Tools: tools})
	fmt.Println(len(faults), len(more))
	for _, step := range approval.Decide(tools[1], core, host).Trace {
		fmt.Println(step)
	}
	// Output:
	// 0 0
	// tool: own mode of files.edit: prompt
	// cores/assistant/agent.yaml: tools: files.edit: no such rule
	// cores/assistant/agent.yaml:21:5: capabilities: fs.read: auto (a stricter capability counts)
	// cores/assistant/agent.yaml:22:5: capabilities: fs.write: deny (decides)
	// cores/assistant/agent.yaml: capabilities: tool.call:files.edit: no such rule
	// config.yaml: tools: files.edit: no such rule
	// config.yaml: capabilities: fs.read: no such rule
	// config.yaml: capabilities: fs.write: no such rule
	// config.yaml: capabilities: tool.call:files.edit: no such rule
	// config.yaml: risks: medium: no such rule
	// config.yaml:12:5: default: auto
}
