package approval_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"pgregory.net/rapid"
)

func names(t testing.TB, texts ...string) []capability.Name {
	t.Helper()
	var out []capability.Name
	for _, text := range texts {
		n, err := capability.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// world is five tools of every kind that the rules tell apart.
func world(t testing.TB) approval.Known {
	t.Helper()
	return approval.Known{
		Tools: []approval.Entry{
			{Tool: "calc.eval", Risk: approval.Low, Mode: approval.Auto},
			{Tool: "web.fetch", Capabilities: names(t, "net.fetch"), Risk: approval.Medium, Mode: approval.Auto},
			{Tool: "file.write", Capabilities: names(t, "fs.write", "fs.read"), Risk: approval.Medium, Mode: approval.Prompt},
			{Tool: "file.read", Capabilities: names(t, "fs.read"), Risk: approval.Low, Mode: approval.Auto},
			{Tool: "mail.send", Capabilities: names(t, "net.fetch:mail.example:465", "secret.bind:MAIL"), Risk: approval.High, Mode: approval.Auto},
		},
		Capabilities: names(t, "mcp.connect:docs"),
	}
}

func entry(t testing.TB, tool string) approval.Entry {
	t.Helper()
	for _, e := range world(t).Tools {
		if e.Tool == tool {
			return e
		}
	}
	t.Fatalf("no tool %s", tool)
	return approval.Entry{}
}

// file writes one rule a line, "section key mode", so that a test reads like the file it stands for.
func file(name, text string) approval.Rules {
	rules := approval.Rules{File: name}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		r := approval.Rule{Key: f[1], Mode: f[2], At: approval.Position{File: name, Line: i + 1, Column: 3}}
		switch f[0] {
		case "default":
			rules.Default = r
		case "tool":
			rules.Tools = append(rules.Tools, r)
		case "cap":
			rules.Capabilities = append(rules.Capabilities, r)
		case "risk":
			rules.Risks = append(rules.Risks, r)
		}
	}
	return rules
}

func compile(t testing.TB, name, text string) approval.Policy {
	t.Helper()
	p, faults := approval.Compile(file(name, text), world(t))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return p
}

func TestLookupOrderInOneFile(t *testing.T) {
	all := compile(t, "core.yaml", `
tool web.fetch deny
cap fs.read prompt
risk low deny
risk high prompt
default - auto`)
	for tool, want := range map[string]struct {
		mode approval.Mode
		why  string
	}{
		"web.fetch":  {approval.Deny, "tools: web.fetch"},
		"file.read":  {approval.Prompt, "capabilities: fs.read"}, // and not risks: low
		"calc.eval":  {approval.Deny, "risks: low"},
		"mail.send":  {approval.Prompt, "risks: high"},
		"file.write": {approval.Prompt, "own mode of file.write"}, // an equal rule does not take the credit
	} {
		v := approval.Decide(entry(t, tool), all)
		if v.Mode != want.mode || v.Why.Rule != want.why {
			t.Errorf("%s: %s by %q, want %s by %q", tool, v.Mode, v.Why.Rule, want.mode, want.why)
		}
	}
	only := compile(t, "core.yaml", "default - prompt")
	if v := approval.Decide(entry(t, "calc.eval"), only); v.Mode != approval.Prompt || v.Why.Rule != "default" || v.Why.At.Line != 1 {
		t.Errorf("default: %+v", v.Why)
	}
}

func TestSeveralCapabilitiesTheStrictestCounts(t *testing.T) {
	p := compile(t, "core.yaml", "cap fs.write deny\ncap fs.read prompt")
	v := approval.Decide(entry(t, "file.write"), p)
	if v.Mode != approval.Deny || v.Why.Rule != "capabilities: fs.write" {
		t.Errorf("file.write: %+v", v.Why)
	}
	v = approval.Decide(entry(t, "file.read"), p)
	if v.Mode != approval.Prompt {
		t.Errorf("file.read: %s", v.Mode)
	}
}

func TestTheMostSpecificRuleAnswersForACapability(t *testing.T) {
	for text, want := range map[string]approval.Mode{
		"cap net.fetch deny\ncap net.fetch:mail.example:465 prompt":             approval.Prompt,
		"cap net.fetch:* deny\ncap net.fetch:mail.example:* prompt":             approval.Prompt,
		"cap net.fetch:mail.example:* prompt":                                   approval.Prompt,
		"cap tool.call:* prompt\ncap tool.call:mail.send deny":                  approval.Deny,
		"cap net.fetch prompt\ncap secret.bind:MAIL deny\ncap mcp.connect auto": approval.Deny,
		"cap net.fetch:mail.example:465 auto\ntool web.fetch deny":              approval.Auto,
		"cap mcp.connect:docs prompt\ncap net.fetch:mail.example:465 prompt":    approval.Prompt,
	} {
		if v := approval.Decide(entry(t, "mail.send"), compile(t, "core.yaml", text)); v.Mode != want {
			t.Errorf("%q: %s, want %s", text, v.Mode, want)
		}
	}
}

func TestFilesTightenAndNeverLoosen(t *testing.T) {
	strict, lax := compile(t, "host.yaml", "tool calc.eval deny"), compile(t, "core.yaml", "tool calc.eval auto")
	for _, order := range [][]approval.Policy{{strict, lax}, {lax, strict}} {
		v := approval.Decide(entry(t, "calc.eval"), order...)
		if v.Mode != approval.Deny || v.Why.At.String() != "host.yaml:1:3" {
			t.Errorf("%+v", v.Why)
		}
	}
	e := entry(t, "file.write")
	if v := approval.Decide(e, compile(t, "core.yaml", "default - auto")); v.Mode != approval.Prompt {
		t.Errorf("a file loosened the tool's own mode to %s", v.Mode)
	}
}

func TestDecideProperties(t *testing.T) {
	lines := []string{
		"tool calc.eval", "tool web.fetch", "tool file.write", "cap net.fetch", "cap fs.read", "cap tool.call:*", "risk low", "risk medium", "default -",
	}
	known := world(t)
	rapid.Check(t, func(t *rapid.T) {
		var policies []approval.Policy
		for range rapid.IntRange(0, 3).Draw(t, "files") {
			var text []string
			for _, l := range rapid.SliceOfDistinct(rapid.SampledFrom(lines), rapid.ID).Draw(t, "lines") {
				text = append(text, l+" "+rapid.SampledFrom([]string{"auto", "prompt", "deny"}).Draw(t, "mode"))
			}
			if len(text) == 0 {
				text = []string{"default - auto"}
			}
			p, _ := approval.Compile(file("f", strings.Join(text, "\n")), known)
			policies = append(policies, p)
		}
		for _, e := range known.Tools {
			v := approval.Decide(e, policies...)
			decides := 0
			for _, s := range v.Trace {
				if s.Decides {
					decides++
				}
				if s.Applies && s.Mode > v.Mode {
					t.Fatalf("%s: %s applies and is stricter than the verdict %s", e.Tool, s, v.Mode)
				}
			}
			if v.Mode < e.Mode || !v.Mode.Valid() || decides != 1 || !v.Why.Decides || v.Why.Mode != v.Mode {
				t.Fatalf("%s: verdict %s with %d deciding steps", e.Tool, v.Mode, decides)
			}
			for i := range policies {
				if fewer := approval.Decide(e, policies[:i]...); fewer.Mode > v.Mode {
					t.Fatalf("%s: a further file loosened %s to %s", e.Tool, fewer.Mode, v.Mode)
				}
			}
		}
	})
}

func TestFaultsNameFileLineAndColumn(t *testing.T) {
	for text, want := range map[string]struct {
		code     approval.Code
		sentence string
	}{
		"tool web.fecth prompt":                      {approval.UnknownTool, "known are calc.eval, file.read"},
		"cap net.fecth prompt":                       {approval.UnknownCapability, "did you mean net.fetch?"},
		"cap fs.* prompt":                            {approval.UnknownCapability, "fs.*"},
		"cap secret.bind:* prompt":                   {approval.UnknownCapability, "one by one"},
		"risk hihg prompt":                           {approval.UnknownRisk, "low, medium, high or critical"},
		"default - ask":                              {approval.UnknownMode, "write auto, prompt or deny"},
		"tool calc.eval Auto":                        {approval.UnknownMode, "\"Auto\" is no mode"},
		"cap fs.read allow":                          {approval.UnknownMode, "capabilities: fs.read"},
		"risk low ask":                               {approval.UnknownMode, "risks: low"},
		"tool calc.eval deny\ntool calc.eval prompt": {approval.Duplicate, "the first is at line 1"},
		"cap net.fetch deny\ncap net.fetch:* prompt": {approval.Duplicate, "the first is at line 1"},
		"risk low deny\nrisk low prompt":             {approval.Duplicate, "stands twice"},
		"cap kv prompt":                              {approval.Unreachable, "no known tool uses this capability"},
		"cap mcp.connect:other prompt":               {approval.Unreachable, "no known tool uses this capability"},
		"cap net.fetch:api.example prompt":           {approval.Unreachable, "web.fetch asks for net.fetch without naming one, so write net.fetch here"},
		"cap net.fetch:api.example:* prompt":         {approval.Unreachable, "narrow it in the egress rules"},
		"risk critical prompt":                       {approval.Unreachable, "no known tool has this risk"},
		"tool mail.send deny\nrisk high prompt":      {approval.Unreachable, "the tools of this risk (mail.send) are all decided"},
		"tool file.write auto":                       {approval.Unreachable, "stricter by itself"},
		"cap fs.write auto":                          {approval.Unreachable, "stricter by itself"},
		"cap net.fetch:mail.example:465 auto\ncap secret.bind:MAIL prompt":               {approval.Unreachable, "more specific or stricter"},
		"tool web.fetch deny\ncap net.fetch:mail.example:* prompt\ncap net.fetch prompt": {approval.Unreachable, "web.fetch"},
	} {
		p, faults := approval.Compile(file("agent.yaml", text), world(t))
		found := false
		for _, f := range faults {
			found = found || f.Code == want.code && strings.Contains(f.Sentence, want.sentence) && f.At.Line >= 1
		}
		if !found {
			t.Errorf("%q: faults %v, want %s with %q", text, faults, want.code, want.sentence)
			continue
		}
		if !strings.Contains(faults.Error(), "agent.yaml:") || !strings.Contains(faults.Error(), ":3: ") {
			t.Errorf("%q: %q has no file, line and column", text, faults.Error())
		}
		if v := approval.Decide(entry(t, "calc.eval"), p); v.Mode != approval.Deny || !strings.Contains(v.Why.Rule, "faults") {
			t.Errorf("%q: a file with faults gave %s", text, v.Mode)
		}
	}
}

func TestFaultsComeInTheOrderOfTheFile(t *testing.T) {
	_, faults := approval.Compile(file("f", "risk no prompt\ncap no prompt\ntool no.no prompt\ndefault - no"), world(t))
	for i, f := range faults {
		if f.At.Line != i+1 {
			t.Errorf("fault %d is of line %d: %v", i, f.At.Line, faults)
		}
	}
	same := approval.Rules{File: "f", Tools: []approval.Rule{
		{Key: "b.b", Mode: "auto", At: approval.Position{File: "f", Line: 1, Column: 9}},
		{Key: "a.a", Mode: "auto", At: approval.Position{File: "f", Line: 1, Column: 2}},
	}}
	_, faults = approval.Compile(same, approval.Known{})
	if len(faults) != 2 || faults[0].At.Column != 2 || !strings.Contains(faults[0].Sentence, "no tools are installed") {
		t.Errorf("%v", faults)
	}
	many := approval.Known{}
	for c := 'a'; c <= 'z'; c++ {
		many.Tools = append(many.Tools, approval.Entry{Tool: "t." + string(c)})
	}
	if _, faults = approval.Compile(same, many); !strings.Contains(faults.Error(), "and 14 more") {
		t.Errorf("%v", faults)
	}
}

func TestTraceExplains(t *testing.T) {
	v := approval.Decide(entry(t, "file.write"), compile(t, "core.yaml", "cap fs.write deny\ncap fs.read prompt"), compile(t, "host.yaml", "default - auto"))
	var got []string
	for _, s := range v.Trace {
		got = append(got, s.String())
	}
	want := `tool: own mode of file.write: prompt
core.yaml: tools: file.write: no such rule
core.yaml:1:3: capabilities: fs.write: deny (decides)
core.yaml:2:3: capabilities: fs.read: prompt (a stricter capability counts)
core.yaml: capabilities: tool.call:file.write: no such rule
host.yaml: tools: file.write: no such rule
host.yaml: capabilities: fs.write: no such rule
host.yaml: capabilities: fs.read: no such rule
host.yaml: capabilities: tool.call:file.write: no such rule
host.yaml: risks: medium: no such rule
host.yaml:1:3: default: auto`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("trace is\n%s\nwant\n%s", text, want)
	}
}

