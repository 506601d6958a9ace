package sdk

import (
	"errors"
	"reflect"
	"strings"
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
	tools   map[string]ToolSpec
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
		tools: make(map[string]ToolSpec, len(p.Tools)),
	}
	mistakes := checkPlugin(p)
	for _, t := range p.Tools {
		for _, m := range checkTool(p, t) {
			mistakes = append(mistakes, format("tool %s: %s", t.tool.Name, m))
		}
		if _, twice := prog.tools[t.tool.Name]; twice {
			mistakes = append(mistakes, format("tool %s: there are two of that name", t.tool.Name))
		}
		prog.tools[t.tool.Name] = t
		prog.desc.Tools = append(prog.desc.Tools, t.tool)
	}
	if len(mistakes) > 0 {
		return nil, errors.New(format("sdk: plugin %q cannot be registered:\n  %s", p.ID, strings.Join(mistakes, "\n  ")))
	}
	return prog, nil
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

// checkPlugin finds what is wrong before any tool is looked at. The manifest
// has more rules (package manifest); these are the ones worth hearing at once.
func checkPlugin(p Plugin) []string {
	var m []string
	if !wire.ValidPluginID(p.ID) {
		m = append(m, "ID: a lower-case letter, then at most 39 lower-case letters, digits or dashes")
	}
	if !wire.ValidVersion(p.Version) {
		m = append(m, format("Version: %q is not a semantic version such as 1.2.3", p.Version))
	}
	if p.Summary == "" {
		m = append(m, "Summary: is missing")
	}
	if p.License == "" {
		m = append(m, "License: is missing; name an SPDX licence")
	}
	if len(p.Tools) == 0 {
		m = append(m, "Tools: there is none")
	}
	for _, c := range p.Capabilities {
		if !wire.ValidCapability(c.Name) {
			m = append(m, format("Capabilities: %q is not a capability that a plugin can ask for", c.Name))
		}
		if c.Reason == "" {
			m = append(m, format("Capabilities: %s has no reason; a person reads it before granting", c.Name))
		}
	}
	for _, s := range p.Settings {
		if !wire.ValidSettingName(s.Name) {
			m = append(m, format("Settings: %q is not a setting name such as base_url", s.Name))
		}
	}
	return m
}

func checkTool(p Plugin, t ToolSpec) []string {
	if t.run == nil {
		return []string{"was not made by sdk.Tool"}
	}
	m := append([]string(nil), t.faults...)
	if !wire.ValidToolName(t.tool.Name) {
		m = append(m, "the name is not two or more words joined by dots, such as calc.eval")
	}
	if t.tool.Description == "" {
		m = append(m, "has no description; the model chooses tools by it")
	}
	for _, need := range t.tool.Capabilities {
		if !covered(p.Capabilities, need) {
			m = append(m, format("needs %s, which is not among the plugin's Capabilities", need))
		}
	}
	for _, w := range []struct {
		name, word string
		of         []string
	}{
		{"risk", t.tool.Risk, wire.Risks()},
		{"approval", t.tool.Approval, wire.Approvals()},
		{"recovery", t.tool.Recovery, wire.Recoveries()},
	} {
		if err := oneOf(w.word, w.of); err != nil {
			m = append(m, w.name+" "+err.Error())
		}
	}
	for _, s := range []string{string(t.tool.InputSchema), string(t.tool.OutputSchema)} {
		if len(t.faults) == 0 && (!codec.Valid(s) || !strings.HasPrefix(strings.TrimSpace(s), "{")) {
			m = append(m, "a schema is not a JSON object")
		}
	}
	return m
}

func covered(have []Capability, need string) bool {
	for _, c := range have {
		if wire.Covers(c.Name, need) {
			return true
		}
	}
	return false
}

func oneOf(word string, of []string) error {
	for _, w := range of {
		if w == word {
			return nil
		}
	}
	return errors.New(format("%q is not one of %s", word, strings.Join(of, ", ")))
}
