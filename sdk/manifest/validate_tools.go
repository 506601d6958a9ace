package manifest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func (c *checker) limits() {
	l := c.m.Limits
	for _, b := range []struct {
		name      string
		has, hard int64
	}{
		{"memory_bytes", l.MemoryBytes, wire.HardMemoryBytes},
		{"deadline_ms", l.DeadlineMS, wire.HardDeadlineMS},
		{"input_bytes", l.InputBytes, wire.HardInputBytes},
		{"output_bytes", l.OutputBytes, wire.HardOutputBytes},
		{"host_calls", l.HostCalls, wire.HardHostCalls},
		{"http_calls", l.HTTPCalls, wire.HardHTTPCalls},
		{"http_bytes", l.HTTPBytes, wire.HardHTTPBytes},
		{"file_bytes", l.FileBytes, wire.HardFileBytes},
		{"log_lines", l.LogLines, wire.HardLogLines},
	} {
		if b.has < 0 || b.has > b.hard {
			c.add("limits."+b.name, "%d is not between 0 and %d", b.has, b.hard)
		}
	}
}

func (c *checker) tools() {
	c.count("tools", len(c.m.Tools), MaxTools)
	if c.m.Kind == wire.KindTool && len(c.m.Tools) == 0 {
		c.add("tools", "is empty: a tool plugin has at least one")
	}
	names := make([]string, len(c.m.Tools))
	for i, t := range c.m.Tools {
		names[i] = t.Name
		c.tool(fmt.Sprintf("tools[%d]", i), t)
	}
	c.unique("tools", names)
}

func (c *checker) tool(path string, t wire.Tool) {
	if !wire.ValidToolName(t.Name) {
		c.add(path+".name", "%q is not a tool name such as calc.eval", t.Name)
	}
	c.text(path+".description", t.Description)
	c.schema(path+".input_schema", t.InputSchema)
	c.schema(path+".output_schema", t.OutputSchema)
	c.unique(path+".capabilities", t.Capabilities)
	for i, need := range t.Capabilities {
		at := fmt.Sprintf("%s.capabilities[%d]", path, i)
		switch {
		case !wire.ValidCapability(need):
			c.add(at, "%q is not a capability that a plugin can ask for", need)
		case !c.m.Asks(need):
			c.add(at, "%s is not among the plugin's own capabilities", need)
		}
	}
	c.word(path+".risk", t.Risk, wire.Risks())
	c.word(path+".approval", t.Approval, wire.Approvals())
	c.word(path+".recovery", t.Recovery, wire.Recoveries())
	if t.Recovery == wire.RecoveryReconcile && !slices.Contains(c.m.Exports, wire.ExportReconcile) {
		c.add(path+".recovery", "reconcile needs the export %s, which the binary does not have", wire.ExportReconcile)
	}
	if t.Recovery == wire.RecoveryReconcile && (slices.Contains(t.Capabilities, wire.CapFSRead) || slices.Contains(t.Capabilities, wire.CapFSWrite)) {
		c.add(path+".recovery", "reconcile is not for a tool that works on files: afterwards nobody knows in which workspace the call ran; use manual")
	}
}

// schema checks what can be checked without a schema library: it is a bounded
// JSON object. The host compiles it before it believes it.
func (c *checker) schema(path string, raw []byte) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		c.add(path, "is missing")
	case raw[0] != '{':
		c.add(path, "is not an object")
	case len(raw) > MaxSchemaBytes:
		c.add(path, "has %d bytes, at most %d are allowed", len(raw), MaxSchemaBytes)
	}
}