func TestValuesThatWereNeverSetAreTheStrictest(t *testing.T) {
	var m approval.Mode
	var r approval.Risk
	if m.Valid() || r.Valid() || m.Stricter(approval.Auto) != approval.Deny || approval.Auto.Stricter(m) != approval.Deny || !r.AtLeast(approval.Critical) {
		t.Error("a zero mode or risk is lax")
	}
	if v := approval.Decide(approval.Entry{Tool: "x.y"}); v.Mode != approval.Deny || v.Why.Rule != "x.y states no mode" {
		t.Errorf("an entry without a mode: %+v", v.Why)
	}
	if v := approval.Decide(entry(t, "calc.eval"), approval.Policy{}); v.Mode != approval.Auto || len(v.Trace) != 1 {
		t.Errorf("the zero policy has a say: %+v", v)
	}
	if !(approval.Auto < approval.Prompt && approval.Prompt < approval.Deny) || !approval.High.AtLeast(approval.Medium) || approval.Low.AtLeast(approval.Medium) {
		t.Error("the orders are wrong")
	}
}

func TestWordsAreExact(t *testing.T) {
	for text, want := range map[string]approval.Mode{"auto": approval.Auto, "prompt": approval.Prompt, "deny": approval.Deny} {
		var back approval.Mode
		raw, err := json.Marshal(want)
		if m, perr := approval.ParseMode(text); perr != nil || m != want || err != nil || json.Unmarshal(raw, &back) != nil || back != want {
			t.Errorf("mode %q: %v %v, %s", text, m, perr, raw)
		}
	}
	for text, want := range map[string]approval.Risk{"low": approval.Low, "medium": approval.Medium, "high": approval.High, "critical": approval.Critical} {
		var back approval.Risk
		raw, err := json.Marshal(want)
		if r, perr := approval.ParseRisk(text); perr != nil || r != want || err != nil || json.Unmarshal(raw, &back) != nil || back != want {
			t.Errorf("risk %q: %v %v, %s", text, r, perr, raw)
		}
	}
	for _, text := range []string{"", "AUTO", " auto", "none", "ask", strings.Repeat("x", 100)} {
		var word *approval.WordError
		if _, err := approval.ParseMode(text); !errors.As(err, &word) || len(word.Word) > 40 || !strings.Contains(err.Error(), "auto, prompt or deny") {
			t.Errorf("mode %q: %v", text, err)
		}
		if _, err := approval.ParseRisk(text); !errors.As(err, &word) {
			t.Errorf("risk %q: %v", text, err)
		}
	}
	var m approval.Mode
	var r approval.Risk
	if m.UnmarshalText([]byte("x")) == nil || r.UnmarshalText([]byte("x")) == nil {
		t.Error("an unknown word was read")
	}
	if _, err := m.MarshalText(); err == nil {
		t.Error("no mode was written")
	}
	if _, err := r.MarshalText(); err == nil {
		t.Error("no risk was written")
	}
}

