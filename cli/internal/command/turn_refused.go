package command

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/spelling"
)

// knownModel refuses a --provider that config.yaml does not have, and a --model that nothing would look at.
func knownModel(ctx context.Context, h *host.Host, req host.Request) error {
	if err := knownProvider(h, req); err != nil || req.Model.Name == "" || req.Model.Provider != "" {
		return err
	}
	c, err := h.CheckCore(ctx, req.Core)
	if err != nil || c.Model().Provider != core.Scripted {
		return nil //nolint:nilerr // a core that cannot be used is for the turn to tell
	}
	p := usage("core %s answers from a script, which no --model changes", c.ID())
	p.Code, p.Remedy = "model_unused", "name a provider of "+core.HostFile+" as well, with --provider; or set model.provider in "+path.Join(core.FolderName, c.ID(), core.AgentFile)
	return p
}

func knownProvider(h *host.Host, req host.Request) error {
	name := req.Model.Provider
	if _, ok := h.Settings().Provider(name); ok || name == "" {
		return nil
	}
	p := usage("provider %s is not in %s", console.Cut(name, 40), core.HostFile)
	p.Code, p.Remedy = "unknown_provider", "add it below providers in "+core.HostFile
	var known []string
	for _, k := range h.Settings().Providers {
		known = append(known, k.Name)
	}
	if len(known) > 0 {
		p.Remedy += "; it has " + strings.Join(known, ", ")
		if near := spelling.Nearest(name, known); near != "" {
			p.Remedy = "did you mean --provider " + near + "?"
		}
	}
	return p
}

// why gives a refused core its place: the turn tells that it cannot be used, and looking at it once more tells the file
// and the line.
func (s *shell) why(ctx context.Context, h *host.Host, coreID string, err error) error {
	var refused *turn.RejectedError
	if !errors.As(err, &refused) || refused.Reason != turn.RejectCore {
		return err
	}
	if _, cause := h.CheckCore(ctx, coreID); cause != nil {
		return s.noCore(ctx, h, coreID, cause)
	}
	return err
}

// noCore says of a core that does not exist which do, and where its name came from. Any other failure stays as it is.
func (s *shell) noCore(ctx context.Context, h *host.Host, coreID string, cause error) error {
	wanted := coreID
	if wanted == "" {
		wanted = h.Settings().DefaultCore
	}
	home, err := s.home()
	if err != nil || wanted == "" {
		return cause
	}
	all, err := core.List(ctx, home.Path)
	p := coreProblem(cause)
	if err != nil || p == nil || len(all) == 0 {
		return cause
	}
	var names []string
	for _, l := range all {
		if core.ValidID(l.ID) {
			names = append(names, l.ID)
		}
	}
	if slices.Contains(names, wanted) || len(names) == 0 {
		return cause
	}
	p.Cause = cause
	p.Remedy = "write --core with one of: " + strings.Join(names, ", ")
	if coreID == "" {
		p.File, p.Line, p.Column = core.HostFile, 0, 0
		p.Message = "names default_core " + wanted + " and there is no such core"
		p.Remedy = "set default_core there to one of: " + strings.Join(names, ", ")
	}
	return p
}
