package quickstart

import (
	"context"
	"crypto/rand"
	_ "embed" // the files of the core
	"encoding/hex"
	"fmt"
	"os"
	"path"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// CoreID is the core of the quickstart.
const CoreID = "quickstart"

// Plugins are the bundled plugins that the turn calls.
func Plugins() []string { return []string{"calc", "files", "web"} }

//go:embed core/agent.yaml
var agent string

//go:embed core/script.yaml
var script string

//go:embed core/soul.md
var soul string

// secretFile is where the secret is planted, in the workspace.
const secretFile = "deploy.env"

// Home is a home made for one quickstart.
type Home struct {
	app.Home
	workspace string
	secret    string
}

// New makes a home in a temporary folder, with nothing of the user's in it.
func New() (*Home, error) {
	dir, err := os.MkdirTemp("", "portcullis-quickstart-")
	if err != nil {
		return nil, fmt.Errorf("quickstart: make a home: %w", err)
	}
	h := &Home{Home: app.Home{Path: dir}}
	h.workspace = h.Join("workspace")
	var random [20]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("quickstart: make a secret: %w", err)
	}
	h.secret = "pq" + hex.EncodeToString(random[:])
	return h, nil
}

// Remove takes the home away.
func (h *Home) Remove() error { return os.RemoveAll(h.Path) }

// Furnish installs plugins from the given folders, grants what the turn is to have, and writes core, configuration and
// workspace.
func (h *Home) Furnish(ctx context.Context, folders []string) (err error) {
	pins := make([]core.Pin, 0, len(folders))
	for _, dir := range folders {
		in, err := plugin.At(h.Path).Install(ctx, dir)
		if err != nil {
			return err
		}
		pins = append(pins, core.Pin{ID: in.ID, Version: in.Version, Digest: in.Digest})
	}
	files := []core.File{
		{Path: core.HostFile, Mode: 0o600, Bytes: []byte("schema_version: 1\ndefault_core: " + CoreID + "\n")},
		{Path: path.Join(core.FolderName, CoreID, core.AgentFile), Mode: 0o600, Bytes: []byte(agent + pinned(pins))},
		{Path: path.Join(core.FolderName, CoreID, core.SurfaceFolder, core.SoulFile), Mode: 0o600, Bytes: []byte(soul)},
		{Path: path.Join(core.FolderName, CoreID, core.SurfaceFolder, "script.yaml"), Mode: 0o600, Bytes: []byte(script)},
		{Path: path.Join("workspace", secretFile), Mode: 0o600, Bytes: []byte("# planted by the quickstart\nAPI_TOKEN=" + h.secret + "\nREGION=north\n")},
	}
	for _, f := range files {
		if _, err := h.Put(f.Path, f.Bytes, f.Mode, false); err != nil {
			return err
		}
	}
	return h.grant(ctx)
}

func pinned(pins []core.Pin) string {
	text := "\nplugins:\n"
	for _, p := range pins {
		text += fmt.Sprintf("  - id: %s\n    version: %q\n    digest: %s\n", p.ID, p.Version, p.Digest)
	}
	return text
}

// grant gives files its two capabilities, and web nothing: that is the point of its effect.
func (h *Home) grant(ctx context.Context) (err error) {
	r, err := h.OpenRecords(ctx, "quickstart")
	if err != nil {
		return err
	}
	defer func() {
		if last := r.Close(); err == nil {
			err = last
		}
	}()
	for _, text := range []string{"fs.read", "fs.write"} {
		g, err := capability.ParseGrant(text)
		if err != nil {
			return err
		}
		if _, err := r.Grant(ctx, "files", g); err != nil {
			return err
		}
	}
	return nil
}
