package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// pluginSource offers the tools of a core's plugins to a catalog. It reads manifests that were verified; a plugin's code is
// read, verified and run when one of its tools was let through the gate, and not before.
type pluginSource struct {
	h     *Host
	ready prepared
}

// Tools lists the tools of every plugin, in the order of the core.
func (s *pluginSource) Tools(context.Context, binding.Turn) ([]effect.Tool, error) {
	var all []effect.Tool
	for _, in := range s.ready.plugins {
		tools, err := toolsOf(in.Manifest)
		if err != nil {
			return nil, err
		}
		for i := range tools {
			tools[i].Adapter = &pluginAdapter{h: s.h, plugin: in, core: s.ready.core}
		}
		all = append(all, tools...)
	}
	return all, nil
}

// toolsOf turns a manifest into tools without an adapter.
func toolsOf(m *manifest.Manifest) ([]effect.Tool, error) {
	loads, err := needsOfModule(m)
	if err != nil {
		return nil, err
	}
	var tools []effect.Tool
	for _, t := range m.Tools {
		tool, err := toolOf(m, t)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: tool %s: %w", m.ID, t.Name, err)
		}
		tool.PluginNeeds = loads
		tools = append(tools, tool)
	}
	return tools, nil
}

func toolOf(m *manifest.Manifest, t wire.Tool) (effect.Tool, error) {
	risk, err := approval.ParseRisk(t.Risk)
	if err != nil {
		return effect.Tool{}, err
	}
	mode, err := approval.ParseMode(t.Approval)
	if err != nil {
		return effect.Tool{}, err
	}
	tool := effect.Tool{
		Stands: func(need capability.Name, args document.Document) (capability.Name, bool) {
			return placeOf(m, need, args)
		},
		Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
		Risk: risk, Approval: mode, Recovery: t.Recovery, Origin: effect.Authored,
		Provenance: "authored:" + m.ID + "@" + m.Version, Plugin: m.ID, Version: m.Version,
	}
	for _, text := range t.Capabilities {
		n, err := capability.Parse(text)
		if err != nil {
			return effect.Tool{}, err
		}
		tool.Needs = append(tool.Needs, n)
		tool.Files = tool.Files || n.Family() == "fs.read" || n.Family() == "fs.write"
	}
	if len(tool.Needs) == 0 { // a tool that needs nothing else still needs to be let
		n, err := capability.Parse("tool.call:" + t.Name)
		if err != nil {
			return effect.Tool{}, err
		}
		tool.Needs = []capability.Name{n}
	}
	return tool, nil
}

// placeOf is the place that a call of the plugin most likely goes to: the one of its argument url, which is where tools that
// go anywhere take it from, else the only one that the manifest names.
func placeOf(m *manifest.Manifest, need capability.Name, args document.Document) (capability.Name, bool) {
	if need.String() != wire.CapNetFetch {
		return capability.Name{}, false
	}
	if _, raw, ok := urlIn(args.Bytes()); ok {
		if t, v := egress.ParseURL(raw); v.Allowed {
			return t.Capabilities()[0], true
		}
	}
	if len(m.Egress) != 1 || strings.Contains(m.Egress[0].Host, "*") {
		return capability.Name{}, false
	}
	place := wire.CapNetFetch + ":" + m.Egress[0].Host
	if port := m.Egress[0].Port; port != 0 {
		place += ":" + strconv.Itoa(port)
	}
	one, err := capability.Parse(place)
	return one, err == nil
}

// needsOfModule are the capabilities that the module's imports stand for: without all of them it is not loaded,
// whichever tool is called.
func needsOfModule(m *manifest.Manifest) ([]capability.Name, error) {
	var needs []capability.Name
	seen := map[string]bool{}
	for _, text := range m.Imports {
		module, name, _ := wire.SplitImport(text)
		imp, ok := wire.LookupImport(module, name)
		if !ok || imp.Needs == "" || seen[imp.Needs] {
			continue
		}
		seen[imp.Needs] = true
		n, err := capability.Parse(imp.Needs)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: import %s: %w", m.ID, text, err)
		}
		needs = append(needs, n)
	}
	return needs, nil
}
