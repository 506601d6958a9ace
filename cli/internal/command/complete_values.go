package command

import (
	"context"
	"regexp"
	"slices"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/scaffold"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/plugin"
)

// suggest is the words that may come next. For values it reads the files of the home, never its database, which would be a
// use of the operator's authority, and writes nothing. What cannot be read has no values: a person who asks how a line
// might go on is not told of faults.
func (s *shell) suggest(ctx context.Context, n next) []string {
	if n.value == "" {
		return n.words
	}
	var found []string
	if set := inEveryHome(n.value); set != nil {
		found = set
	} else if home, err := app.FindHome(n.home, s.proc.Env, s.proc.Dir); err == nil && home.Check() == nil {
		found = inHome(ctx, home, n)
	}
	found = slices.DeleteFunc(found, func(word string) bool { return !typable.MatchString(word) })
	slices.Sort(found)
	return slices.Compact(found)
}

// typable are the words that no shell takes for anything but a word: bash expands what it is given to choose from.
var typable = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@:/*-]*$`)

// inEveryHome are the values of a kind that are the same in every home.
func inEveryHome(kind string) []string {
	switch kind {
	case "SHELL":
		return []string{"bash", "zsh", "fish"}
	case "VIEW":
		return []string{"model", "operator", "event", "durable", "debug"}
	case "LEVEL":
		return logLevels()
	case "FORMAT":
		return []string{"text", "json"}
	case "VERDICT":
		return []string{"happened", "not-happened"}
	case "WHOM":
		return []string{"operator", "conversation", "system", "delegated_agent"}
	case "LANGUAGE":
		return scaffold.Languages()
	}
	return nil
}

// inHome are the values of a kind in the home's files.
func inHome(ctx context.Context, home app.Home, n next) (out []string) {
	switch n.value {
	case "CORE", "SCHEDULE":
		cores, _ := core.List(ctx, home.Path)
		for _, c := range cores {
			if n.value == "CORE" {
				out = append(out, c.ID)
				continue
			}
			for _, sch := range c.Core.Schedules() {
				out = append(out, sch.ID)
			}
		}
	case "PROVIDER":
		conf, _ := core.LoadHost(ctx, home.Path)
		for _, p := range conf.Providers {
			out = append(out, p.Name)
		}
	case "PLUGIN", "TARGET", "PLUGIN@VERSION", "TOOL", "CAPABILITY":
		plugins, _ := plugin.At(home.Path).List(ctx)
		for _, p := range plugins {
			out = append(out, ofPlugin(p, n)...)
		}
	}
	return out
}

func ofPlugin(p plugin.Entry, n next) []string {
	switch {
	case n.value == "PLUGIN", n.value == "TARGET":
		return []string{p.ID}
	case n.value == "PLUGIN@VERSION":
		return []string{p.ID + "@" + p.Version}
	case p.Installed == nil:
	case n.value == "TOOL":
		return toolNames(p.Installed.Manifest)
	case p.ID == n.of:
		var asked []string
		for _, c := range p.Installed.Manifest.Capabilities {
			asked = append(asked, concrete(p.Installed.Manifest, c.Name)...)
		}
		return asked
	}
	return nil
}
