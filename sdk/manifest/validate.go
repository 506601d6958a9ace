package manifest

import (
	"fmt"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Fault is one broken rule.
type Fault struct {
	Path    string // as in tools[1].risk
	Problem string
}

// InvalidError lists every broken rule of one manifest.
type InvalidError struct {
	ID     string // as the manifest gives it, "" when it is not a plugin id
	Faults []Fault
}

// Error has one line for each fault.
func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("manifest")
	if e.ID != "" {
		b.WriteString(" of " + e.ID)
	}
	b.WriteString(" is not valid")
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.Path + ": " + f.Problem)
	}
	return b.String()
}

// Validate applies every rule and returns a [*InvalidError] with all faults in
// the order of the file, or nil.
func (m *Manifest) Validate() error {
	c := &checker{m: m}
	c.identity()
	c.wasm()
	c.symbols()
	c.capabilities()
	c.egress()
	c.credentials()
	c.signing()
	c.settings()
	c.limits()
	c.tools()
	if len(c.faults) == 0 {
		return nil
	}
	e := &InvalidError{Faults: c.faults}
	if wire.ValidPluginID(m.ID) {
		e.ID = m.ID
	}
	return e
}

type checker struct {
	m      *Manifest
	faults []Fault
}

func (c *checker) add(path, format string, args ...any) {
	c.faults = append(c.faults, Fault{path, fmt.Sprintf(format, args...)})
}

// text checks prose: present, bounded, no control characters but newline and
// tab, so that a terminal shows it as it is.
func (c *checker) text(path, s string) {
	switch {
	case strings.TrimSpace(s) == "":
		c.add(path, "is missing")
	case len(s) > MaxText:
		c.add(path, "has %d bytes, at most %d are allowed", len(s), MaxText)
	case strings.ContainsFunc(s, isControl):
		c.add(path, "has control characters")
	}
}

func isControl(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
}

// word checks one word of a closed list.
func (c *checker) word(path, s string, of []string) {
	for _, w := range of {
		if s == w {
			return
		}
	}
	c.add(path, "%q is not one of %s", s, strings.Join(of, ", "))
}

func (c *checker) count(path string, n, limit int) {
	if n > limit {
		c.add(path, "has %d entries, at most %d are allowed", n, limit)
	}
}

func (c *checker) identity() {
	m := c.m
	if m.ManifestVersion != Version {
		c.add("manifest_version", "%d is not %d", m.ManifestVersion, Version)
	}
	if !wire.ValidPluginID(m.ID) {
		c.add("id", "%q is not a plugin id: a lower-case letter, then at most 39 lower-case letters, digits or dashes", m.ID)
	}
	if !wire.ValidVersion(m.Version) {
		c.add("version", "%q is not a semantic version such as 1.2.3", m.Version)
	}
	c.text("summary", m.Summary)
	c.text("license", m.License)
	c.word("kind", m.Kind, []string{wire.KindTool})
	c.word("abi", m.ABI, []string{wire.ABI})
}

func (c *checker) wasm() {
	w := c.m.Wasm
	if !plainFile(w.File) {
		c.add("wasm.file", "%q is not a plain file name ending in .wasm", w.File)
	}
	if len(w.SHA256) != 64 || strings.Trim(w.SHA256, "0123456789abcdef") != "" {
		c.add("wasm.sha256", "is not 64 lower-case hex digits")
	}
	if w.Size < 1 || w.Size > MaxWasmBytes {
		c.add("wasm.size", "%d is not between 1 and %d", w.Size, MaxWasmBytes)
	}
}

// plainFile allows no separator, no leading dot and no drive: the file is
// beside the manifest wherever the manifest is.
func plainFile(s string) bool {
	const ok = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	return len(s) <= 128 && strings.HasSuffix(s, ".wasm") && s[0] != '.' && strings.Trim(s, ok) == ""
}
