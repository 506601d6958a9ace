package plugintest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// world answers host functions.
type world struct {
	desc     wire.Description
	needs    []string // of the tool that runs
	looks    bool     // it may only look
	files    files
	keys     keys
	http     http.Handler
	now      time.Time
	settings map[string]string
	secrets  map[string]string // set by the test
	failures []failure
	logs     []wire.LogRecord
	progress []wire.Progress
	drawn    uint64 // blocks of randomness given out
}

type failure struct {
	function, about string
	fault           sdk.Fault
}

func newWorld(d wire.Description) *world {
	return &world{
		desc:     d,
		files:    files{".": {dir: true}},
		keys:     keys{entries: map[string]entry{}},
		now:      time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		settings: map[string]string{},
		secrets:  map[string]string{},
	}
}

// serve answers one host call. What a guest could not send fails the test.
func (w *world) serve(t testing.TB) func(function string, arg []byte) []byte {
	return func(function string, arg []byte) []byte {
		t.Helper()
		switch function {
		case sdk.ConfigGet:
			return w.setting(string(arg))
		case wire.ImportNow:
			return plain(t, wire.Now{UnixMS: w.now.UnixMilli()})
		case wire.ImportLog:
			w.logs = append(w.logs, decode[wire.LogRecord](t, arg, wire.MaxLogBytes))
			return nil
		case wire.ImportEmit:
			w.progress = append(w.progress, decode[wire.Progress](t, arg, wire.MaxProgress))
			return nil
		case wire.ImportRandom:
			return w.random(decode[wire.RandomRequest](t, arg, wire.MaxHeaderBytes).N)
		}
		header, body, err := wire.SplitFrame(arg)
		if err != nil {
			t.Fatalf("plugintest: %s: %v", function, err)
		}
		return w.framed(t, function, header, body)
	}
}

// setting is nil for one that nobody set; the guest then uses its own default.
func (w *world) setting(name string) []byte {
	if v, ok := w.settings[name]; ok {
		return append([]byte{}, v...)
	}
	return nil
}

// random is the same in every test, and different in every draw.
func (w *world) random(n int) []byte {
	if n < 1 || n > wire.MaxRandom {
		return nil
	}
	var out []byte
	for len(out) < n {
		w.drawn++
		sum := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("plugintest"), w.drawn))
		out = append(out, sum[:]...)
	}
	return out[:n]
}

// framed answers the functions that need a capability.
func (w *world) framed(t testing.TB, function string, header, body []byte) []byte {
	t.Helper()
	imp, ok := wire.LookupImport(wire.ModuleHost, function)
	if !ok {
		t.Fatalf("plugintest: there is no host function %s", function)
	}
	if fault := w.refusal(function, imp.Needs, header); fault != nil {
		return frame(t, wire.Ack{Fault: fault}, nil)
	}
	switch function {
	case wire.ImportHTTP:
		reply, out := w.exchange(decode[wire.HTTPRequest](t, header, wire.MaxHeaderBytes), body)
		return frame(t, reply, out)
	case wire.ImportSign:
		return w.sign(t, decode[wire.SignRequest](t, header, wire.MaxHeaderBytes), body)
	case wire.ImportKVGet, wire.ImportKVSet, wire.ImportKVDelete, wire.ImportKVList:
		return w.keys.serve(t, function, header, body)
	}
	return w.files.serve(t, w.now, function, header, body)
}

// refusal is the fault of a call that never reaches the fake: not asked for by
// the tool, or told to fail by the test.
func (w *world) refusal(function, needs string, header []byte) *sdk.Fault {
	granted := needs == ""
	for _, have := range w.needs {
		granted = granted || wire.Satisfies(have, needs)
	}
	if !granted {
		return &sdk.Fault{Code: sdk.Denied, Message: function + " needs " + needs + ": add sdk.Needs to the tool"}
	}
	var about struct{ Path, From, Key, URL, Prefix, Method string }
	if err := json.Unmarshal(header, &about); err != nil {
		return nil // the function itself reports what is wrong with it
	}
	if fault := w.overlooked(function, about.Method); fault != nil {
		return fault
	}
	for _, f := range w.failures {
		if f.function != function {
			continue
		}
		switch f.about {
		case "", about.Path + about.From + about.Key + about.URL + about.Prefix:
			return &f.fault
		}
	}
	return nil
}

// fit is how many entries of a page go into one frame's header.
func fit[E any](t testing.TB, entries []E) int {
	t.Helper()
	left := wire.MaxHeaderBytes - len(`{"entries":[],"more":true}`)
	for i, e := range entries {
		if left -= len(plain(t, e)) + 1; left < 0 {
			return i
		}
	}
	return len(entries)
}

func decode[T any](t testing.TB, data []byte, limit int) T {
	t.Helper()
	var v T
	if err := strict(data, limit, &v); err != nil {
		t.Fatalf("plugintest: the guest sent what no host takes: %v", err)
	}
	return v
}

func plain(t testing.TB, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	return out
}

func frame(t testing.TB, header any, body []byte) []byte {
	t.Helper()
	out, err := wire.EncodeFrame(plain(t, header), body)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	return out
}

// overlooked is the fault of a call that would change something while the tool may only look.
func (w *world) overlooked(function, method string) *sdk.Fault {
	if !w.looks {
		return nil
	}
	switch function {
	case wire.ImportKVSet, wire.ImportKVDelete:
		return &sdk.Fault{Code: sdk.Unavailable, Message: "the call that may write is over"}
	case wire.ImportHTTP:
		if method != http.MethodGet && method != http.MethodHead && method != "" {
			return &sdk.Fault{Code: sdk.Denied, Message: method + " changes something, and a tool that says what became of a call only looks"}
		}
	}
	return nil
}
