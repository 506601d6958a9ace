package hostile_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// A guest that fetches, through the whole gate and over TCP: what is refused never reaches a server, and the audit has
// origin and addresses of every hop and nothing of path, query, header or password.
func TestFetchesAreOnRecordByOriginAlone(t *testing.T) {
	w := newWorld(t)
	g := guest{name: "fetch"}
	p, no := w.install(t, &g, g.module(t, "authority"))
	if no.status != "" {
		t.Fatalf("fetch: %+v", no)
	}
	open := w.server.url
	away := func(to string) string { return open + "/away?to=" + url.QueryEscape(to) }
	const tail = "/S3CRET-PATH?token=S3CRET-QUERY"
	for _, c := range []struct {
		url     string
		asked   int64    // requests that the server saw
		reasons []string // of each hop
		origin  string   // of the last
		at      string   // its addresses
	}{
		{open + tail, 1, []string{"allowed"}, open, "127.0.0.1"},
		{away(open + tail), 2, []string{"allowed", "allowed"}, open, "127.0.0.1"},
		{away(tail), 2, []string{"allowed", "allowed"}, open, "127.0.0.1"},
		{"http://127.0.0.1:1" + tail, 0, []string{"not_granted"}, "http://127.0.0.1:1", ""},
		{"http://169.254.169.254" + tail, 0, []string{"metadata_address"}, "http://169.254.169.254:80", "169.254.169.254"},
		{"http://metadata.google.internal" + tail, 0, []string{"metadata_hostname"}, "http://metadata.google.internal:80", ""},
		{"http://2130706433" + tail, 0, []string{"invalid_hostname"}, "", ""},
		{"http://0x7f.1" + tail, 0, []string{"invalid_hostname"}, "", ""},
		{"http://[::ffff:127.0.0.1]" + tail, 0, []string{"invalid_hostname"}, "", ""},
		{"http://user:S3CRET-PASSWORD@" + w.server.host + tail, 0, []string{"userinfo"}, "", ""},
		{`http://a.example\@` + w.server.host + tail, 0, []string{"invalid_url"}, "", ""},
		{open + "/x/../S3CRET-PATH", 0, []string{"non_canonical_path"}, "", ""},
		{"file:///S3CRET-PATH", 0, []string{"unsupported_scheme"}, "", ""},
		{"gopher://" + w.server.host + "/_S3CRET", 0, []string{"unsupported_scheme"}, "", ""},
		{away("http://169.254.169.254" + tail), 1, []string{"allowed", "metadata_address"}, "http://169.254.169.254:80", "169.254.169.254"},
		{away("http://127.0.0.1:1" + tail), 1, []string{"allowed", "not_granted"}, "http://127.0.0.1:1", ""},
		{away("http://u:S3CRET-PASSWORD@" + w.server.host + tail), 1, []string{"allowed", "userinfo"}, "", ""},
		{away("file:///S3CRET-PATH"), 1, []string{"allowed", "unsupported_scheme"}, "", ""},
		{away("//127.1" + tail), 1, []string{"allowed", "invalid_hostname"}, "", ""},
	} {
		before := w.server.asked.Load()
		args, err := json.Marshal(wire.HTTPRequest{Method: "GET", URL: c.url, Headers: map[string][]string{"Authorization": {"Bearer S3CRET-HEADER"}}})
		if err != nil {
			t.Fatal(err)
		}
		a := w.call(t, p, string(args))
		if got := w.server.asked.Load() - before; got != c.asked {
			t.Errorf("%s: the server was asked %d times, want %d: %s", c.url, got, c.asked, a)
		}
		all, err := w.host.History().Events(t.Context(), w.operator, turn.EventQuery{Session: a.session, Kind: event.EgressDecided, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var reasons []string
		last := map[string]string{}
		for i := len(all) - 1; i >= 0; i-- { // newest first
			r := all[i]
			last = map[string]string{}
			for _, f := range r.Fields {
				last[f.Name] = f.Value
				if strings.Contains(f.Name+f.Value, "S3CRET") {
					t.Errorf("%s: the audit says %s=%q", c.url, f.Name, f.Value)
				}
			}
			reasons = append(reasons, last["reason"])
			if r.Effect == "" || r.Principal == "" || last["caller"] != "plugin fetch" || last["method"] != "GET" {
				t.Errorf("%s: recorded as %+v", c.url, r)
			}
		}
		if strings.Join(reasons, " ") != strings.Join(c.reasons, " ") || last["origin"] != c.origin || last["addresses"] != c.at {
			t.Errorf("%s: recorded %q, last %v; want %q, %q at %q", c.url, reasons, last, c.reasons, c.origin, c.at)
		}
	}
}
