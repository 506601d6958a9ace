package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/conformance/checkout"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"pgregory.net/rapid"
)

func TestTheFiveMasks(t *testing.T) {
	set := known(t, "swordfish-42")
	fp := redact.NewSecret("", "swordfish-42").Fingerprint()
	sentinel := "[" + redact.Sentinel + ":bound]"
	v := build(t, set, jsonOf(t, map[string]any{"a": "swordfish-42", "b": "x swordfish-42 y"}))
	for a, want := range map[redact.Audience]string{
		redact.ForModel:    `{"a":"` + sentinel + `","b":"x ` + sentinel + ` y"}`,
		redact.ForOperator: `{"a":"<redacted:PLANTED>","b":"x <redacted:PLANTED> y"}`,
		redact.ForEvent:    `{"a":{"redacted":true,"name":"PLANTED","source":"bound"},"b":"x <redacted:PLANTED:bound> y"}`,
		redact.ForDurable:  `{"a":{"redacted":true,"name":"PLANTED","source":"bound"},"b":"x <redacted:PLANTED:bound> y"}`,
		redact.ForDebug: `{"a":{"redacted":true,"name":"PLANTED","source":"bound","fingerprint":"` + fp +
			`"},"b":"x <redacted:PLANTED:bound:` + fp + `> y"}`,
	} {
		if got := v.View(a); got.String() != want || !got.IsJSON() || string(got.JSON()) != want || !got.Cut().Zero() {
			t.Errorf("%s: %s\nwant %s", a, got, want)
		}
	}
	if want := []redact.Found{{Name: "PLANTED", Source: redact.Bound, Count: 2}}; !reflect.DeepEqual(v.Found, want) {
		t.Errorf("Found = %v", v.Found)
	}
	text := build(t, set, redact.Text(`say "swordfish-42"`))
	if string(text.Operator.JSON()) != `"say \"<redacted:PLANTED>\""` || text.Operator.IsJSON() {
		t.Errorf("text as JSON: %s", text.Operator.JSON())
	}
	if text.View(redact.Audience(9)).String() != text.Model.String() || redact.Audience(9).String() != "audience 9" || redact.ForDebug.String() != "debug" {
		t.Error("an unknown audience gets more than the model")
	}
}

func TestSensitiveFieldsAreOpaque(t *testing.T) {
	raw := `{"user":"ann","password":"p","api_key":12345,"Authorization":{"scheme":"Bearer","v":["abc"]},"token":"","secret":null,` +
		`"has_secret":true,"token_count":7,"max_tokens":9,"nextPageToken":"CAUQAA","nested":[{"clientSecret":"xx"}],"cookies":[]}`
	v := build(t, redact.Set{}, redact.JSON([]byte(raw)))
	want := `{"user":"ann","password":"<redacted:password>","api_key":"<redacted:api_key>","Authorization":"<redacted:Authorization>","token":"","secret":null,` +
		`"has_secret":true,"token_count":7,"max_tokens":9,"nextPageToken":"CAUQAA","nested":[{"clientSecret":"<redacted:clientSecret>"}],"cookies":[]}`
	if v.Operator.String() != want {
		t.Errorf("%s\nwant %s", v.Operator, want)
	}
	for _, a := range everyone {
		if s := inside(t, v.View(a)); strings.Contains(s, "Bearer") || strings.Contains(s, "12345") || strings.Contains(s, "scheme") {
			t.Errorf("%s: %s", a, s)
		}
	}
}