func scope(t testing.TB, id, session string) principal.Scope {
	t.Helper()
	s, err := principal.NewIssuer("store").Issue(principal.Facts{
		PrincipalID: id, Authority: principal.Conversation, Channel: "c", ConversationKey: "c:dm:" + id,
		SessionID: session, AllowedSessions: []string{session},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestKeyChangesWithEveryPart changes one part at a time; each must give another key, or an allowance leaks.
func TestKeyChangesWithEveryPart(t *testing.T) {
	basis := func(change func(*approval.Basis)) approval.Basis {
		b := approval.Basis{Core: "assistant", Revision: "sha256:1", Capabilities: "f1", Effective: approval.Prompt, Entry: entry(t, "file.write")}
		change(&b)
		return b
	}
	make := func(who, session, rule string, change func(*approval.Basis)) approval.Key {
		k, ok := approval.NewKey(scope(t, who, session), session, basis(change), rule)
		if !ok {
			t.Fatal("no key")
		}
		return k
	}
	none := func(*approval.Basis) {}
	first := make("p1", "s1", "r", none)
	if again := make("p1", "s1", "r", func(b *approval.Basis) { b.Entry.Capabilities = names(t, "fs.read", "fs.write") }); again != first {
		t.Error("the order of capabilities changes the key")
	}
	for part, k := range map[string]approval.Key{
		"principal":    make("p2", "s1", "r", none),
		"session":      make("p1", "s2", "r", none),
		"rule":         make("p1", "s1", "r2", none),
		"core":         make("p1", "s1", "r", func(b *approval.Basis) { b.Core = "other" }),
		"revision":     make("p1", "s1", "r", func(b *approval.Basis) { b.Revision = "sha256:2" }),
		"capabilities": make("p1", "s1", "r", func(b *approval.Basis) { b.Capabilities = "f2" }),
		"effective":    make("p1", "s1", "r", func(b *approval.Basis) { b.Effective = approval.Auto }),
		"tool":         make("p1", "s1", "r", func(b *approval.Basis) { b.Entry.Tool = "file.write2" }),
		"tool caps":    make("p1", "s1", "r", func(b *approval.Basis) { b.Entry.Capabilities = b.Entry.Capabilities[:1] }),
		"tool risk":    make("p1", "s1", "r", func(b *approval.Basis) { b.Entry.Risk = approval.High }),
		"definition":   make("p1", "s1", "r", func(b *approval.Basis) { b.Definition = "d2" }),
		"grants":       make("p1", "s1", "r", func(b *approval.Basis) { b.Granted = "g2" }),
		"policy":       make("p1", "s1", "r", func(b *approval.Basis) { b.Policy = "p2" }),
		"tool mode":    make("p1", "s1", "r", func(b *approval.Basis) { b.Entry.Mode = approval.Auto }),
		"shifted":      make("p1", "s1", "r", func(b *approval.Basis) { b.Revision, b.Capabilities = "sha256:1f", "1" }),
	} {
		if k == first || k.Short() == first.Short() || len(k.Short()) != 16 {
			t.Errorf("another %s gives the same key", part)
		}
	}
	if core := basis(func(b *approval.Basis) { b.Core = "other" }); core.Fingerprint() == basis(none).Fingerprint() {
		t.Error("another core gives the same fingerprint") // the key names the core once more
	}
	for name, ok := range map[string]bool{
		"nobody":        second(approval.NewKey(principal.Scope{}, "s1", basis(none), "r")),
		"other session": second(approval.NewKey(scope(t, "p1", "s1"), "s2", basis(none), "r")),
		"no core":       second(approval.NewKey(scope(t, "p1", "s1"), "s1", approval.Basis{}, "r")),
		"no rule":       second(approval.NewKey(scope(t, "p1", "s1"), "s1", basis(none), "")),
	} {
		if ok {
			t.Errorf("%s got a key", name)
		}
	}
}

func second(_ approval.Key, ok bool) bool { return ok }

func TestRuleKeyNamesWhatIsCovered(t *testing.T) {
	if got := entry(t, "file.write").RuleKey(""); got != "file.write fs.write fs.read" {
		t.Errorf("RuleKey = %q", got)
	}
	if got := entry(t, "calc.eval").RuleKey("ab12"); got != "calc.eval =ab12" {
		t.Errorf("RuleKey = %q", got)
	}
}

// A rule that is written in another way is another policy, also where it comes to the same mode.
func TestAnotherRuleIsAnotherPolicy(t *testing.T) {
	known := approval.Known{Tools: []approval.Entry{entry(t, "file.write"), entry(t, "calc.eval")}}
	compiled := func(r approval.Rules) approval.Policy {
		p, faults := approval.Compile(r, known)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		return p
	}
	seen := map[string]int{approval.PolicyFingerprint(): -1}
	for i, r := range []approval.Rules{
		{File: "a"},
		{File: "b"},
		{File: "a", Default: approval.Rule{Mode: "prompt"}},
		{File: "a", Tools: []approval.Rule{{Key: "file.write", Mode: "prompt"}}},
		{File: "a", Tools: []approval.Rule{{Key: "file.write", Mode: "deny"}}},
		{File: "a", Tools: []approval.Rule{{Key: "calc.eval", Mode: "prompt"}}},
		{File: "a", Capabilities: []approval.Rule{{Key: "fs.write", Mode: "prompt"}}},
	} {
		got := approval.PolicyFingerprint(compiled(r))
		if other, taken := seen[got]; taken {
			t.Errorf("rules %d read like rules %d", i, other)
		}
		seen[got] = i
		if again := approval.PolicyFingerprint(compiled(r)); again != got {
			t.Errorf("rules %d: %s, then %s", i, got, again)
		}
	}
}

// A word that is none is told whole or by its length: a part of a secret could not be hidden any more.
func TestWhatIsNoRuleIsNotToldInPart(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for before := range 120 {
		text := strings.Repeat("x", before) + secret
		_, mode := approval.ParseMode(text)
		_, faults := approval.Compile(approval.Rules{
			Tools: []approval.Rule{{Key: text, Mode: "deny"}, {Key: "t", Mode: text}}, Capabilities: []approval.Rule{{Key: text, Mode: text}},
			Risks: []approval.Rule{{Key: text, Mode: "deny"}},
		}, approval.Known{})
		for _, err := range []error{mode, faults} {
			if strings.Contains(strings.ReplaceAll(err.Error(), secret, ""), secret[:3]) {
				t.Fatal(err)
			}
		}
	}
}
