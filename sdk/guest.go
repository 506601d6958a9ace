package sdk

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/internal/abi"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// system, webSystem, fileSystem and kvSystem are the border as a guest sees it.
// [abi.Host] is the real one. They are interfaces for two reasons: tests stand
// in for the host, and the linker drops a method that no reachable code calls,
// and with it the import, so that a plugin imports only what it uses.
type system interface {
	Log(arg []byte) []byte
	Emit(arg []byte) []byte
	Now() []byte
	Random(arg []byte) []byte
	Config(name string) (string, bool)
}

// guest is the [Host] inside wasm.
type guest struct {
	sys      system
	web      webSystem
	files    fileSystem
	kv       kvSystem
	settings []Setting // for defaults
}

func newGuest(settings []Setting) *guest {
	return &guest{sys: abi.Host{}, web: abi.Host{}, files: abi.Host{}, kv: abi.Host{}, settings: settings}
}

// Log sends one record; an answer is not waited for, since a log that fails
// must not change what a tool does.
func (g *guest) Log(level Level, msg string, attrs ...any) {
	r := wire.LogRecord{Level: string(level), Message: msg}
	for i := 0; i < len(attrs) && len(r.Attrs) < wire.MaxLogAttrs; i += 2 {
		a := wire.Attr{Key: text(attrs[i])}
		if i+1 < len(attrs) {
			a.Value = text(attrs[i+1])
		}
		r.Attrs = append(r.Attrs, a)
	}
	if arg, err := json.Marshal(r); err == nil {
		g.sys.Log(arg)
	}
}

// text shows one log value. The common kinds do not go through fmt.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case error:
		return v.Error()
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return fmt.Sprint(v)
}

// Progress sends one step.
func (g *guest) Progress(msg string, done, total int64) {
	if arg, err := json.Marshal(wire.Progress{Message: msg, Done: done, Total: total}); err == nil {
		g.sys.Emit(arg)
	}
}

// Now asks the host.
func (g *guest) Now() time.Time {
	var now wire.Now
	if err := wire.Decode(g.sys.Now(), wire.MaxHeaderBytes, &now); err != nil {
		panic("portcullis: the host's clock does not answer: " + err.Error())
	}
	return time.UnixMilli(now.UnixMS).UTC()
}

// Random asks the host as often as p needs.
func (g *guest) Random(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), wire.MaxRandom)
		arg, err := json.Marshal(wire.RandomRequest{N: n})
		if err != nil {
			return err
		}
		got := g.sys.Random(arg)
		if len(got) != n {
			return Errorf(Unavailable, "asked the host for %d random bytes, got %d", n, len(got))
		}
		p = p[copy(p, got):]
	}
	return nil
}

// Setting asks the host, then the plugin's own defaults.
func (g *guest) Setting(name string) string {
	if v, ok := g.sys.Config(name); ok {
		return v
	}
	for _, s := range g.settings {
		if s.Name == name {
			return s.Default
		}
	}
	return ""
}

// ask sends one frame and takes one apart: header into reply, the body
// returned. It shares no code path with any one ability, so that it keeps none
// of them alive.
func ask(call func([]byte) []byte, request any, body []byte, reply any) ([]byte, error) {
	header, err := json.Marshal(request)
	if err != nil {
		return nil, Errorf(Failed, "encode the request: %v", err)
	}
	arg, err := wire.EncodeFrame(header, body)
	if err != nil {
		return nil, Errorf(TooLarge, "%v", err)
	}
	header, body, err = wire.SplitFrame(call(arg))
	if err == nil {
		err = wire.Decode(header, wire.MaxHeaderBytes, reply)
	}
	if err != nil {
		return nil, Errorf(Failed, "the host's answer is not understood: %v", err)
	}
	return body, nil
}

// refused gives a fault as an error without wrapping a nil pointer.
func refused(f *Fault) error {
	if f == nil {
		return nil
	}
	return f
}
