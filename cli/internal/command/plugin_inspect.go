package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func (s *shell) pluginInspect() *cli.Command {
	return &cli.Command{
		Name: "inspect", Usage: "show what a plugin is, what it asks for and why, and what it was granted", ArgsUsage: "TARGET",
		Description: "TARGET is an installed plugin, PLUGIN or PLUGIN@VERSION, or a folder of a built one. Nothing of the plugin runs.",
		Action:      s.inspect,
	}
}

// inspectAnswer is the document of an inspection.
type inspectAnswer struct {
	Installed bool               `json:"installed"`
	Path      string             `json:"path"`
	Digest    string             `json:"digest"`
	Needs     []need             `json:"needs"`
	Imports   []importAnswer     `json:"imports"`
	Grants    []string           `json:"grants"`
	Manifest  *manifest.Manifest `json:"manifest"`
}

// importAnswer is a host function that the binary imports and that needs a capability.
type importAnswer struct {
	Name    string `json:"name"`
	Needs   string `json:"needs"`
	Granted bool   `json:"granted"`
}

func (s *shell) inspect(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	answer, err := s.inspectTarget(c.Context, args[0])
	if err != nil {
		return err
	}
	home, err := s.home()
	if err != nil {
		return err
	}
	var granted capability.Snapshot
	inCore := "" // the first that pins it: a call needs both layers
	if home.Check() == nil {
		if pinned, err := pinnedBy(c.Context, home, answer.Manifest.ID, answer.Manifest.Version); err == nil && len(pinned) > 0 {
			inCore = pinned[0]
		}
		err := s.records(c, func(ctx context.Context, r *app.Records) error {
			granted, err = r.Store.PluginGrants(ctx, answer.Manifest.ID)
			return err
		})
		if err != nil {
			return err
		}
	}
	answer.Needs, answer.Grants = needsOf(answer.Manifest, granted), granted.Strings()
	answer.Imports = importsOf(answer.Manifest, granted)
	return s.out.Answer(answer, func(t *console.Text) { sayInspected(t, answer, s.typed(grantLines(answer.Manifest, granted, inCore))) })
}

