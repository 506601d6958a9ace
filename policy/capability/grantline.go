package capability

import "github.com/b3abf3ee/portcullis/policy/shellword"

// GrantLine is the command that grants a capability to a plugin, as a person types it. It also lists it in the agent.yaml
// of core, when that is not empty. use is a [Name], its [Name.Example], or a [Grant].
func GrantLine(plugin, use, core string) string {
	line := "portcullis plugin grant " + plugin + " " + shellword.Quote(use)
	if core != "" {
		line += " --core " + core
	}
	return line
}
