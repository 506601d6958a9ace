package sandbox

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/go-json-experiment/json/jsontext"
)

// The guest gets the very bytes that were approved, inside a call it can read.
func TestCallCarriesTheApprovedBytes(t *testing.T) {
	in, err := encodeCall(effect.Call{Effect: "eff_1", Tool: "demo.run", Arguments: []byte(`{"b":1, "a":[2]}`)})
	if want := `{"id":"eff_1","tool":"demo.run","args":{"b":1, "a":[2]}}`; err != nil || string(in) != want {
		t.Fatalf("call %s, want %s; %v", in, want, err)
	}
	var call wire.Call
	if err := decodeStrict(in, wire.MaxCallBytes, &call); err != nil || call.ID != "eff_1" || call.Tool != "demo.run" || string(call.Args) != `{"b":1, "a":[2]}` {
		t.Errorf("the guest reads %+v, %v", call, err)
	}
}

// What a plugin was not granted at load stays denied whatever the call says.
func TestCallCannotWidenTheGrant(t *testing.T) {
	e, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	wasm, err := os.ReadFile("testdata/describe.wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.load(t.Context(), original{wasm: wasm}, digestOf(wasm), spec{name: "p", exports: []string{wire.ExportDescribe}, limits: LimitsOf(wire.Limits{}), describing: true})
	if err != nil {
		t.Fatal(err)
	}
	out := p.Call(t.Context(), wire.ExportDescribe, nil, CallOptions{Abilities: ^Abilities(0)})
	if out.Status != OK || !bytes.Contains(out.Output, []byte(`"denied"`)) {
		t.Errorf("%s: %q", out.Status, out.Output)
	}
}

// An accepted reply has exactly one member, and its result is strict JSON that
// reads the same again.
func FuzzDecodeReply(f *testing.F) {
	for _, s := range []string{`{"result":{"a":[1,2.5e3,"x\u00e9"]}}`, `{"fault":{"code":"denied","message":"no"}}`, `{"result":1,"result":2}`, `{"result":{"a":1,"a":1}}`, `{"Result":1}`, `{}`, "{\"result\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeReply(data)
		if err != nil {
			return
		}
		if (r.fault == nil) == (r.result.Len() == 0) {
			t.Fatalf("%q gave both or neither", data)
		}
		if r.fault != nil {
			if !r.fault.Code.Known() {
				t.Fatalf("%q gave the code %q", data, r.fault.Code)
			}
			return
		}
		if v := jsontext.Value(r.result.Bytes()); !v.IsValid() {
			t.Fatalf("%q gave a result that is not JSON: %q", data, v)
		}
		again, err := decodeReply(append(append([]byte(`{"result":`), r.result.Bytes()...), '}'))
		if err != nil || !bytes.Equal(again.result.Bytes(), r.result.Bytes()) {
			t.Fatalf("%q does not read the same again: %v", data, err)
		}
	})
}

// Arguments that the gate did not read are read before they go out: what was read must be what is sent.
func TestCallReadsWhatTheGateDidNot(t *testing.T) {
	read, err := document.ParseStrict([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	for args, goes := range map[string]bool{`{"a":1}`: true, `{"a":1,"a":2}`: false, `[1]`: false, `{"a":1}{}`: false, `{"b":2}`: true} {
		in, err := encodeCall(effect.Call{Effect: "eff_1", Tool: "demo.run", Arguments: []byte(args), Read: read})
		if (err == nil) != goes || goes && !bytes.Contains(in, []byte(args)) {
			t.Errorf("arguments %s: %s, %v", args, in, err)
		}
	}
}
