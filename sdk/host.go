package sdk

import (
	"time"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Host is what a handler can do beyond computing. It is valid during the call
// it was given to and for one goroutine. The zero Host can log and report
// progress to nobody, and panics at anything else; sdk/plugintest makes one that
// works in tests.
//
// It is a struct and not an interface so that the linker sees every use: a
// plugin imports the host functions behind the methods that it calls and no
// others. The exception is a plugin with a package that looks methods up by name,
// as text/template does: the linker then keeps every exported method, and the
// plugin's manifest is refused for what it did not ask.
type Host struct {
	to       border
	settings []Setting // for their defaults
}

// host binds a program's settings to a border.
func (p *Program) host(to border) Host { return Host{to: to, settings: p.desc.Settings} }

// border is the way out, or a panic that says what is wrong.
func (h Host) border() border {
	if h.to == nil {
		panic("sdk: this Host belongs to no call: use the one a handler is given, or sdk/plugintest in a test")
	}
	return h.to
}

// Level is how much a log line matters.
type Level string

// Levels, from least to most.
const (
	LevelDebug Level = "debug"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// Log writes one line to the operator's log; attrs are key, value, key, value.
// Text that is too long is cut, and the host drops lines beyond the plugin's
// limit: a log that fails must not change what a tool does. Never log a secret
// or a whole document. Needs no capability.
func (h Host) Log(level Level, msg string, attrs ...any) {
	if h.to == nil {
		return
	}
	arg := logRecord(level, msg, attrs)
	if len(arg) > wire.MaxLogBytes {
		arg = logRecord(level, msg, nil)
	}
	h.to.log(arg)
}

func logRecord(level Level, msg string, attrs []any) []byte {
	var o codec.Writer
	o.Text("level", string(level))
	o.Text("message", cut(msg, maxLogText))
	if len(attrs) == 0 {
		return o.Bytes()
	}
	list := []byte{'['}
	for i := 0; i < len(attrs) && i < 2*wire.MaxLogAttrs; i += 2 {
		if i > 0 {
			list = append(list, ',')
		}
		value := ""
		if i+1 < len(attrs) {
			value = text(attrs[i+1])
		}
		var a codec.Writer
		a.Text("key", cut(text(attrs[i]), maxLogKey))
		a.Text("value", cut(value, maxLogValue))
		list = append(list, a.Bytes()...)
	}
	o.JSON("attrs", append(list, ']'))
	return o.Bytes()
}

// Bounds of one record's parts, in bytes. A record with all of them full fits
// wire.MaxLogBytes; one whose text is mostly escapes loses its attributes.
const (
	maxLogText  = 2048
	maxLogKey   = 32
	maxLogValue = 256
)

// text shows one log value.
func text(v any) string { return format("%v", v) }

// Progress tells people who watch how far the call is; total is 0 when not
// known. It never fails. Needs no capability.
func (h Host) Progress(msg string, done, total int64) {
	if h.to == nil {
		return
	}
	var o codec.Writer
	o.Text("message", cut(msg, maxLogText/4))
	o.IntUnlessZero("done", done)
	o.IntUnlessZero("total", total)
	h.to.emit(o.Bytes())
}

// Now is the host's clock, in UTC to the millisecond. Needs no capability.
func (h Host) Now() time.Time {
	var ms int64
	err := codec.Members(string(h.border().now()), func(name string, r *codec.Reader) error {
		if name != "unix_ms" {
			return r.Unknown(name)
		}
		return r.Int(&ms)
	})
	if err != nil {
		panic("sdk: the host's clock does not answer: " + err.Error())
	}
	return time.UnixMilli(ms).UTC()
}

// Random fills p from the host's random source. The seeds of math/rand are the
// same in every call; this is not. Needs no capability.
func (h Host) Random(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), wire.MaxRandom)
		var o codec.Writer
		o.Int("n", int64(n))
		got := h.border().random(o.Bytes())
		if len(got) != n {
			return Errorf(Unavailable, "asked the host for %d random bytes, got %d", n, len(got))
		}
		p = p[copy(p, got):]
	}
	return nil
}

// Setting is the value that the operator set, or the default of the plugin's
// own list, or "" for a name that is not in the list. Needs no capability.
func (h Host) Setting(name string) string {
	if v, ok := h.border().config(name); ok {
		return v
	}
	for _, s := range h.settings {
		if s.Name == name {
			return s.Default
		}
	}
	return ""
}
