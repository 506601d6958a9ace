package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/redact/redacttest"
)

// place is somewhere in a result that a secret turns up. § stands for it. Where nothing but the value itself gives it
// away, kept is planted, which the host knows; every other place has a value that nobody knows before.
type place struct {
	name, secret, document string
	fails                  bool // the plugin says it as a fault, not as a result
}

func elevenPlaces() []place {
	return []place{
		{name: "API key field", secret: "fKd83jWq0zLp57", document: `{"request_id":"req_01HZX3","token_count":4711,"api_key":"§"}`},
		{name: "environment", secret: "eNv29dkWp10sQz", document: `{"request_id":"req_01HZX3","token_count":4711,"text":"PATH=/bin\nDB_PASSWORD=§\nLANG=C"}`},
		{name: "URL password", secret: "uRl71bnXc04kTy", document: `{"request_id":"req_01HZX3","token_count":4711,"text":"cloned https://ann:§@git.example/x.git"}`},
		{name: "query", secret: "qUe52mzRt86wVa", document: `{"request_id":"req_01HZX3","token_count":4711,"text":"GET https://h.example/x?page=2&access_token=§"}`},
		{name: "header", secret: "hEa94plGs31yNe", document: `{"request_id":"req_01HZX3","token_count":4711,"headers":{"Authorization":"Bearer §","Accept":"*/*"}}`},
		{name: "nested object", secret: "nEs08vhDu65iMo", document: `{"request_id":"req_01HZX3","token_count":4711,"db":{"credentials":{"user":"ann","deep":[{"value":"§"}]}}}`},
		{name: "command option", secret: "oPt37ykBf92xCu", document: `{"request_id":"req_01HZX3","token_count":4711,"text":"ran: deploy --token § --verbose"}`},
		{name: "header in a command", secret: "cMd66tgJi13rHe", document: `{"request_id":"req_01HZX3","token_count":4711,"text":"ran: curl -H 'Authorization: Bearer §' https://h.example"}`},
		{name: "exception", secret: "eXc40waLo78bPu", document: `{"text":"request_id req_01HZX3, token_count 4711: login failed: password=§ was refused"}`, fails: true},
		{name: "split chunk", secret: kept, document: `{"request_id":"req_01HZX3","token_count":4711,"text":"§"}`},
		{name: "encoded", secret: kept, document: `{"request_id":"req_01HZX3","token_count":4711,"text":"§"}`},
	}
}

// planted is the document with the secret in it, or with its base64 for the place "encoded".
func (p place) planted() string {
	value := p.value()
	quoted, err := json.Marshal(value)
	if err != nil { // a string always marshals
		panic(err)
	}
	return strings.ReplaceAll(p.document, "§", strings.Trim(string(quoted), `"`))
}

func (p place) value() string {
	if p.name == "encoded" {
		return redacttest.Thirty()[2].Encode(p.secret)
	}
	return p.secret
}

// everywhere are the bytes that no file may have: each value, in each form that it was planted in.
func everywhere() []string {
	var all []string
	for _, p := range elevenPlaces() {
		all = append(append(all, p.secret), strings.Fields(p.value())...)
	}
	return all
}

// TestASecretInElevenPlacesIsSeenNowhere runs a turn for each place: the model calls the parrot, which gives the document
// back and logs what it got, and the model repeats the value in its answer, a few bytes at a time. Views, screen, answer,
// log, audit, history, what the model is shown and every byte of the home are then looked at.
func TestASecretInElevenPlacesIsSeenNowhere(t *testing.T) {
	n := newNest(t)
	var log bytes.Buffer
	h := n.open(&log, true)
	good := 0
	for _, p := range elevenPlaces() {
		shown := n.turnOver(h, p)
		shown["log"] = log.String()
		ok := true
		for where, text := range shown {
			if part := unhidden(text, p.value(), ""); part != "" {
				ok = false
				t.Errorf("%s: %s shows %q:\n%s", p.name, where, part, text)
			}
		}
		for _, a := range []redact.Audience{redact.ForModel, redact.ForOperator, redact.ForEvent, redact.ForDurable, redact.ForDebug} {
			if text := shown[a.String()]; !strings.Contains(text, "req_01HZX3") || !strings.Contains(text, "4711") {
				ok = false
				t.Errorf("%s: the %s view hides more than the secret: %s", p.name, a, text)
			}
		}
		if ok {
			good++
		}
	}
	n.nothingIsLeft(everywhere()...) // with the write-ahead log
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	n.nothingIsLeft(everywhere()...)
	t.Logf("planted: %d of %d", good, len(elevenPlaces()))
	if good != 11 {
		t.Errorf("%d of 11 places are safe", good)
	}
	if dir := os.Getenv("PORTCULLIS_KEEP_RUN"); dir != "" { // for the independent look of module leaks
		n.keep(dir)
	}
}

