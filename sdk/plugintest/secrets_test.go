package plugintest_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
)

type askIn struct {
	URL    string `json:"url"`
	Method string `json:"method,omitempty"`
	Type   string `json:"type,omitempty"`
	Body   string `json:"body,omitempty"`
	Header string `json:"header,omitempty"`
}

type askOut struct {
	Text string `json:"text"`
}

// secretive has a credential in each place, and signs.
func secretive() sdk.Plugin {
	const origin = "https://api.example.com"
	place := func(name, in, field, template, prefix string) sdk.Credential {
		return sdk.Credential{Name: name, Secret: "API_TOKEN", In: in, Field: field, Template: template, Origin: origin, PathPrefix: prefix, Reason: "r"}
	}
	ask := func(ctx context.Context, in askIn, h sdk.Host) (askOut, error) {
		req := &sdk.Request{Method: in.Method, URL: in.URL, Body: []byte(in.Body), Header: sdk.Header{}}
		if in.Type != "" {
			req.Header.Set("Content-Type", in.Type)
		}
		if in.Header != "" {
			req.Header.Set(in.Header, "mine")
		}
		resp, err := h.Do(ctx, req)
		if err != nil {
			return askOut{}, err
		}
		return askOut{string(resp.Body) + " at " + resp.URL}, nil
	}
	sign := func(name string) func(context.Context, askIn, sdk.Host) (askOut, error) {
		return func(_ context.Context, in askIn, h sdk.Host) (askOut, error) {
			code, err := h.Sign(name, []byte(in.URL))
			return askOut{hex.EncodeToString(code)}, err
		}
	}
	return sdk.Plugin{
		ID: "secretive", Version: "1.0.0", Summary: "s", License: "Apache-2.0",
		Capabilities: []sdk.Capability{{Name: "net.fetch", Reason: "r"}, {Name: "secret.bind:API_TOKEN", Reason: "r"}},
		Egress:       []sdk.Egress{{Host: "*", Methods: []string{"GET", "POST"}, Reason: "r"}},
		Credentials: []sdk.Credential{
			place("a", sdk.InHeader, "X-Api-Key", "key {API_TOKEN}", "/header"), place("b", sdk.InBasic, "", "bot:{API_TOKEN}", "/basic"),
			place("c", sdk.InQuery, "key", "", "/query"), place("d", sdk.InPath, "", "", "/path"),
			place("e", sdk.InBody, "/auth/0/key", "", "/json"), place("f", sdk.InBody, "key", "", "/form"),
		},
		Signing: []sdk.Signing{{Name: "answer", Secret: "API_TOKEN", Algorithm: sdk.HMACSHA256, Reason: "r"}},
		Tools: []sdk.ToolSpec{
			sdk.Tool("s.ask", "d", ask, sdk.Needs("net.fetch", "secret.bind:API_TOKEN")),
			sdk.Tool("s.without", "d", ask, sdk.Needs("net.fetch")),
			sdk.Tool("s.sign", "d", sign("answer"), sdk.Needs("secret.bind:API_TOKEN")),
			sdk.Tool("s.other", "d", sign("other"), sdk.Needs("secret.bind:API_TOKEN")),
			sdk.Tool("s.bare", "d", sign("answer")),
		},
	}
}

func shows(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		user, pass, _ := r.BasicAuth()
		got := strings.Join([]string{r.Header.Get("X-Api-Key"), user, pass, r.URL.String(), string(body)}, "|")
		if r.URL.Path == "/header/away" {
			http.Redirect(w, r, "https://evil.example.com/", http.StatusFound)
			return
		}
		w.Header().Set("X-Echo", got)
		io.WriteString(w, strings.ReplaceAll(got, "the-api-token", "THE TOKEN"))
	}
}

func TestSecretsAreWhereTheManifestSays(t *testing.T) {
	p := plugintest.For(t, secretive()).Secret("API_TOKEN", "the-api-token").HTTP(shows(t))
	for in, want := range map[askIn]string{
		{URL: "https://api.example.com/header"}:                    "key THE TOKEN|||/header|",
		{URL: "https://api.example.com/basic/x"}:                   "|bot|THE TOKEN|/basic/x|",
		{URL: "https://api.example.com/query?a=1"}:                 "|||/query?a=1&key=THE TOKEN|",
		{URL: "https://api.example.com/path/bot{API_TOKEN}/x?y=1"}: "|||/path/botTHE TOKEN/x?y=1|",
		{URL: "https://api.example.com/headers"}:                   "|||/headers|",
		{URL: "https://other.example.com/header"}:                  "|||https://other.example.com/header|",
		{URL: "https://api.example.com/form", Method: "POST", Type: "application/x-www-form-urlencoded", Body: "key={API_TOKEN}"}: "|||/form|key=THE TOKEN",
		{URL: "https://api.example.com/json", Method: "POST", Type: "application/json", Body: `{"auth":[{"key":"{API_TOKEN}"}]}`}: `|||/json|{"auth":[{"key":"THE TOKEN"}]}`,
	} {
		out := plugintest.Call[askOut](t, p, "s.ask", in)
		got, at, _ := strings.Cut(out.Text, " at ")
		got = strings.ReplaceAll(got, "https://api.example.com", "")
		if got != want || strings.Contains(at, "the-api-token") {
			t.Errorf("%+v: %q at %s, want %q", in, got, at, want)
		}
	}
	if out := plugintest.Call[askOut](t, p, "s.without", askIn{URL: "https://api.example.com/header"}); strings.Contains(out.Text, "THE TOKEN") {
		t.Errorf("a tool that does not list the secret sent it: %s", out.Text)
	}
	for _, in := range []askIn{
		{URL: "https://api.example.com/header", Header: "x-api-key"},
		{URL: "https://api.example.com/query?key=mine"},
		{URL: "https://api.example.com/elsewhere/{API_TOKEN}"},
		{URL: "https://api.example.com/header/away"},
	} {
		if fault := p.Fault(t, "s.ask", `{"url":"`+in.URL+`","header":"`+in.Header+`"}`); !errors.Is(fault, sdk.Denied) {
			t.Errorf("%+v: %v", in, fault)
		}
	}
}

func TestAPluginReadsAMaskWhereAServerRepeatsASecret(t *testing.T) {
	p := plugintest.For(t, secretive()).HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "you sent "+r.Header.Get("X-Api-Key"))
	}))
	out := plugintest.Call[askOut](t, p, "s.ask", askIn{URL: "https://api.example.com/header"})
	if !strings.Contains(out.Text, "you sent key [portcullis-redacted-by-host:bound]") {
		t.Errorf("it reads %q", out.Text)
	}
}

func TestSigning(t *testing.T) {
	p := plugintest.For(t, secretive()).Secret("API_TOKEN", "a-key-of-the-test")
	mac := hmac.New(sha256.New, []byte("a-key-of-the-test"))
	mac.Write([]byte("text"))
	if out := plugintest.Call[askOut](t, p, "s.sign", askIn{URL: "text"}); out.Text != hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("code %s", out.Text)
	}
	for _, tool := range []string{"s.other", "s.bare"} {
		if fault := p.Fault(t, tool, `{"url":"text"}`); !errors.Is(fault, sdk.Denied) {
			t.Errorf("%s: %v", tool, fault)
		}
	}
}
