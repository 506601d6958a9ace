package host

import (
	"os"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/exec"
	"github.com/b3abf3ee/portcullis/host/process"
)

// ArtifactsFolder is where whole outputs are kept, below the home.
const ArtifactsFolder = "artifacts"

// openPrograms makes what programs are run with. Nothing is started, and no folder made.
func (h *Host) openPrograms() {
	h.programs = process.Open(process.Config{Keeper: h.cfg.Keeper, Most: h.settings.Limits.ConcurrentEffects, Clock: h.cfg.Clock})
	h.digests = &process.Digests{} // it compares with the times of files, which are of no other clock
	h.artifacts = &process.Artifacts{
		Dir:  filepath.Join(h.cfg.Home, ArtifactsFolder),
		Each: process.DefaultArtifact, Count: process.DefaultArtifacts, Bytes: process.DefaultArtifactTotal,
	}
}

// programsOf is what a core's turns run programs with.
func (h *Host) programsOf(c core.Core) *exec.Source {
	return exec.New(exec.Config{
		Engine: h.programs, Artifacts: h.artifacts, Digests: h.digests, Lookup: os.LookupEnv, UID: os.Getuid(), Queue: h.queueTask,
	}, c.ID(), c.Process())
}
