package sandbox

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/go-json-experiment/json"
)

// What is accepted says one thing only, in a form that can be shown, and reads the same again.
func FuzzDecodeReconciliation(f *testing.F) {
	for _, s := range []string{
		`{"state":"committed","reference":"msg-1"}`, `{"state":"not_found"}`, `{"state":"unknown"}`, `{"fault":{"code":"io","message":"no"}}`,
		`{"state":"committed","state":"unknown"}`, `{"State":"committed"}`, `{"state":"unknown","reference":"x"}`, `{"state":"sent"}`, `{}`, `null`,
		`{"state":"committed","reference":"a\nb"}`, "{\"state\":\"committed\",\"reference\":\"\xff\"}", `{"state":"committed","fault":{"code":"io"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeReconciliation(data)
		if err != nil {
			if r != (wire.Reconciliation{}) && r.Check() == nil {
				t.Fatalf("%q was refused and gave %+v", data, r)
			}
			return
		}
		if (r.Fault == nil) == (r.State == "") {
			t.Fatalf("%q gave both or neither: %+v", data, r)
		}
		if r.Reference != "" && (r.State != wire.Committed || len(r.Reference) > wire.MaxReference || strings.ContainsAny(r.Reference, "\n\r\x00\x1b")) {
			t.Fatalf("%q gave the reference %q", data, r.Reference)
		}
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decodeReconciliation(out); err != nil || again.State != r.State || again.Reference != r.Reference {
			t.Fatalf("%q reads %+v and then %+v (%v)", data, r, again, err)
		}
	})
}

// keeping is a store of one value.
type keeping struct {
	KV
	writes int
}

func (k *keeping) Get(context.Context, KVScope, string) ([]byte, int64, error) {
	return []byte("kept"), 1, nil
}

func (k *keeping) Set(context.Context, KVScope, string, []byte, *int64) (int64, bool, error) {
	k.writes++
	return 2, true, nil
}

func TestWhoeverLooksReadsValuesAndWritesNone(t *testing.T) {
	under := &keeping{}
	kv, scope := lookingKV{under}, KVScope{Turn: "trn_1"}
	if value, version, err := kv.Get(t.Context(), scope, "k"); string(value) != "kept" || version != 1 || err != nil {
		t.Errorf("read %q, %d, %v", value, version, err)
	}
	var over *KVOverError
	if _, ok, err := kv.Set(t.Context(), scope, "k", nil, nil); ok || !errors.As(err, &over) {
		t.Errorf("set: %v, %v", ok, err)
	}
	if ok, err := kv.Delete(t.Context(), scope, "k", nil); ok || !errors.As(err, &over) {
		t.Errorf("delete: %v, %v", ok, err)
	}
	if under.writes != 0 {
		t.Errorf("%d writes came through", under.writes)
	}
}

func TestAReconciliationSaysOneThing(t *testing.T) {
	for text, good := range map[string]bool{
		`{"state":"committed","reference":"msg-1"}`: true, `{"state":"not_found"}`: true, `{"state":"unknown"}`: true,
		`{"fault":{"code":"io","message":"no"}}`: true,
		`{"state":"sent"}`:                       false, `{}`: false, `{"state":"not_found","reference":"msg-1"}`: false,
		`{"state":"committed","fault":{"code":"io","message":""}}`: false, `{"state":"committed","extra":1}`: false,
		`{"state":"committed","reference":"` + strings.Repeat("x", wire.MaxReference+1) + `"}`: false,
	} {
		if r, err := decodeReconciliation([]byte(text)); (err == nil) != good {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}
