package sandbox

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/go-json-experiment/json/jsontext"
)

// The guest gets the very bytes that were approved, inside a call it can read.
func TestCallCarriesTheApprovedBytes(t *testing.T) {
	in := []byte("what an earlier call was given, which is longer than what this one will be")
	err := encodeCall(&in, effect.Call{Effect: "eff_1", Tool: "demo.run", Arguments: []byte(`{"b":1, "a":[2]}`)})
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
		r, err := decodeReply(nil, data)
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
		again, err := decodeReply(nil, append(append([]byte(`{"result":`), r.result.Bytes()...), '}'))
		if err != nil || !bytes.Equal(again.result.Bytes(), r.result.Bytes()) {
			t.Fatalf("%q does not read the same again: %v", data, err)
		}
	})
}

// What a call was given is written over by a later one: a port that keeps a block, and what the guest wrote to one, must not be.
func TestNobodyElseHoldsWhatAPortIsGiven(t *testing.T) {
	for name, take := range map[string]func(*arena, uint64) ([]byte, bool){
		"whole": (*arena).whole,
		"edit":  func(a *arena, off uint64) ([]byte, bool) { return a.edit(off, 5) },
	} {
		input := []byte("input")
		a := newArena(&budget{limit: 1 << 20})
		off, _ := a.put(input, true)
		kept, ok := take(&a, off)
		copy(input, "other")
		if !ok || string(kept) != "input" {
			t.Errorf("%s: %q, %v", name, kept, ok)
		}
		if again, ok := a.view(off, 5); !ok || &again[0] != &kept[0] {
			t.Errorf("%s: the block is %q now", name, again)
		}
	}
}

// Arguments that the gate did not read are read before they go out: what was read must be what is sent.
func TestCallReadsWhatTheGateDidNot(t *testing.T) {
	read, err := document.ParseStrict([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	for args, goes := range map[string]bool{`{"a":1}`: true, `{"a":1,"a":2}`: false, `[1]`: false, `{"a":1}{}`: false, `{"b":2}`: true} {
		var in []byte
		err = encodeCall(&in, effect.Call{Effect: "eff_1", Tool: "demo.run", Arguments: []byte(args), Read: read})
		if (err == nil) != goes || goes && !bytes.Contains(in, []byte(args)) {
			t.Errorf("arguments %s: %s, %v", args, in, err)
		}
	}
}

// A share lasts as long as a plugin of its name is loaded or one of its calls runs, and no longer.
func TestSharesAreForgotten(t *testing.T) {
	e := openFresh(t, Config{})
	first, again := loadFresh(t, e, "state", stateExports...), loadFresh(t, e, "state", stateExports...)
	kept := first.share
	if again.share != kept || len(e.shares) != 1 {
		t.Fatalf("one plugin has %d shares", len(e.shares))
	}
	kept.slots <- struct{}{} // a call
	for _, p := range []*Plugin{first, again} {
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if third := loadFresh(t, e, "state", stateExports...); third.share != kept {
		t.Error("a plugin that is loaded again while its call runs got more than its share")
	} else if <-kept.slots; third.Close(t.Context()) != nil || len(e.shares) != 0 {
		t.Errorf("%d shares are kept for nobody", len(e.shares))
	}
}

// A caller's deadline serves as the call's own when it is the same moment, and not when it is later.
func TestACallersDeadlineServesWhenItIsTheSame(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if !endsSoonEnough(ctx, time.Hour) || endsSoonEnough(ctx, time.Hour-time.Minute) || endsSoonEnough(t.Context(), time.Hour) {
		t.Error("the deadline of a call is not the sooner one")
	}
}
