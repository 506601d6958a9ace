package net

import (
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// What is explained is what would be said: for every form of the table, with nothing asked and nothing recorded.
func TestExplainSaysWhatDoWouldSay(t *testing.T) {
	all, _ := ssrfForms(t)
	for _, f := range all {
		if f.status != 0 || f.answers != nil {
			continue
		}
		w, b := newWorld(t), &book{}
		w.name("a.example", public)
		call := anywhere(t)
		if target, v := egress.ParseURL(f.url); v.Allowed && f.want != egress.MetadataHostname {
			for _, n := range target.Capabilities() {
				call.Grants = snapshot(t, append(call.Grants.Strings(), n.String())...)
			}
		}
		x := plugin(t, w.gate(b), call).Explain("GET", f.url)
		got := x.Parsed.Reason
		for _, v := range []egress.Verdict{x.Judged, x.Address} {
			if got == egress.Allowed || got == "" {
				got = v.Reason
			}
		}
		if got != f.want {
			t.Errorf("%q: %+v, want %s", f.url, x, f.want)
		}
		if w.questions() != 0 || len(w.dials()) != 0 || len(b.all()) != 0 {
			t.Errorf("%q: an explanation asked or recorded something", f.url)
		}
	}
}

func TestExplainLooksAtEachLayer(t *testing.T) {
	rules := policy(t, egress.Rule{Host: "a.example", PathPrefix: "/v1"})
	p := plugin(t, newWorld(t).gate(nil, "http://127.0.0.1:8080"), PluginCall{
		Plugin: "web", Egress: []wire.Egress{{Host: "a.example", Methods: []string{"GET", "POST"}}}, Grants: snapshot(t, "net.fetch:*"),
		Core: "assistant", Capabilities: snapshot(t, "net.fetch:a.example"), CoreRules: &rules,
	})
	for url, want := range map[string]Explanation{
		"https://a.example/v1": {Granted: true, InCore: true, Declared: egress.Verdict{Allowed: true}, Rules: egress.Verdict{Allowed: true}, Judged: egress.Verdict{Allowed: true}},
		"https://a.example/v2": {Granted: true, InCore: true, Declared: egress.Verdict{Allowed: true}},
		"https://b.example/v1": {Granted: true},
	} {
		x := p.Explain("GET", url)
		if !x.Parsed.Allowed || !x.Address.Allowed || x.Granted != want.Granted || x.InCore != want.InCore || x.Declared.Allowed != want.Declared.Allowed ||
			x.Rules.Allowed != want.Rules.Allowed || x.Judged.Allowed != want.Judged.Allowed {
			t.Errorf("%s: %+v", url, x)
		}
	}
}