// turnOver runs the turn of a place and returns what each reader of it gets.
func (n *nest) turnOver(h *app.Running, p place) map[string]string {
	n.t.Helper()
	tool := "parrot.give"
	if p.fails {
		tool = "parrot.fail"
	}
	script := filepath.Join(n.t.TempDir(), "script.yaml") // outside of the home: it holds the secret
	quoted, err := json.Marshal("It is " + p.value() + ", as I said.")
	if err != nil {
		n.t.Fatal(err)
	}
	steps := fmt.Sprintf("version: 1\nsteps:\n  - call: [{tool: %s, args: %s}]\n  - call: [{tool: parrot.log, args: {text: %s}}]\n  - say: %s\n    chunks: 12\n", tool, p.planted(), quoted, quoted)
	if err := os.WriteFile(script, []byte(steps), 0o600); err != nil {
		n.t.Fatal(err)
	}
	shown := map[string]string{}
	var screen strings.Builder
	res, err := h.Run(n.t.Context(), host.Request{Input: "go on", Model: turn.ModelChoice{Script: script}}, turn.Observer{
		Text:  func(s string) { screen.WriteString(s) },
		Call:  func(tool, id, args string) { fmt.Fprintln(&screen, tool, id, args) },
		Stage: func(s effect.Stage) { fmt.Fprintln(&screen, s) },
		Effect: func(r effect.Result) {
			fmt.Fprintln(&screen, r.Sentence, r.Stages)
			if r.Tool != tool {
				return
			}
			for _, a := range []redact.Audience{redact.ForModel, redact.ForOperator, redact.ForEvent, redact.ForDurable, redact.ForDebug} {
				shown[a.String()] = r.Views.View(a).String()
			}
		},
	})
	if err != nil || res.Outcome() != turn.Completed {
		n.t.Fatalf("%s: %s %s, %v", p.name, res.Outcome(), res.Sentence(), err)
	}
	n.last = res.Turn()
	args, err := effect.ParseArguments([]byte(p.planted()))
	if err != nil {
		n.t.Fatal(err)
	}
	if _, turns := n.main(nil, "--json", "turns", "show", string(n.last)); !strings.Contains(turns, args.Digest()) {
		n.t.Errorf("%s: the plugin did not get the arguments as the model wrote them", p.name)
	}
	shown["screen"], shown["answer"], shown["audit"] = screen.String(), res.Reply(), n.audit(h)
	if !strings.Contains(res.Reply(), redact.Sentinel) || !strings.Contains(shown["screen"], "<redacted:") {
		n.t.Errorf("%s: no mask in the answer %q or on the screen %q", p.name, res.Reply(), screen.String())
	}
	_, shown["turns show"] = n.main(nil, "--json", "turns", "show", string(n.last))
	_, shown["turns list"] = n.main(nil, "--json", "turns", "list")
	_, shown["sessions show"] = n.main(nil, "sessions", "show", string(res.Session()))
	return shown
}

// A plugin may make a host name of what it saw in its turn; the refusal on record does not show it.
func TestAnOriginMadeOfASecretIsHiddenOnRecord(t *testing.T) {
	const value = "k7f3m9q2x8v4w6z1"
	n := newNest(t)
	h := n.open(&n.said, false)
	script := filepath.Join(t.TempDir(), "script.yaml")
	steps := "version: 1\nsteps:\n  - call: [{tool: parrot.give, args: {api_key: " + value + "}}]\n" +
		"  - call: [{tool: parrot.tell, args: {url: \"https://" + value + ".parrot.example/\"}}]\n  - say: done\n"
	if err := os.WriteFile(script, []byte(steps), 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := h.Run(t.Context(), host.Request{Input: "go on", Model: turn.ModelChoice{Script: script}}, turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	n.last = res.Turn()
	if rows := n.audit(h); strings.Contains(rows, value) || !strings.Contains(rows, "egress.decided") || !strings.Contains(rows, "origin=https://<redacted:api_key:field>.parrot.example:443") {
		t.Errorf("on record:\n%s", rows)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	n.nothingIsLeft(value)
}

// What the program prints when it fails passes the redactor of the home, whether a host was open or not.
func TestWhatTheProgramPrintsOfAFailureIsRedacted(t *testing.T) {
	n := newNest(t)
	for name, args := range map[string][]string{
		"a file":        {"call", "parrot.say", "--args", "@no/such/" + kept},
		"a document":    {"--json", "call", "parrot.say", "--args", "@no/such/" + kept},
		"a command":     {kept},
		"an option":     {"--log-level", kept, "doctor"},
		"a URL":         {"https://ann:p4ssp4ss@h.example/?access_token=abcabc"},
		"no home there": {"--home", "/no/such/home", "https://ann:p4ssp4ss@h.example/?access_token=abcabc"},
	} {
		code, printed := n.main(nil, args...)
		if part := unhidden(printed, kept, ""); code == 0 || part != "" || strings.Contains(printed, "p4ss") || strings.Contains(printed, "abcabc") || !strings.Contains(printed, "<redacted:") {
			t.Errorf("%s: exit code %d, %q is shown:\n%s", name, code, part, printed)
		}
	}
	code, printed := n.main(panicking("panic on "+kept), "call", "parrot.say", "--args", "-")
	if part := unhidden(printed, kept, ""); code != 3 || part != "" || !strings.Contains(printed, "an invariant of its own: panic on <redacted:KEPT>") || strings.Contains(printed, "goroutine") {
		t.Errorf("a panic: exit code %d, %q is shown:\n%s", code, part, printed)
	}
	code, printed = n.main(panicking("panic on "+kept), "--json", "call", "parrot.say", "--args", "-")
	if part := unhidden(printed, kept, ""); code != 3 || part != "" || !strings.Contains(printed, `"code": "host_fault"`) {
		t.Errorf("a panic as a document: exit code %d, %q is shown:\n%s", code, part, printed)
	}
}
