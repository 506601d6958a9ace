package host

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/sandbox"
)

// Who cancels a call while its plugin is compiled has cancelled it: the plugin is not at fault, and more time is no help.
// What is wrong with a plugin is said all the same.
func TestACallThatIsCancelledWhileItsPluginLoadsIsCancelled(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	refused := func(code sandbox.LoadCode) error {
		return fmt.Errorf("host: load: %w", &sandbox.LoadError{Plugin: "calc", Code: code, Sentence: "plugin calc has a sentence"})
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want string
	}{
		"cancelled while it was compiled": {cancelled, refused(sandbox.CodeUnavailable), "cancelled "},
		"cancelled while files were read": {cancelled, context.Canceled, "cancelled "},
		"cancelled, and malformed":        {cancelled, refused(sandbox.CodeMalformed), "failed plugin_malformed"},
		"out of time":                     {late, refused(sandbox.CodeUnavailable), "failed plugin_unavailable"},
		"out of time before compiling":    {late, late.Err(), "timed_out "},
		"the cache folder is full":        {t.Context(), refused(sandbox.CodeUnavailable), "failed plugin_unavailable"},
		"gone":                            {t.Context(), &plugin.MissingError{ID: "calc", Version: "1.0.0"}, "failed plugin_missing"},
		"anything else":                   {t.Context(), errors.New("disk"), "failed plugin_not_loaded"},
	} {
		out := notLoaded(c.ctx, c.err)
		if got := string(out.Status) + " " + out.Reason; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if out.Status == effect.Failed && out.Detail == "" {
			t.Errorf("%s: a failure without words", name)
		}
	}
}
