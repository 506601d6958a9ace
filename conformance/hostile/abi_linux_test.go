package hostile_test

import (
	"fmt"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// abiGuests break the rules by which a guest and its host talk.
func abiGuests() []guest {
	trap := func(name, rule string) guest {
		return guest{name: name, status: effect.Failed, reason: "guest_trap", says: rule}
	}
	failed := func(name, reason, says string) guest {
		return guest{name: name, status: effect.Failed, reason: reason, says: says}
	}
	return []guest{
		failed("output-zero", "bad_output_range", "output_range"),
		failed("output-past-end", "bad_output_range", "output_range"),
		failed("output-two-blocks", "bad_output_range", "output_range"),
		failed("output-overflow", "output_too_large", "output_limit"),
		failed("output-freed", "bad_output_range", "output_range"),
		{name: "output-of-input", status: effect.Succeeded, says: `{"ok":true}`},
		failed("code-without-error", "guest_error", "rc_7"),
		{name: "code-with-output", status: effect.Failed, reason: "guest_error", says: "rc_4294967295", hides: []string{`"ok"`}},
		failed("zero-without-output", "no_output", ""),
		failed("empty-output", "bad_reply", ""),
		{name: "error-and-output", status: effect.Succeeded, says: `{"ok":true}`, hides: []string{"approved"}},
		failed("error-and-zero", "no_output", "something is wrong"),
		trap("error-out-of-range", "error_range"),
		failed("exit-after-output", "guest_exited", "exit_0"),
		failed("exit-as-deadline", "guest_exited", ""),
		failed("exit-as-cancelled", "guest_exited", ""),
		{name: "trap-after-output", status: effect.Failed, reason: "guest_trap", hides: []string{`"ok"`}},
		trap("store-past-block", "store_range"),
		trap("store-word-past-block", "store_range"),
		trap("store-header", "store_range"),
		trap("store-freed", "store_range"),
		trap("load-freed", "load_range"),
		{name: "free-twice", status: effect.Succeeded, says: `{"ok":true}`},
		{name: "free-output", status: effect.Succeeded, says: `{"ok":true}`},
		trap("copy-past-memory", "memory_range"),
		trap("copy-into-past-memory", "memory_range"),
		trap("copy-past-block", "load_range"),
		trap("copy-without-memory", "memory_range"),
		{name: "bad-pointers", play: eachPointer, status: effect.Failed, reason: "guest_trap", says: "argument_range"},
		{name: "frame-lies", status: effect.Succeeded, says: `"invalid"`},
		{name: "request-twice", status: effect.Succeeded, says: `"invalid"`},
		failed("invalid-utf8", "bad_reply", ""),
		failed("duplicate-keys", "bad_reply", ""),
		failed("duplicate-inner-keys", "bad_reply", ""),
		failed("folded-keys", "bad_reply", ""),
		failed("nan", "bad_reply", ""),
		failed("huge-number", "output_not_json", "double"),
		failed("trailing", "bad_reply", ""),
		failed("both", "bad_reply", ""),
		failed("neither", "bad_reply", ""),
		failed("unknown-fault", "bad_reply", ""),
		failed("null-result", "output_schema", ""),
		{
			name: "wrong-schema", status: effect.Failed, reason: "output_schema",
			edit: func(m *manifest.Manifest) {
				m.Tools[0].OutputSchema = []byte(`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`)
			},
		},
		failed("deep-json", "bad_reply", ""),
		failed("wrong-export-type", "plugin_export", "wrong type"),
		failed("missing-export", "plugin_export", "does not export"),
		failed("export-not-function", "plugin_export", "does not export"),
		failed("shadow-fuel", "plugin_malformed", "belongs to the host"),
		failed("shadow-yield", "plugin_import", "portcullis.yield"),
		failed("import-wrong-type", "plugin_import", "wrong type"),
		failed("import-memory", "plugin_import", "shares no memory"),
	}
}

// eachPointer hands every host function that takes a block every offset that is none. The last answer stands for all.
func eachPointer(t *testing.T, w *world, p installed) (last answer) {
	const functions, offsets = 22, 6
	for f := range functions {
		for o := range offsets {
			last = w.call(t, p, fmt.Sprintf(`{"f":"%c","p":"%c"}`, 'A'+f, 'A'+o))
			if last.status != effect.Failed || last.reason != "guest_trap" {
				t.Errorf("function %d with offset %d ended with %s", f, o, last)
			}
		}
	}
	return w.call(t, p, `{"f":"A","p":"A"}`)
}
