package core

import (
	"fmt"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/spelling"
)

// ModelFor joins what a core asks for with the provider's entry: a number or name the core leaves out is the
// entry's. For a scripted model the provider is the zero one. A provider that config.yaml does not have, or a model
// without a name on both sides, is a [LoadErrors] at the core's model.provider.
func (c HostConfig) ModelFor(core Core) (Provider, Model, error) {
	m := core.Model()
	if m.Provider == Scripted {
		return Provider{}, m, nil
	}
	at := core.get().modelAt
	p, ok := c.Provider(m.Provider)
	if !ok {
		names := []string{Scripted}
		for _, p := range c.Providers {
			names = append(names, p.Name)
		}
		return Provider{}, Model{}, LoadErrors{{at.File, at.Line, at.Column, fmt.Sprintf(
			"provider %s is not in %s%s; add it below providers there, or name another (there is %s)",
			quote(m.Provider), HostFile, maybe(m.Provider, names), strings.Join(names, ", "))}}
	}
	if m.Name == "" {
		m.Name = p.Model.Name
	}
	if m.MaxOutputTokens == 0 {
		m.MaxOutputTokens = p.Model.MaxOutputTokens
	}
	if m.ContextWindow == 0 {
		m.ContextWindow = p.Model.ContextWindow
	}
	if m.Temperature == nil {
		m.Temperature = p.Model.clone().Temperature
	}
	if m.Name == "" {
		return Provider{}, Model{}, LoadErrors{{at.File, at.Line, at.Column, fmt.Sprintf(
			"model.name is missing, and provider %s has no default in %s; write the provider's id of the model", p.Name, HostFile)}}
	}
	return p, m, nil
}

func maybe(name string, known []string) string {
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}
