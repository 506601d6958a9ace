package command

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/bundle"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/plugin"
)

// initCheck looks and writes nothing. It builds nothing either: of a plugin that the source has not ready it can tell
// only whether the home has it whole.
func (s *shell) initCheck(ctx context.Context, home app.Home, source bundle.Source) error {
	answer := initAnswer{Home: home.Path, Done: true, Next: []string{}}
	if err := home.Check(); err != nil && !missingHome(err) {
		return err
	}
	missing := false
	look := func(name, shown string) {
		state := "present"
		if _, err := os.Lstat(home.Join(filepath.FromSlash(name))); err != nil {
			state, missing = "missing", true
		}
		answer.Items = append(answer.Items, item{shown, state})
	}
	look(".", home.Path)
	for _, f := range append([]core.File{core.DefaultHostConfig(), core.DefaultTable()}, core.Default(nil)...) {
		look(f.Path, f.Path)
	}
	names, err := source.Names()
	if err != nil {
		return err
	}
	installed, err := plugin.At(home.Path).List(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		items, first := checkBundled(source, name, installed)
		answer.Items = append(answer.Items, items...)
		missing = missing || items[0].State != "present" && first != forceInit
		if first != "" && !slices.Contains(answer.Next, first) {
			answer.Next = append(answer.Next, first)
		}
	}
	if missing {
		answer.Next = append(answer.Next, "portcullis init")
	}
	answer.Done = len(answer.Next) == 0
	answer.Next = s.typed(answer.Next)
	if err := s.out.Answer(answer, func(t *console.Text) { sayInit(t, answer) }); err != nil || answer.Done {
		return err
	}
	return no{}
}

// forceInit replaces what is sound and another.
const forceInit = "portcullis init --force"

// checkBundled holds one bundled plugin against what is installed: its state, the grants that init would make, and
// what must be typed before init.
func checkBundled(source bundle.Source, name string, installed []plugin.Entry) (items []item, first string) {
	m, digest, ready := source.Finished(name)
	shown, state := "plugin "+name, "missing"
	known := false
	for _, e := range installed {
		if e.ID != name {
			continue
		}
		known = true
		switch at := e.ID + "@" + e.Version; {
		case ready && e.Version != m.Version:
		case e.Broken != nil:
			return []item{{"plugin " + name + " " + e.Version + " (" + string(e.Broken.Reason) + ")", "damaged"}}, "portcullis plugin remove " + at
		case ready && e.Installed.Digest != digest:
			shown, state, first = "plugin "+name+" "+e.Version+" (the bundled one of this version has another content)", "changed", forceInit
		default:
			shown, state = "plugin "+name+" "+e.Version, "present"
		}
	}
	items = []item{{shown, state}}
	switch {
	case known:
	case ready:
		for _, c := range localOf(m) {
			items = append(items, item{"plugin " + name + " may use " + c, "to grant"})
		}
	default:
		items = append(items, item{"plugin " + name + " may use what it asks for of " + strings.Join(local(), ", "), "to grant"})
	}
	return items, first
}
