package sdk

import (
	"context"
	"encoding/json"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// What options add is read and written as encoding/json does it.
func TestOptionsAddTypes(t *testing.T) {
	type inner struct {
		At time.Time `json:"at"`
	}
	type io struct {
		At    time.Time                 `json:"at"`
		Maybe *time.Time                `json:"maybe,omitempty"`
		Zero  time.Time                 `json:"zero,omitzero"`
		Addr  netip.Addr                `json:"addr"`
		ByKey map[string]inner          `json:"by_key"`
		Lists map[string][]string       `json:"lists"`
		N     json.Number               `json:"n"`
		Addrs map[string]netip.AddrPort `json:"addrs,omitempty"`
	}
	echo := Tool("demo.echo", "d", func(_ context.Context, v io, _ Host) (io, error) { return v, nil },
		Times(), Text[netip.Addr](), Text[netip.AddrPort](), Maps[string, inner](), Maps[string, []string](), Maps[string, netip.AddrPort]())
	p := program(t, echo)
	const args = `{"at":"2026-03-01T09:30:00.5+02:00","addr":"192.0.2.1","by_key":{"k":{"at":"2026-03-01T09:30:00Z"}},"lists":{"a":["b"],"c":[]},"n":1e3,"addrs":{"p":"192.0.2.1:80"}}`
	var v io
	if err := json.Unmarshal([]byte(args), &v); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := invoke(t, p, "demo.echo", args); string(got.Result) != string(want) {
		t.Errorf("got  %s %v\nwant %s", got.Result, got.Fault, want)
	}
	for _, c := range []struct{ args, says string }{
		{strings.Replace(args, "T09:30:00Z", "T25:30:00Z", 1), "by_key.k.at: "},
		{strings.Replace(args, "192.0.2.1", "192.0.2.256", 1), "addr: "},
		{strings.Replace(args, `"c":[]`, `"a":[]`, 1), `lists: duplicate field "a"`},
	} {
		if f := invoke(t, p, "demo.echo", c.args).Fault; f == nil || f.Code != Invalid || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s\n gave %v, want %s", c.args, f, c.says)
		}
	}
}

func TestAnyHoldsWhatCanBeReached(t *testing.T) {
	type point struct {
		X int `json:"x"`
	}
	for _, c := range []struct {
		holds any
		want  string
		says  string
	}{
		{nil, `null`, ""},
		{map[string]any{"b": []any{1, "x", 2.5, true, nil}, "a": map[string]string{"k": "v"}}, `{"a":{"k":"v"},"b":[1,"x",2.5,true,null]}`, ""},
		{&point{3}, `{"x":3}`, ""},
		{[]point{{1}, {2}}, `[{"x":1},{"x":2}]`, ""},
		{[]point(nil), `null`, ""},
		{[]byte("hi"), `"aGk="`, ""},
		{json.RawMessage(`{"a": 1}`), `{"a":1}`, ""},
		{json.Number("12"), `12`, ""},
		{LevelWarn, `"warn"`, ""},
		{int8(-3), `-3`, ""},
		{uint64(math.MaxUint64), `18446744073709551615`, ""},
		{float32(0.1), `0.1`, ""},
		{map[string]int{"b": 2, "a": 1}, `{"a":1,"b":2}`, ""},
		{map[string]int(nil), `null`, ""},
		{&map[string]bool{"a": true}, `{"a":true}`, ""},
		{map[string]point{"p": {3}}, `{"p":{"x":3}}`, ""},
		{[]map[string]point{{"p": {3}}}, `[{"p":{"x":3}}]`, ""},
		{&struct{ V any }{map[string]point{"p": {3}}}, `{"V":{"p":{"x":3}}}`, ""},
		{map[string]any{"m": map[string]point{}}, `{"m":{}}`, ""},
		{&time.Time{}, `"0001-01-01T00:00:00Z"`, ""},
		{map[string]nothing{}, "", "needs the option sdk.Maps[string, sdk.nothing]() of its tool"},
		{point{3}, "", "put a pointer to it there"},
		{func() {}, "", "has no JSON Schema"},
		{math.NaN(), "", "JSON does not have"},
	} {
		p := program(t, Tool("demo.any", "d", func(context.Context, nothing, Host) (map[string]any, error) {
			return map[string]any{"v": c.holds}, nil
		}, Maps[string, point](), Times()))
		r := invoke(t, p, "demo.any", `{}`)
		switch {
		case c.says == "" && string(r.Result) != `{"v":`+c.want+`}`:
			t.Errorf("%T gave %s, %v", c.holds, r.Result, r.Fault)
		case c.says != "" && (r.Fault == nil || !strings.Contains(r.Fault.Message, c.says)):
			t.Errorf("%T gave %s, %v", c.holds, r.Result, r.Fault)
		}
	}
}

