package host

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Logger takes messages for the operator; constant text, then key and value pairs. hclog.Logger is one.
type Logger interface {
	Debug(msg string, kv ...any)
	Info(msg string, kv ...any)
	Warn(msg string, kv ...any)
	Error(msg string, kv ...any)
}

// hidingLog hides in every value of a line what the host hides, before a logger lays it out: a value that a logger has
// wrapped, indented or quoted is harder to find.
type hidingLog struct {
	to  Logger
	set func(context.Context) redact.Set
}

func (l hidingLog) Debug(msg string, kv ...any) { l.to.Debug(l.text(msg), l.pairs(kv)...) }
func (l hidingLog) Info(msg string, kv ...any)  { l.to.Info(l.text(msg), l.pairs(kv)...) }
func (l hidingLog) Warn(msg string, kv ...any)  { l.to.Warn(l.text(msg), l.pairs(kv)...) }
func (l hidingLog) Error(msg string, kv ...any) { l.to.Error(l.text(msg), l.pairs(kv)...) }

func (l hidingLog) text(s string) string {
	return l.set(context.Background()).Text(redact.ForOperator, s)
}

// pairs makes texts of all values but plain numbers and switches, which stay what they are unless they are a secret.
func (l hidingLog) pairs(kv []any) []any {
	set := l.set(context.Background())
	out := make([]any, len(kv))
	for i, v := range kv {
		if i%2 == 0 && i+1 < len(kv) { // a name
			out[i] = set.Text(redact.ForOperator, fmt.Sprint(v))
			continue
		}
		text, name := fmt.Sprint(v), ""
		if i > 0 {
			name = fmt.Sprint(kv[i-1])
		}
		shown := set.Named(redact.ForOperator, name, text)
		switch v.(type) {
		case bool, int, int64, uint64, float64:
			if shown == text {
				out[i] = v
				continue
			}
		}
		out[i] = shown
	}
	return out
}

// pluginLog writes what a plugin said to the operator's log.
func (h *Host) pluginLog(line effect.LogLine) {
	kv := []any{"plugin", line.Plugin, "tool", line.Tool, "effect", line.Effect, "message", line.Message}
	for _, a := range line.Attrs {
		kv = append(kv, "plugin."+a.Key, a.Value)
	}
	write := h.cfg.Log.Debug
	switch line.Level {
	case "info":
		write = h.cfg.Log.Info
	case "warn":
		write = h.cfg.Log.Warn
	case "error":
		write = h.cfg.Log.Error
	}
	write("a plugin logged", kv...)
}

// quiet is the Logger of a host that was given none.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