// Which secret is meant has to be readable; a value beside the name hides both.
func TestNamesOfSecretsAreNoSecrets(t *testing.T) {
	set, err := redact.Set{}.With(redact.NewSecret("GITHUB_TOKEN", "ghx-value-of-it-77"))
	if err != nil {
		t.Fatal(err)
	}
	for doc, want := range map[string]string{
		`{"secrets":{"GH_TOKEN":"GITHUB_TOKEN"}}`:       `{"secrets":{"GH_TOKEN":"GITHUB_TOKEN"}}`,
		`{"secrets":{"A":"GITHUB_TOKEN","B":"OTHER"}}`:  `{"secrets":"<redacted:secrets>"}`,
		`{"secrets":{"A":"GITHUB_TOKEN","B":1}}`:        `{"secrets":"<redacted:secrets>"}`,
		`{"secrets":{"GH_TOKEN":"ghx-value-of-it-77"}}`: `{"secrets":"<redacted:secrets>"}`,
	} {
		views, err := redact.Build(set, redact.DefaultBounds(), redact.JSON([]byte(doc)))
		if err != nil || views.Operator.String() != want {
			t.Errorf("%s is shown as %s, want %s (%v)", doc, views.Operator, want, err)
		}
	}
}

func TestSensitiveNames(t *testing.T) {
	for _, name := range []string{
		"password", "Password", "PASSWORD", "db_password", "userPassword", "passwd", "passphrase", "secret", "secrets", "client_secret",
		"clientSecret", "CLIENT-SECRET", "token", "access_token", "refreshToken", "id_token", "idToken", "x-auth-token", "bot.token", "GITHUB_TOKEN",
		"api_key", "apiKey", "APIKey", "X-Api-Key", "apikey", "access_key", "secretAccessKey", "aws_secret_access_key", "private_key", "privateKey",
		"signing_key", "credential", "credentials", "Authorization", "Proxy-Authorization", "cookie", "Set-Cookie", "connection_string",
		"db_pwd", "spring.datasource.password", "password_hash", "AccountKey",
	} {
		if !redact.Sensitive(name) {
			t.Errorf("%q is not sensitive", name)
		}
	}
	for _, name := range []string{
		"", "a", "user", "token_count", "tokenCount", "max_tokens", "tokens", "prompt_tokens", "token_type", "token_url", "tokenizer", "next_page_token",
		"nextPageToken", "continuation_token", "syncToken", "eos_token", "key", "public_key", "primary_key", "keyboard", "monkey", "secretary",
		"secret_name", "password_policy", "passwordless", "author", "authority", "authorized", "cookie_policy", "pwd", "session_id", "sessionId",
		"compass", "pass", "url", "connection", "hash", "commit_hash", strings.Repeat("x", 200) + "_password",
	} {
		if redact.Sensitive(name) {
			t.Errorf("%q is sensitive", name)
		}
	}
}

func TestWhatOnePlaceGivesAwayIsRemovedEverywhere(t *testing.T) {
	v := build(t, redact.Set{}, jsonOf(t, []any{
		"log: got qx7Rk29LmZp4 and cXg3UmsyOUxtWnA0",
		map[string]any{"password": "qx7Rk29LmZp4"},
		"curl https://h.example/?access_token=Zk38vQw81LsD",
		"then Zk38vQw81LsD",
		map[string]any{"hint": "documentation"},
		map[string]any{"secret": "documentation"},
	}))
	for _, a := range everyone {
		s := inside(t, v.View(a))
		for _, gone := range []string{"qx7Rk29LmZp4", "cXg3UmsyOUxtWnA0", "Zk38vQw81LsD"} {
			if strings.Contains(s, gone) {
				t.Errorf("%s shows %s: %s", a, gone, s)
			}
		}
		if !strings.Contains(s, "documentation") {
			t.Errorf("%s: an ordinary word under a sensitive name is masked elsewhere: %s", a, s)
		}
	}
	next := build(t, v.Set(), redact.Text("a later tool says qx7Rk29LmZp4"))
	if strings.Contains(next.Model.String(), "qx7R") {
		t.Errorf("what the turn learned was forgotten: %s", next.Model)
	}
	if v.Set().Len() != 2 {
		t.Errorf("learned %v", v.Set().Names())
	}
}

