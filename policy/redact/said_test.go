package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/redact/redacttest"
	"pgregory.net/rapid"
)

func TestShortTextsHoldWholeMasks(t *testing.T) {
	set := known(t, "swordfish-42")
	for limit := range 60 {
		for _, text := range []string{"swordfish-42", "say swordfish-42 twice: swordfish-42", "é" + strings.Repeat("ü", 20)} {
			got := set.Short(redact.ForEvent, text, limit)
			rest := strings.ReplaceAll(got, "<redacted:PLANTED:bound>", "")
			if len(got) > limit || strings.ContainsAny(rest, "<>") || strings.Contains(got, "sword") || strings.ToValidUTF8(got, "") != got {
				t.Errorf("%d bytes of %q: %q", limit, text, got)
			}
		}
	}
	if got := set.Short(redact.ForOperator, "a swordfish-42 b", 100); got != "a <redacted:PLANTED> b" {
		t.Errorf("%q", got)
	}
	if got := set.Short(redact.ForModel, strings.Repeat("x", redact.MaxRaw+1), 20); got != redact.FailedText[:20] {
		t.Errorf("%q", got)
	}
}

func TestNamedValues(t *testing.T) {
	set := known(t, "swordfish-42")
	for _, c := range [][3]string{
		{"password", "sesame", "<redacted:password>"},
		{"X-Api-Key", "abc", "<redacted:X-Api-Key>"},
		{"password", "", ""},
		{"token", "null", "null"},
		{"token_count", "7", "7"},
		{"note", "a swordfish-42", "a <redacted:PLANTED>"},
		{"pass>word_secret", "y", "<redacted:pass_word_secret>"},
	} {
		if got := set.Named(redact.ForOperator, c[0], c[1]); got != c[2] {
			t.Errorf("%s=%s became %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// What a turn discovered in a result was somebody's to use; what the host holds was not.
func TestHoldsAsksForTheHostsOwnValues(t *testing.T) {
	const value = `aB3"dE'f&g<h>i/j\k=l+m%n;o`
	set := known(t, value)
	for _, e := range redacttest.All() {
		if name, held := set.Holds([]byte("before " + e.Encode(value) + " after")); !held || name != "PLANTED" {
			t.Errorf("%s: %q, %v", e.Name, name, held)
		}
	}
	learned := build(t, set, jsonOf(t, map[string]string{"api_key": "qx7Rk29LmZp4"})).Set()
	if learned.Len() != 2 {
		t.Fatalf("learned %v", learned.Names())
	}
	for _, text := range []string{"", "nothing", "qx7Rk29LmZp4", "password=hunter22hunter22"} {
		if name, held := learned.Holds([]byte(text)); held {
			t.Errorf("%q is said to hold %s", text, name)
		}
	}
	bomb := strings.Repeat("%2525&amp;amp;\\\\\\\\=3D3D+'\\'' "+strings.Repeat("34", 40)+strings.Repeat("5a6b", 40), 2048)
	if name, held := known(t, "one with a space").Holds([]byte(bomb)); !held || name != "" {
		t.Errorf("what cannot be searched holds %q, %v", name, held)
	}
	if _, held := (redact.Set{}).Holds([]byte(value)); held {
		t.Error("the empty set holds something")
	}
}

func TestJoin(t *testing.T) {
	a, b := known(t, "value-of-a-1"), redact.Set{}
	if a.Join(b).Len() != 1 || b.Join(a).Len() != 1 || a.Join(a).Len() != 1 {
		t.Error("joining changes what is known")
	}
	var many []redact.Secret
	for i := range redact.MaxSecrets {
		many = append(many, redact.NewSecret(fmt.Sprint("S", i), fmt.Sprint("value-number-", i)))
	}
	full, err := redact.Set{}.With(many...)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Join(full); got.Len() != redact.MaxSecrets || got.Text(redact.ForOperator, "value-number-7") != "<redacted:S7>" {
		t.Errorf("what is new gave way: %v", got)
	}
	if got := full.Join(a); got.Text(redact.ForOperator, "value-of-a-1") != "<redacted:PLANTED>" {
		t.Errorf("%v", got)
	}
}

// What stands behind a scheme, in a pair or in a cookie is a value of its own, and is hidden where it stands alone.
func TestTheCredentialInAValueIsHiddenAlone(t *testing.T) {
	const value = "hEa94plGs31yNe"
	pair := base64.StdEncoding.EncodeToString([]byte("ann:" + value))
	for name, doc := range map[string]any{
		"bearer":         map[string]any{"Authorization": "Bearer " + value},
		"basic":          map[string]any{"headers": map[string]any{"Authorization": "Basic " + pair}},
		"basic, in text": map[string]any{"out": "> Authorization: Basic " + pair},
		"digest":         map[string]any{"authorization": `Digest username="ann", response="` + value + `"`},
		"cookie":         map[string]any{"Cookie": "theme=dark; sid=" + value},
		"cookie, text":   map[string]any{"out": "Set-Cookie: sid=" + value + "; Path=/; HttpOnly"},
	} {
		v := build(t, redact.Set{}, jsonOf(t, []any{doc, "used " + value + " today", "SGkg" + base64.StdEncoding.EncodeToString([]byte(value))}))
		for _, a := range everyone {
			if s := inside(t, v.View(a)); strings.Contains(s, value) || redacttest.Leak(s, base64.StdEncoding.EncodeToString([]byte(value)), "") != "" {
				t.Errorf("%s: %s shows %s", name, a, s)
			}
		}
	}
}

// The words around a credential are no secrets: they stay where they stand alone.
func TestTheWordsAroundACredentialStay(t *testing.T) {
	v := build(t, redact.Set{}, jsonOf(t, []any{
		map[string]string{"secret": "kept in https://vault.example.com/page1 by administrator-0017"},
		"curl -H Authorization: Bearer hEa94plGs31yNe https://api.example.com/v1/items17 and more",
		"see https://vault.example.com/page1, ask administrator-0017, call https://api.example.com/v1/items17",
	}))
	if s := v.Durable.String(); !strings.Contains(s, "see https://vault.example.com/page1, ask administrator-0017, call https://api.example.com/v1/items17") || strings.Contains(s, "hEa94") {
		t.Error(s)
	}
}

func TestAMaskIsFoundHoweverItIsWritten(t *testing.T) {
	for _, e := range redacttest.All() {
		if !redact.ContainsSentinel([]byte(`{"a":"x ` + e.Encode("["+redact.Sentinel+":field]") + ` y"}`)) {
			t.Errorf("%s: not found", e.Name)
		}
	}
	for text, want := range map[string]bool{
		`{"redacted":true,"name":"A","source":"bound"}`:                             true,
		`{ "source" : "url", "name" : "A", "redacted" : true }`:                     true,
		`{"a":{"fingerprint":"00","name":"A","redacted":true,"source":"shape"}}`:    true,
		`{"a":"{\"redacted\":true,\"name\":\"A\",\"source\":\"bound\"}"}`:           true,
		`{"a":{"redacted":true},"b":{"redacted":true,"name":"A","source":"field"}}`: true,
		`{"redacted":true,"name":"A","source":"somewhere"}`:                         false,
		`{"redacted":true,"name":"A","source":"bound","more":1}`:                    false,
		`{"redacted":true,"name":"A"}`:                                              false,
		`{"redacted":"true","name":"A","source":"bound"}`:                           false,
		`"redacted"`: false, `{"redacted"`: false, `}"redacted"{`: false,
	} {
		if redact.ContainsSentinel([]byte(text)) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
}

// A text is looked at in windows: a mask is found at every place in them, behind and before letters of its own.
func TestAMaskIsFoundWhereverItStands(t *testing.T) {
	for _, mask := range []string{
		redact.Sentinel, "tsoh-yb-detcader-silluctrop", "<redacted:NAME>", `{"redacted":true,"name":"A","source":"bound"}`,
	} {
		for _, around := range []string{"x", "r", "d", "re", "redac", "detcade", "ed", "-"} {
			for n := range 24 {
				before := strings.Repeat(around, n)
				for _, after := range []string{"", around, before} {
					if !redact.ContainsSentinel([]byte(before + mask + after)) {
						t.Errorf("%s is not found between %q and %q", mask, before, after)
					}
				}
			}
		}
	}
}

// TestNoCompositionOfEncodingsKeepsAValue draws a value, encodings inside each other, and what stands around, and holds
// that nothing of the value is left, in a text, in JSON, and when it arrives in pieces.
func TestNoCompositionOfEncodingsKeepsAValue(t *testing.T) {
	rapid.Check(t, composed)
}

// FuzzCompositions lets a fuzzer draw.
func FuzzCompositions(f *testing.F) { f.Fuzz(rapid.MakeFuzz(composed)) }

func composed(t *rapid.T) {
	value := rapid.StringMatching(`[A-Za-z0-9][!-~]{7}[ -~]{0,24}[!-~]{3}[A-Za-z0-9]`).
		Filter(func(v string) bool { return redact.NewSecret("DRAWN", v).Check() == "" }).Draw(t, "value")
	secret := redact.NewSecret("DRAWN", value)
	set, err := redact.Set{}.With(secret)
	if err != nil {
		t.Fatal(err)
	}
	text, names := value, ""
	encode := func(s string) string { return s }
	for range rapid.IntRange(0, 2).Draw(t, "layers") {
		e := rapid.SampledFrom(reversible()).Draw(t, "encoding")
		inner := encode
		text, names, encode = e.Encode(text), names+" "+e.Name, func(s string) string { return e.Encode(inner(s)) }
	}
	around := rapid.StringMatching(`[ a-z.\n]{0,40}`)
	whole := around.Draw(t, "before") + "\n" + text + "\n" + around.Draw(t, "behind")
	unplanted := redacttest.Others(encode, value) + whole[:len(whole)-len(text)]
	quoted, err := json.Marshal([]string{whole})
	if err != nil {
		t.Fatal(err)
	}
	cut := rapid.IntRange(0, len(whole)).Draw(t, "cut")
	asJSON, err := redact.Build(set, limits(redact.Limit{Bytes: 1 << 20, String: 1 << 20, Items: 9, Depth: 9}), redact.JSON(quoted))
	if err != nil {
		t.Fatalf("%s: %v", names, err)
	}
	shown := map[string]string{"text": set.Text(redact.ForModel, whole), "JSON": asJSON.Model.String()}
	if len(text) <= redact.NewStream(set, redact.ForModel).HoldBack() || !strings.ContainsAny(text, " \n") { // what a stream promises
		shown["pieces"] = stream(set, redact.ForModel, whole[:cut], whole[cut:])
	}
	for how, got := range shown {
		if !strings.Contains(got, redact.Sentinel) {
			t.Fatalf("%q as%s in %s: nothing was found in %q: %q", value, names, how, whole, got)
		}
		if part := redacttest.Leak(got, text, unplanted); part != "" && len(text) >= len(value) {
			t.Fatalf("%q as%s in %s: %q is left of %q: %q", value, names, how, part, whole, got)
		}
	}
}

// reversible are the encodings that may stand inside each other. A JWT, a mail or a basic pair brings text of its own, and
// what is backwards or UTF-16 is found in one layer only.
func reversible() []redacttest.Encoding {
	var out []redacttest.Encoding
	for _, e := range redacttest.All() {
		switch e.Name {
		case "jwt payload", "base64 in 76 columns", "quoted-printable", "basic auth pair", "backwards", "base64 twice, backwards", "base64 of backwards",
			"utf-16le", "utf-16be", "utf-16 base64", "base64 twice", "percent twice", "percent full x3", "json twice", "percent in base64", "base64 in percent":
			continue
		}
		if !strings.HasSuffix(e.Name, "both") {
			out = append(out, e)
		}
	}
	return out
}
