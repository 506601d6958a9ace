package app

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// logger makes the one logger of the program. The host hides what it must in the values of a line; what is written is
// redacted once more as it stands, whoever wrote it. hidden is asked for each write.
func (o HostOptions) logger(hidden func(context.Context) redact.Set) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "portcullis", Level: hclog.LevelFromString(o.LogLevel), JSONFormat: o.LogJSON,
		Output: &hidingWriter{below: o.LogTo, set: hidden, json: o.LogJSON},
	})
}

// maxEntry is the most bytes of one entry of the log. A longer one is not shown.
const maxEntry = 1 << 20

// hidingWriter redacts whole entries, so that a value which comes in two writes is found: an entry ends with a write that
// ends with a line. It is safe for concurrent use.
type hidingWriter struct {
	below io.Writer
	set   func(context.Context) redact.Set
	json  bool // each line is one JSON object

	mu   sync.Mutex // guards what follows
	part []byte     // of an entry that has not ended
	over bool       // that entry is too long and was given up
}

// Write takes all of p. An error is the writer below's.
func (w *hidingWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over = w.over || len(w.part)+len(p) > maxEntry; w.over {
		w.part = nil
	} else {
		w.part = append(w.part, p...)
	}
	if !bytes.HasSuffix(p, []byte("\n")) {
		return len(p), nil
	}
	shown := []byte(redact.FailedText + "\n")
	if !w.over {
		shown = w.hide(w.part)
	}
	w.part, w.over = w.part[:0], false
	_, err := w.below.Write(shown)
	return len(p), err
}

// hide redacts lines. Of JSON every line stays one object; as text all of them are one, for a value may go over lines.
func (w *hidingWriter) hide(text []byte) []byte {
	set := w.set(context.Background()) // a logger has no context
	if !w.json {
		return []byte(set.Text(redact.ForOperator, string(text)))
	}
	var out []byte
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\n")
		v, err := redact.BuildFor(set, lineBounds(), redact.JSON(line), redact.ForOperator)
		if err != nil {
			v, _ = redact.BuildFor(set, lineBounds(), redact.Text(string(line)), redact.ForOperator) // FailedText in the end
		}
		out = append(append(out, v.Operator.JSON()...), '\n')
	}
	return out
}

func lineBounds() redact.Bounds {
	b := redact.DefaultBounds()
	b.Operator = redact.Limit{Bytes: 2 * maxEntry, String: maxEntry, Items: 1000, Depth: redact.MaxDepth}
	return b
}

// Hidden is what a host of this home would hide, as far as it can be read: for what is said while none is open. env looks
// up variables.
func (h Home) Hidden(ctx context.Context, env func(string) string) redact.Set {
	lookup := func(name string) (string, bool) { v := env(name); return v, v != "" }
	return host.HiddenIn(ctx, h.Path, secret.Reader{Home: h.Path, Lookup: lookup, Vault: h.vault(ctx), Clock: time.Now})
}

// vault has its identity where config.yaml says, as far as that can be read.
func (h Home) vault(ctx context.Context) *secret.Vault {
	settings, err := core.LoadHost(ctx, h.Path)
	if err != nil {
		return secret.At(h.Path, time.Now)
	}
	return secret.Open(h.Path, settings.Identity, time.Now)
}