func TestSecretAsNumberAndAsName(t *testing.T) {
	v := build(t, known(t, "8675309112233"), redact.JSON([]byte(`{"n":8675309112233,"a8675309112233":[1.5e3,8675309112233.5],"8675309112233":1,"x8675309112233":2}`)))
	want := `{"n":"<redacted:PLANTED>","a<redacted:PLANTED>~1":[1.5e3,"<redacted:PLANTED>"],"<redacted:PLANTED>~2":1,"x<redacted:PLANTED>~3":2}`
	if v.Operator.String() != want {
		t.Errorf("%s", v.Operator)
	}
}

func TestMaskedNamesStayDifferent(t *testing.T) {
	v := build(t, known(t, "swordfish-42"), redact.JSON([]byte(`{"swordfish-42":1,"<redacted:PLANTED>~0":2,"c3dvcmRmaXNoLTQy":3}`)))
	names := map[string]bool{}
	dec := json.NewDecoder(strings.NewReader(v.Operator.String()))
	for tok, err := dec.Token(); err == nil; tok, err = dec.Token() {
		if s, ok := tok.(string); ok {
			if names[s] {
				t.Errorf("the name %q stands twice in %s", s, v.Operator)
			}
			names[s] = true
		}
	}
	if len(names) != 3 {
		t.Errorf("%s", v.Operator)
	}
}

