package sdk

import (
	"errors"
	"reflect"
	"unsafe"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// registered is the one program of this binary: set by Register during package
// initialisation, read by the exports. It is the only variable of the package,
// and there because an export has no argument to carry it.
var registered *Program

// Register makes p the plugin of this binary. Call it once, from init. With a
// plugin that has mistakes it panics in an ordinary Go program, a test for
// instance. In a guest it keeps the list instead, and portcullis_describe gives
// it as the error: `portcullis plugin build` asks for the description, and its
// reader is to see the mistakes and no stack.
func Register(p Plugin) {
	if registered != nil {
		refuse(errors.New("sdk: Register called twice: first " + registered.desc.ID + ", then " + p.ID + "; a binary is one plugin"))
		return
	}
	prog, err := NewProgram(p)
	if err != nil {
		refuse(err)
		return
	}
	registered = prog
}

// Registered is the program that [Register] made, or nil. The exports and
// sdk/plugintest use it; a plugin has no use for it.
func Registered() *Program { return registered }

// Program is a plugin that has been checked and can be called.
type Program struct {
	desc    wire.Description
	tools   []ToolSpec
	refused error // in a guest: what Register found, the answer to every export
}

// NewProgram checks a plugin without registering it. The error lists every
// mistake.
func NewProgram(p Plugin) (*Program, error) {
	prog := &Program{
		desc: wire.Description{
			ABI: wire.ABI, Kind: wire.KindTool,
			ID: p.ID, Version: p.Version, Summary: p.Summary, License: p.License,
			Capabilities: p.Capabilities, Egress: p.Egress, Credentials: p.Credentials, Signing: p.Signing,
			Settings: p.Settings, Limits: p.Limits,
		},
	}
	m := mistakes{}
	m.ofPlugin(&p)
	for i := range p.Tools {
		t := &p.Tools[i]
		m.within = "tool " + t.tool.Name + ": "
		m.ofTool(&p, t)
		m.unless(prog.tool(t.tool.Name) == nil, "there are two of that name")
		prog.tools = append(prog.tools, *t)
		prog.desc.Tools = append(prog.desc.Tools, t.tool)
	}
	if m.text != "" {
		return nil, errors.New("sdk: plugin " + codec.Quote(p.ID) + " cannot be registered:" + m.text)
	}
	return prog, nil
}

// tool finds one by its name, or is nil.
func (p *Program) tool(name string) *ToolSpec {
	for i := range p.tools {
		if p.tools[i].tool.Name == name {
			return &p.tools[i]
		}
	}
	return nil
}

// Describe is the output of the export portcullis_describe. The error is the
// list of mistakes of a plugin that [Register] did not take.
func (p *Program) Describe() ([]byte, error) {
	if p.refused != nil {
		return nil, p.refused
	}
	plan, err := codec.Build(reflect.TypeFor[wire.Description](), codec.Extra{})
	if err != nil {
		return nil, err
	}
	return plan.Append(nil, unsafe.Pointer(&p.desc))
}

// mistakes collects what is wrong, each on a line that begins with within. There is no formatting and no list: every
// guest carries this.
type mistakes struct{ text, within string }

func (m *mistakes) add(what string) { m.text += "\n  " + m.within + what }

// unless adds a mistake when something does not hold.
//
//go:noinline
func (m *mistakes) unless(ok bool, what string) {
	if !ok {
		m.add(what)
	}
}

// ofPlugin finds what is wrong before any tool is looked at. The manifest
// has more rules (package manifest); these are the ones worth hearing at once.
func (m *mistakes) ofPlugin(p *Plugin) {
	m.unless(wire.ValidPluginID(p.ID), "ID: a lower-case letter, then at most 39 lower-case letters, digits or dashes")
	m.unless(wire.ValidVersion(p.Version), "Version: "+codec.Quote(p.Version)+" is not a semantic version such as 1.2.3")
	m.unless(p.Summary != "", "Summary: is missing")
	m.unless(p.License != "", "License: is missing; name an SPDX licence")
	m.unless(len(p.Tools) > 0, "Tools: there is none")
	for _, c := range p.Capabilities {
		m.unless(wire.ValidCapability(c.Name), "Capabilities: "+codec.Quote(c.Name)+" is not a capability that a plugin can ask for")
		m.unless(c.Reason != "", "Capabilities: "+c.Name+" has no reason; a person reads it before granting")
	}
	for _, s := range p.Settings {
		m.unless(wire.ValidSettingName(s.Name), "Settings: "+codec.Quote(s.Name)+" is not a setting name such as base_url")
	}
}

func (m *mistakes) ofTool(p *Plugin, t *ToolSpec) {
	if t.run == nil {
		m.add("was not made by sdk.Tool")
		return
	}
	for _, f := range t.faults {
		m.add(f)
	}
	m.unless(wire.ValidToolName(t.tool.Name), "the name is not two or more words joined by dots, such as calc.eval")
	m.unless(t.tool.Description != "", "has no description; the model chooses tools by it")
	for _, need := range t.tool.Capabilities {
		m.unless(covered(p.Capabilities, need), "needs "+need+", which is not among the plugin's Capabilities")
	}
	m.oneOf("risk ", t.tool.Risk, wire.Risks())
	m.oneOf("approval ", t.tool.Approval, wire.Approvals())
	m.oneOf("recovery ", t.tool.Recovery, wire.Recoveries())
	m.unless(len(t.faults) > 0 || codec.ValidObject(string(t.tool.InputSchema)) && codec.ValidObject(string(t.tool.OutputSchema)),
		"a schema is not a JSON object")
}

func covered(have []Capability, need string) bool {
	for _, c := range have {
		if wire.Covers(c.Name, need) {
			return true
		}
	}
	return false
}

func (m *mistakes) oneOf(what, word string, of []string) {
	for _, w := range of {
		if w == word {
			return
		}
	}
	m.add(what + codec.Quote(word) + " is not one of " + codec.Join(of, ", "))
}