func TestJSONOf(t *testing.T) {
	type kept struct {
		Tags []string `json:"tags"`
		N    int      `json:"n,omitempty"`
	}
	j := JSONOf[kept]()
	out, err := j.Encode(kept{N: 2})
	if err != nil || string(out) != `{"tags":[],"n":2}` {
		t.Fatalf("Encode = %s, %v", out, err)
	}
	v, err := j.Decode([]byte(`{"n":3,"tags":["a"]}`))
	if err != nil || v.N != 3 || v.Tags[0] != "a" {
		t.Fatalf("Decode = %+v, %v", v, err)
	}
	for _, bad := range []string{`{"m":1}`, `{"n":1,"n":2}`, `{"n":1}x`, ``} {
		if _, err := j.Decode([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "sdk: decode: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if got := panicOf(func() { JSONOf[chan int]() }); !strings.Contains(got, "chan int has no JSON") {
		t.Errorf("a channel: %q", got)
	}
}

// Messages are written by hand in a guest. This is the contract they must be of.
func TestWrittenMessagesAreThoseOfTheContract(t *testing.T) {
	var asked []string
	p := &Program{}
	h := p.NativeHost(func(function string, arg []byte) []byte {
		if function != wire.ImportLog && function != wire.ImportEmit && function != wire.ImportRandom {
			head, _, err := wire.SplitFrame(arg)
			if err != nil {
				t.Fatal(err)
			}
			arg = head
		}
		asked = append(asked, string(arg))
		frame, _ := wire.EncodeFrame([]byte(`{"fault":null}`), nil)
		return frame
	})
	seven := int64(7)
	h.Log(LevelWarn, "a \"line\"", "k", 1, "odd")
	h.Progress("half", 1, 2)
	_ = h.Random(make([]byte, 5))
	_, _ = h.Do(t.Context(), &Request{URL: "https://a.example/", Header: Header{"B": {"1", "2"}, "A": nil}, Timeout: time.Second, MaxBody: 9, NoRedirect: true})
	_, _ = h.Files().Stat("a")
	_, _, _ = h.Files().read("a", 3, 4)
	_, _ = h.Files().ReadDir("a")
	_ = h.Files().WriteFile("a", []byte("x"), Create)
	_ = h.Files().MkdirAll("a")
	_ = h.Files().Remove("a")
	_ = h.Files().Rename("a", "b")
	_, _, _ = h.KV().Get("k")
	_, _ = h.KV().CompareAndSet("k", nil, 7)
	_ = h.KV().Delete("k")
	for range h.KV().List("p") {
	}
	for i, want := range []any{
		wire.LogRecord{Level: "warn", Message: "a \"line\"", Attrs: []wire.Attr{{Key: "k", Value: "1"}, {Key: "odd"}}},
		wire.Progress{Message: "half", Done: 1, Total: 2},
		wire.RandomRequest{N: 5},
		wire.HTTPRequest{Method: "GET", URL: "https://a.example/", Headers: map[string][]string{"A": {}, "B": {"1", "2"}}, TimeoutMS: 1000, MaxBytes: 9, NoRedirect: true},
		wire.FSStatRequest{Path: "a"},
		wire.FSReadRequest{Path: "a", Offset: 3, Length: 4},
		wire.FSListRequest{Path: "a"},
		wire.FSWriteRequest{Path: "a", Mode: wire.WriteCreate},
		wire.FSMkdirRequest{Path: "a"},
		wire.FSRemoveRequest{Path: "a"},
		wire.FSRenameRequest{From: "a", To: "b"},
		wire.KVGetRequest{Key: "k"},
		wire.KVSetRequest{Key: "k", IfVersion: &seven},
		wire.KVDeleteRequest{Key: "k"},
		wire.KVListRequest{Prefix: "p"},
	} {
		text, err := json.Marshal(want)
		if err != nil || i >= len(asked) || asked[i] != string(text) {
			t.Errorf("%T: %q, want %s", want, asked[min(i, len(asked)-1)], text)
		}
	}
}