// inspectTarget reads an installed plugin, or one in a folder.
func (s *shell) inspectTarget(ctx context.Context, typed string) (inspectAnswer, error) {
	if info, err := os.Stat(s.path(typed)); !strings.ContainsAny(typed, `/\`) && !strings.HasPrefix(typed, ".") || err == nil && info.IsDir() {
		if id, _ := target(typed); wire.ValidPluginID(id) {
			in, err := s.installed(ctx, typed)
			if err == nil || info == nil {
				return inspectAnswer{Installed: true, Path: in.Path, Digest: in.Digest, Manifest: in.Manifest}, err
			}
		}
	}
	dir, err := s.builtIn(typed)
	if err != nil {
		return inspectAnswer{}, err
	}
	raw, err := readAtMost(filepath.Join(dir, manifest.FileName), manifest.MaxBytes)
	if err != nil {
		return inspectAnswer{}, err
	}
	m, err := manifest.Parse(raw)
	if err != nil {
		return inspectAnswer{}, &plugin.SourceError{Path: filepath.Join(dir, manifest.FileName), Code: "manifest_invalid", Detail: "is refused: " + err.Error()}
	}
	wasm, err := readAtMost(filepath.Join(dir, m.Wasm.File), manifest.MaxWasmBytes)
	if err != nil {
		return inspectAnswer{}, err
	}
	if sum := sha256.Sum256(wasm); hex.EncodeToString(sum[:]) != m.Wasm.SHA256 {
		return inspectAnswer{}, &plugin.SourceError{Path: dir, Code: "wasm_changed", Detail: "has a " + m.Wasm.File + " that is not the one its " + manifest.FileName + " describes; build both again with `portcullis plugin build DIR`"}
	}
	sum := sha256.Sum256(raw)
	return inspectAnswer{Path: dir, Digest: "sha256:" + hex.EncodeToString(sum[:]), Manifest: m}, nil
}

// readAtMost reads a file of at most limit bytes.
func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		p := usage("%v", err)
		p.Code, p.Remedy = "unreadable_file", "build the plugin again with `portcullis plugin build DIR`"
		return nil, p
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		p := usage("%s has more than %d bytes", path, limit)
		p.Code, p.Remedy = "file_too_large", "build the plugin again with `portcullis plugin build DIR`"
		return nil, p
	}
	return data, err
}

func importsOf(m *manifest.Manifest, granted capability.Snapshot) []importAnswer {
	out := []importAnswer{}
	for _, text := range m.Imports {
		module, name, ok := wire.SplitImport(text)
		if !ok {
			continue
		}
		known, _ := wire.LookupImport(module, name)
		if known.Needs == "" {
			continue
		}
		needs, err := capability.Parse(known.Needs)
		out = append(out, importAnswer{name, known.Needs, err == nil && granted.Meets(needs)})
	}
	return out
}

func sayInspected(t *console.Text, a inspectAnswer, next []string) {
	m := a.Manifest
	t.Say("%s %s  %s", console.Bold(m.ID), m.Version, m.Summary)
	t.Say("licence %s, contract %s, %d bytes of wasm", m.License, m.ABI, m.Wasm.Size)
	t.Say("digest  %s", a.Digest)
	t.Say("in      %s", a.Path)
	for _, tool := range m.Tools {
		uses := strings.Join(tool.Capabilities, ", ")
		if uses == "" {
			uses = "nothing"
		}
		t.Say("tool    %s (risk %s, approval %s, recovery %s, uses %s): %s", console.Bold(tool.Name), tool.Risk, tool.Approval, tool.Recovery, uses, tool.Description)
		for _, p := range parametersOf(tool.InputSchema) {
			must := ""
			if p.required {
				must = ", required"
			}
			t.Say("        %s (%s%s) %s", console.Bold(p.name), p.kind, must, p.description)
		}
	}
	for _, e := range m.Egress {
		t.Say("reaches %s: %s", places(e), e.Reason)
	}
	saySecrets(t, m)
	for _, i := range a.Imports {
		t.Say("imports %s, which needs %s (%s)", i.Name, i.Needs, granting(i.Granted))
	}
	sayNeeds(t, a.Needs, next)
}

// places is all that one entry of a manifest's egress lets through, as in "api.example.com:8443 GET POST below /v1".
func places(e wire.Egress) string {
	s := e.Host
	if e.Port != 0 {
		s += ":" + strconv.Itoa(e.Port)
	}
	allowed := e.Methods
	if len(allowed) == 0 {
		allowed = []string{"GET", "HEAD"}
	}
	s += " " + strings.Join(allowed, " ")
	if e.PathPrefix != "" {
		s += " below " + e.PathPrefix
	}
	return s
}

// parameter is one argument of a tool as its schema describes it.
type parameter struct {
	name, kind, description string
	required                bool
}

// parametersOf reads the top of an input schema for people, required ones first; --json shows the schema whole. What
// it does not understand it leaves out: the gate reads schemas strictly, not this.
func parametersOf(schema json.RawMessage) []parameter {
	var doc struct {
		Properties map[string]struct {
			Type        any    `json:"type"`
			Enum        []any  `json:"enum"`
			Description string `json:"description"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &doc) != nil {
		return nil
	}
	var out []parameter
	for _, name := range slices.Sorted(maps.Keys(doc.Properties)) {
		p := doc.Properties[name]
		kind := "any"
		switch k := p.Type.(type) {
		case string:
			kind = k
		case []any:
			kind = strings.Trim(strings.Join(strings.Fields(fmt.Sprint(k)), " or "), "[]")
		}
		if len(p.Enum) > 0 {
			kind = "one of " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(p.Enum)), ", "), "[]")
		}
		out = append(out, parameter{name, kind, p.Description, slices.Contains(doc.Required, name)})
	}
	slices.SortStableFunc(out, func(a, b parameter) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return out
}