// TestNaughtyStrings puts every string of the list through every view: nothing panics, nothing is lost when there is
// no secret, a secret beside it is always removed, and the operator's view is inert.
func TestNaughtyStrings(t *testing.T) {
	var list []string
	if err := json.Unmarshal(checkout.ReadData(t, "naughty-strings", "blns.json"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) < 500 {
		t.Fatalf("only %d strings", len(list))
	}
	secret := values()["plain"]
	set := known(t, secret)
	roomy := limits(redact.Limit{Bytes: 1 << 20, String: 1 << 19, Items: 100, Depth: 9})
	build := func(t *testing.T, set redact.Set, raw redact.Raw) redact.Views {
		v, err := redact.Build(set, roomy, raw)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	unchanged := 0
	for _, s := range list {
		text := build(t, set, redact.Text(s))
		for _, a := range []redact.Audience{redact.ForModel, redact.ForEvent, redact.ForDurable, redact.ForDebug} {
			if got := text.View(a).String(); got != s {
				t.Errorf("%s: %q became %q", a, s, got)
			}
		}
		assertInert(t, text.Operator.String())
		doc := map[string]any{"k": s, "k " + s: []any{s}}
		asJSON := build(t, set, jsonOf(t, doc))
		for _, a := range everyone {
			var back any
			if err := json.Unmarshal([]byte(asJSON.View(a).String()), &back); err != nil || !reflect.DeepEqual(back, any(doc)) {
				t.Errorf("%s: %q became %s (%v)", a, s, asJSON.View(a), err)
			}
		}
		assertInert(t, asJSON.Operator.String())
		planted := build(t, set, redact.Text(s+secret+s))
		for _, a := range everyone {
			if strings.Contains(planted.View(a).String(), secret) {
				t.Errorf("%s: the secret beside %q is shown", a, s)
			}
		}
		if got := planted.Model.String(); got != s+"["+redact.Sentinel+":bound]"+s {
			t.Errorf("around %q: %q", s, got)
		}
		if len(text.Found)+len(asJSON.Found) == 0 {
			unchanged++
		}
	}
	t.Logf("naughty strings: %d of %d unchanged", unchanged, len(list))
}

func assertInert(t *testing.T, view string) {
	t.Helper()
	for _, r := range view {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e ||
			r >= 0x2060 && r <= 0x206f || r == 0xfeff || r == 0xad || r == 0x3164 || r >= 0xe0000) {
			t.Errorf("the operator's view has U+%04X: %q", r, view)
			return
		}
	}
}

func TestTheOperatorsTextIsInert(t *testing.T) {
	for text, want := range map[string]string{
		"plain ~ text":                  "plain ~ text",
		"ls\r\x1b[2K   command: ls -la": `ls\r\x1b[2K   command: ls -la`,
		"\x1b]52;c;aGk=\x07":            `\x1b]52;c;aGk=\x07`,
		"a\nb\tc\x00\x7f":               "a\nb\tc" + `\x00\x7f`,
		"a\u202eb\u200bc\u0085":         `a\u{202e}b\u{200b}c\u{0085}`,
		"\u3164\U000e0100\ufe0f\u2800":  `\u{3164}\u{e0100}\u{fe0f}\u{2800}`,
		"bad \xff\xc3":                  `bad \xff\xc3`,
		"ünï 日本語 ✓ é\u0301 €":           "ünï 日本語 ✓ é\u0301 €",
		"nbsp\u00a0 line\u2028":         `nbsp\u{00a0} line\u{2028}`,
		`\x1b`:                          `\x1b`,
	} {
		if got := (redact.Set{}).Text(redact.ForOperator, text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	v := build(t, redact.Set{}, redact.JSON([]byte(`"\u001b[31m\u202e\ud83d\ude00\udb40\udd00\u007f\u2028"`)))
	if want := "\"\\u001b[31m\\u202e\U0001F600\\udb40\\udd00\\u007f\\u2028\""; v.Operator.String() != want {
		t.Errorf("%s\nwant %s", v.Operator, want)
	}
}

func limits(l redact.Limit) redact.Bounds {
	return redact.Bounds{Model: l, Operator: l, Event: l, Durable: l, Debug: l}
}

func TestBoundsCutBetweenRunesAndSayHowMuch(t *testing.T) {
	small := limits(redact.Limit{Bytes: 300, String: 20, Items: 3, Depth: 2})
	v, err := redact.Build(redact.Set{}, small, redact.Text(strings.Repeat("é", 500)))
	if err != nil {
		t.Fatal(err)
	}
	got := v.Model.String()
	head, _, _ := strings.Cut(got, "...")
	if left := 1000 - len(head); !strings.HasSuffix(got, fmt.Sprintf("... [%d bytes cut by the host]", left)) || len(got) > 300 || v.Model.Cut().Bytes != left || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q, %+v", len(got), got, v.Model.Cut())
	}
	for raw, want := range map[string]string{
		`"` + strings.Repeat("x", 30) + `"`:         `"` + strings.Repeat("x", 20) + `... [10 bytes cut by the host]"`,
		`"` + strings.Repeat("é", 15) + `"`:         `"` + strings.Repeat("é", 10) + `... [10 bytes cut by the host]"`,
		`[1,2,3,4,5]`:                               `[1,2,3,"... [2 values cut by the host]"]`,
		`{"a":1,"b":2,"c":3,"d":{"e":4},"f":5}`:     `{"a":1,"b":2,"c":3,"[cut by the host]":"... [3 values cut by the host]"}`,
		`[[[1,2]],[[]]]`:                            `[["... [2 values nested too deep and cut by the host]"],[[]]]`,
		`{"[cut by the host]":1,"b":2,"c":3,"d":4}`: `{"[cut by the host]":1,"b":2,"c":3,"[cut by the host]~":"... [1 values cut by the host]"}`,
		`[1, 2 ,3 ]`:                                `[1,2,3]`,
	} {
		v, err := redact.Build(redact.Set{}, small, redact.JSON([]byte(raw)))
		if err != nil || v.Event.String() != want {
			t.Errorf("%s became %s, want %s (%v)", raw, v.Event, want, err)
		}
		if v.Event.Cut().Zero() != (want == `[1,2,3]`) {
			t.Errorf("%s: Cut = %+v", raw, v.Event.Cut())
		}
	}
	long := `[[10,20],` + strings.Repeat(`"0123456789",`, 40) + `7]`
	v, err = redact.Build(redact.Set{}, limits(redact.Limit{Bytes: 256, String: 99, Items: 99, Depth: 9}), redact.JSON([]byte(long)))
	if err != nil || !strings.HasSuffix(v.Model.String(), ` values cut by the host]"]`) || v.Model.Cut().Items < 20 || v.Model.Cut().Items > 41 {
		t.Errorf("%s %+v %v", v.Model, v.Model.Cut(), err)
	}
	one := `{"path":"a","content":"` + strings.Repeat("w", 5000) + `","z":1}`
	v, err = redact.Build(redact.Set{}, limits(redact.Limit{Bytes: 1000, String: 9999, Items: 99, Depth: 9}), redact.JSON([]byte(one)))
	if got := v.Model.String(); err != nil || len(got) < 900 || !strings.HasPrefix(got, `{"path":"a","content":"www`) || v.Model.Cut().Bytes+strings.Count(got, "w") != 5000 || !strings.HasSuffix(got, `","z":1}`) {
		t.Errorf("%s %+v %v", v.Model, v.Model.Cut(), err)
	}
	digits := strings.Repeat("9", 5000)
	v, err = redact.Build(redact.Set{}, limits(redact.Limit{Bytes: 256, String: 99, Items: 99, Depth: 9}), redact.JSON([]byte(digits)))
	if err != nil || v.Model.String() != `"... [1 values cut by the host]"` {
		t.Errorf("%s %v", v.Model, err)
	}
}

func TestAMaskIsShownWholeOrNotAtAll(t *testing.T) {
	set := known(t, "swordfish-42")
	for n := range 300 {
		text := strings.Repeat("x", n) + "swordfish-42" + strings.Repeat("y", 300)
		for kind, raw := range map[string]redact.Raw{
			"text": redact.Text(text), "text, at the end": redact.Text(text[:n+12]), "json": jsonOf(t, []string{text}),
		} {
			v, err := redact.Build(set, limits(redact.Limit{Bytes: 300, String: 150, Items: 9, Depth: 9}), raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range everyone {
				got := v.View(a).String()
				rest := strings.ReplaceAll(got, set.Text(a, "swordfish-42"), "")
				if len(got) > 300 || strings.ContainsAny(rest, "<:") {
					t.Fatalf("%s, %d bytes before it, %s: %d bytes: %q", kind, n, a, len(got), got)
				}
			}
		}
	}
}

func TestBytesThatAreNotUTF8NeverLeave(t *testing.T) {
	for _, raw := range []redact.Raw{redact.JSON([]byte("{\"a\xff\":\"b\xc3\",\"c\":\"\\ud800\"}")), redact.Text("a\xff b\xc3")} {
		v := build(t, redact.Set{}, raw)
		for _, a := range everyone {
			if s := v.View(a).String(); !utf8.ValidString(s) || v.View(a).IsJSON() && !json.Valid([]byte(s)) {
				t.Errorf("%s: %q", a, s)
			}
		}
	}
}

func TestViewsAreBoundedIndependently(t *testing.T) {
	b := redact.DefaultBounds()
	v, err := redact.Build(redact.Set{}, b, redact.Text(strings.Repeat("word ", 40<<10)))
	if err != nil {
		t.Fatal(err)
	}
	for a, limit := range map[redact.Audience]int{
		redact.ForModel: b.Model.Bytes, redact.ForOperator: b.Operator.Bytes, redact.ForEvent: b.Event.Bytes,
		redact.ForDurable: b.Durable.Bytes, redact.ForDebug: b.Debug.Bytes,
	} {
		if n := len(v.View(a).String()); n > limit || n < limit-200 {
			t.Errorf("the %s view has %d bytes, its bound is %d", a, n, limit)
		}
	}
}

// genJSON draws a JSON value with nasty strings.
func genJSON(depth int) *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"swordfish-42", "é\u202e\x00", `q"\`, "password", "a swordfish-42 b", strings.Repeat("long ", 40)}))
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny), rapid.Map(rapid.Float64Range(-1e9, 1e9), toAny), rapid.Map(text, toAny))
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(genJSON(depth-1), 0, 6), toAny),
		rapid.Map(rapid.MapOfN(text, genJSON(depth-1), 0, 6), toAny))
}

func toAny[V any](v V) any { return v }

func TestBuildProperties(t *testing.T) {
	set := known(t, "swordfish-42")
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(genJSON(4).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		l := redact.Limit{
			Bytes:  rapid.IntRange(redact.MinBytes, 2000).Draw(t, "bytes"),
			String: rapid.IntRange(1, 300).Draw(t, "string"),
			Items:  rapid.IntRange(1, 8).Draw(t, "items"),
			Depth:  rapid.IntRange(1, 6).Draw(t, "depth"),
		}
		for kind, in := range map[string]redact.Raw{"json": redact.JSON(raw), "text": redact.Text(string(raw))} {
			v, err := redact.Build(set, limits(l), in)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range everyone {
				got := v.View(a).String()
				if len(got) > l.Bytes || !utf8.ValidString(got) || strings.Contains(got, "swordfish-42") {
					t.Fatalf("%s, %s: %d bytes of %d: %q", kind, a, len(got), l.Bytes, got)
				}
				if kind == "json" && !json.Valid([]byte(got)) {
					t.Fatalf("%s is not JSON: %q", a, got)
				}
				if !json.Valid(v.View(a).JSON()) {
					t.Fatalf("%s as JSON is not: %q", a, v.View(a).JSON())
				}
			}
		}
	})
}

func TestFailureShowsNothing(t *testing.T) {
	const secret = "swordfish-42"
	bad := redact.DefaultBounds()
	bad.Event.Depth = 0
	deep := redact.DefaultBounds()
	deep.Debug.Depth = redact.MaxDepth + 1
	// Every escape, twice, around runs that are hex and base64 in each alignment.
	bomb := strings.Repeat("%2525&amp;amp;\\\\\\\\=3D3D+'\\'' "+strings.Repeat("34", 40)+strings.Repeat("5a6b", 40), 512)
	for name, c := range map[string]struct {
		bounds redact.Bounds
		raw    redact.Raw
		want   string
	}{
		"bounds":    {bad, redact.Text(secret), "the event view needs"},
		"too deep":  {deep, redact.Text(secret), "the debug view needs"},
		"no bounds": {redact.Bounds{}, redact.Text(secret), "the model view needs"},
		"not json":  {redact.DefaultBounds(), redact.JSON([]byte(`{"a":"` + secret + `"`)), "not JSON"},
		"nothing":   {redact.DefaultBounds(), redact.JSON(nil), "not JSON"},
		"too long":  {redact.DefaultBounds(), redact.Text(strings.Repeat(secret, redact.MaxRaw/len(secret)+1)), "at most"},
		"hostile":   {redact.DefaultBounds(), redact.Text(bomb + secret), "encoded in too many ways"},
		"hostile 2": {redact.DefaultBounds(), jsonOf(t, []string{secret, bomb}), "encoded in too many ways"},
	} {
		v, err := redact.Build(known(t, secret+" "), c.bounds, c.raw)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if !reflect.DeepEqual(v, redact.Failed()) || !v.Failed {
			t.Errorf("%s: not the fixed failure: %+v", name, v)
		}
		for _, a := range everyone {
			if v.View(a).String() != redact.FailedText {
				t.Errorf("%s: the %s view is %q", name, a, v.View(a))
			}
		}
	}
	if got := known(t, secret).Text(redact.ForModel, strings.Repeat("x", redact.MaxRaw+1)); got != redact.FailedText {
		t.Errorf("%.100q", got)
	}
	if got := known(t, secret+" ").Text(redact.ForModel, secret+bomb); got != redact.FailedText {
		t.Errorf("%.100q", got)
	}
	if got := stream(known(t, secret+" "), redact.ForModel, bomb, bomb, bomb); got != redact.FailedText {
		t.Errorf("%.100q", got)
	}
}

func TestDeepAndWideResultsAreBounded(t *testing.T) {
	deep := strings.Repeat(`[{"a":`, 4000) + `"swordfish-42"` + strings.Repeat(`}]`, 4000)
	v := build(t, known(t, "swordfish-42"), redact.JSON([]byte(deep)))
	for _, a := range everyone {
		if s := v.View(a).String(); strings.Contains(s, "swordfish") || !json.Valid([]byte(s)) || !strings.Contains(s, "nested too deep") {
			t.Errorf("%s: %.200s", a, s)
		}
	}
	wide := "[" + strings.Repeat(`{"k":1},`, 100_000) + "0]"
	v = build(t, redact.Set{}, redact.JSON([]byte(wide)))
	if s := v.Model.String(); !json.Valid([]byte(s)) || v.Model.Cut().Items < 190_000 {
		t.Errorf("%+v %.100s", v.Model.Cut(), s)
	}
}

func TestViewsShareNothing(t *testing.T) {
	raw := []byte(`{"a":"text"}`)
	v := build(t, redact.Set{}, redact.JSON(raw))
	copy(raw, bytes.Repeat([]byte("!"), len(raw)))
	copy(v.Model.JSON(), "!!!!")
	if v.Model.String() != `{"a":"text"}` || v.Durable.String() != `{"a":"text"}` {
		t.Errorf("%s %s", v.Model, v.Durable)
	}
}

func TestContainsSentinel(t *testing.T) {
	v := build(t, known(t, "swordfish-42"), redact.Text("x swordfish-42"))
	for _, a := range everyone {
		mask := v.View(a).String()
		quoted, _ := json.Marshal(map[string]string{"content": mask})
		twice, _ := json.Marshal(string(quoted))
		for _, text := range []string{mask, string(quoted), string(twice), strings.ReplaceAll(mask, "<", "%3C"), strings.ReplaceAll(mask, "<", "&lt;")} {
			if !redact.ContainsSentinel([]byte(text)) {
				t.Errorf("the mask of the %s view is not found in %q", a, text)
			}
		}
	}
	if !redact.ContainsSentinel([]byte(redact.FailedText)) {
		t.Error("the failure can be written back")
	}
	for _, text := range []string{"", "redacted", "<redacted>", "<redacted:", "<redacted: not a name>", "the host redacted it", "%", `\u00`} {
		if redact.ContainsSentinel([]byte(text)) {
			t.Errorf("%q is taken for a mask", text)
		}
	}
}

// FuzzBuild holds for any bytes that views are bounded, valid, and without the planted value, and that Build either
// works or fails in every view.
func FuzzBuild(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x"]}`, `"\u0000\ud800"`, `password=swordfish-42`, "%73wordfish-42", "c3dvcmRmaXNoLTQy", `\x73wordfish-42`, "https://a:b@c/?token=d"} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	set, err := redact.Set{}.With(redact.NewSecret("PLANTED", "swordfish-42"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte, asJSON bool) {
		in := redact.Text(string(raw))
		if asJSON {
			in = redact.JSON(raw)
		}
		v, err := redact.Build(set, limits(redact.Limit{Bytes: 1000, String: 200, Items: 20, Depth: 8}), in)
		if (err != nil) != v.Failed || !asJSON && err != nil {
			t.Fatalf("error %v with Failed %v", err, v.Failed)
		}
		for _, a := range everyone {
			got := v.View(a)
			if s := got.String(); len(s) > 1000 || !utf8.ValidString(s) || strings.Contains(s, "swordfish-42") || got.IsJSON() && !json.Valid([]byte(s)) {
				t.Fatalf("%s: %q", a, s)
			}
		}
	})
}
