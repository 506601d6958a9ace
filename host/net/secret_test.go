package net

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/redact/redacttest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// A plugin that came by a secret of the host's cannot send it away, wherever in a request it writes it and however it
// encodes it. Nothing of the request is on record, not even where it was to go: the name may hold the value.
func TestARequestWithASecretOfTheHostIsRefused(t *testing.T) {
	const value = `q7Vd/9+xK"2&p<L'm%3Zt=hRw`
	set, err := redact.Set{}.With(redact.NewSecret("KEPT", value))
	if err != nil {
		t.Fatal(err)
	}
	w, b := newWorld(t), &book{}
	w.name("a.example", public)
	w.serveTLS(public+":443", func(out http.ResponseWriter, _ *http.Request) {}, "a.example")
	call := anywhere(t)
	call.Holds = func(text []byte) bool {
		_, held := set.Holds(text)
		return held
	}
	p := plugin(t, w.gate(b), call)
	for _, e := range redacttest.Thirty() {
		text := e.Encode(value)
		for place, r := range map[string]struct {
			req  wire.HTTPRequest
			body string
		}{
			"path":   {wire.HTTPRequest{Method: "GET", URL: "https://a.example/bot" + text + "/getMe"}, ""},
			"query":  {wire.HTTPRequest{Method: "GET", URL: "https://a.example/?q=" + text}, ""},
			"host":   {wire.HTTPRequest{Method: "GET", URL: "https://" + text + ".a.example/"}, ""},
			"header": {wire.HTTPRequest{Method: "GET", URL: "https://a.example/", Headers: map[string][]string{"X-One": {"a", text}}}, ""},
			"name":   {wire.HTTPRequest{Method: "GET", URL: "https://a.example/", Headers: map[string][]string{text: {"a"}}}, ""},
			"method": {wire.HTTPRequest{Method: text, URL: "https://a.example/"}, ""},
			"body":   {wire.HTTPRequest{Method: "POST", URL: "https://a.example/"}, `{"note":"` + text + `"}`},
		} {
			reply, _, err := p.Do(t.Context(), r.req, []byte(r.body))
			if err != nil || reply.Fault == nil || reply.Fault.Code != wire.CodeDenied || !strings.Contains(reply.Fault.Message, string(SecretInRequest)) {
				t.Errorf("%s in the %s: %+v, %v", e.Name, place, reply, err)
				continue
			}
			if part := redacttest.Leak(reply.Fault.Message, text, ""); part != "" {
				t.Errorf("%s in the %s: the fault shows %q", e.Name, place, part)
			}
		}
	}
	if len(w.dials()) != 0 || w.questions() != 0 {
		t.Errorf("%d connections, %d questions to name servers", len(w.dials()), w.questions())
	}
	for _, d := range b.all() {
		if d.Allowed || d.Reason != SecretInRequest || d.Origin != "" || d.Method != "" && d.Method != "GET" && d.Method != "POST" {
			t.Errorf("on record: %+v", d)
		}
	}
	if n := len(b.all()); n != 7*len(redacttest.Thirty()) {
		t.Errorf("%d records", n)
	}
	if reply, _ := do(t, p, wire.HTTPRequest{Method: "POST", URL: "https://a.example/?q=7Vd"}, "nothing"); reply.Fault != nil || reply.Status != http.StatusOK {
		t.Errorf("a request without it: %+v", reply)
	}
}

// A method that a plugin made up is on record and in the refusal whole or not at all: of a part of it nobody could tell that
// it is one of a secret.
func TestAMethodIsToldWholeOrNotAtAll(t *testing.T) {
	const token = "correct-horse-battery-staple"
	w, b := newWorld(t), &book{}
	w.name("a.example", public)
	p := plugin(t, w.gate(b), anywhere(t))
	for before := range 20 {
		reply, _ := do(t, p, wire.HTTPRequest{Method: strings.Repeat("x", before) + token, URL: "https://a.example/"}, "")
		faulty(t, reply, wire.CodeDenied, string(egress.MethodNotAllowed))
		if strings.Contains(reply.Fault.Message, token[:3]) {
			t.Errorf("the fault says %q", reply.Fault.Message)
		}
	}
	for _, d := range b.all() {
		if strings.Contains(d.Method, token[:3]) || d.Allowed {
			t.Errorf("on record: %+v", d)
		}
	}
}

// A host that a redirect leads to is told and compared in small letters, in which a value is not found: it is looked for in what
// the server wrote.
func TestARedirectToANameWithASecretIsNotTold(t *testing.T) {
	const value = "SekretVALUE-1234567890"
	set, err := redact.Set{}.With(redact.NewSecret("TOKEN", value))
	if err != nil {
		t.Fatal(err)
	}
	w, b := newWorld(t), &book{}
	w.name("a.example", public)
	w.serveTLS(public+":443", sends(302, "https://"+value+".example.com/x"), "a.example")
	call := anywhere(t)
	call.Holds = func(text []byte) bool {
		_, held := set.Holds(text)
		return held
	}
	reply, _ := get(t, plugin(t, w.gate(b), call), "https://a.example/")
	faulty(t, reply, wire.CodeDenied, string(SecretInRequest))
	if all := b.all(); len(all) != 2 || all[1].Allowed || all[1].Reason != SecretInRequest || all[1].Hop != 1 ||
		strings.Contains(strings.ToLower(reply.Fault.Message+fmt.Sprint(all)), "sekretvalue") {
		t.Errorf("%v, on record: %+v", reply.Fault, all)
	}
}
