package command

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/b3abf3ee/portcullis/cli/internal/bundle"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
)

// describer asks a binary what it is, in an empty sandbox.
func (s *shell) describer() (func(ctx context.Context, wasm []byte) ([]byte, error), error) {
	cache, err := compiledCache()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, wasm []byte) ([]byte, error) { return host.Describe(ctx, cache, wasm) }, nil
}

// makePlugins makes bundled plugins with progress on stderr. work is a folder for those that must be written out; ""
// is a temporary one, which serves plugins that are only built.
func (s *shell) makePlugins(ctx context.Context, source bundle.Source, work string, names []string) (made []bundle.Made, err error) {
	describe, err := s.describer()
	if err != nil {
		return nil, err
	}
	if work == "" {
		if work, err = os.MkdirTemp("", "portcullis-plugins-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	}
	progress := console.NewProgress(s.proc.Err, time.Now)
	defer progress.Close()
	return source.Make(ctx, bundle.Options{Work: work, Describe: describe, Step: func(line string) { progress.Step("%s", line) }}, names...)
}
