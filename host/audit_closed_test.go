package host

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/net"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/host/turn"
	decide "github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// court is a host over a durable store with one turn under way, a question, an allowance, a grant, a secret and a server.
type court struct {
	t       *testing.T
	h       *Host
	store   *sqlite.Store
	path    string
	op      principal.Scope
	bound   binding.Turn
	pending id.Approval
	allowed id.Approval
	ran     int // calls that reached their adapter
	shown   int // questions that reached a person
	served  int // requests that reached the server
	origin  string
}

// Prompt is a person who allows everything for the session.
func (c *court) Prompt(context.Context, approval.Question) (approval.Answer, error) {
	c.shown++
	return approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: authority.OperatorID}, nil
}

// Invoke is a tool that does what it is asked.
func (c *court) Invoke(context.Context, effect.Call) effect.Outcome {
	c.ran++
	return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newCourt(t *testing.T) *court {
	t.Helper()
	c := &court{t: t, path: filepath.Join(t.TempDir(), "portcullis.db")}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { c.served++ }))
	t.Cleanup(server.Close)
	c.origin = server.URL
	ids, dir := id.NewSource(time.Now, rand.Reader), t.TempDir()
	config := "schema_version: 1\nnetwork: {allow_private: [\"" + c.origin + "\"]}\n"
	if err := os.WriteFile(filepath.Join(dir, core.HostFile), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c.store = must[*sqlite.Store](t)(sqlite.Open(t.Context(), sqlite.Config{Path: c.path, Clock: time.Now, IDs: ids}))
	c.h = must[*Host](t)(Open(t.Context(), Config{Home: dir, Store: c.store, Prompter: c}))
	t.Cleanup(func() {
		if err := c.h.Close(); err != nil {
			t.Error(err)
		}
		if err := c.store.Close(); err != nil {
			t.Error(err)
		}
	})
	must[bool](t)(secret.At(dir, time.Now).Set(t.Context(), "API_TOKEN", secret.Content{Value: "value-of-a-token"}))
	c.op = must[principal.Scope](t)(c.h.Operator(t.Context(), "test"))
	must[bool](t)(c.h.Grant(t.Context(), c.op, "calc", "kv"))
	c.begin(c.admission(authority.OperatorFacts("test")))
	c.pending, c.allowed = c.question(), c.question()
	if _, how, err := c.h.Decide(t.Context(), c.op, c.allowed, true, approval.ForSession, "fine"); err != nil || how != approval.Recorded {
		t.Fatal(how, err)
	}
	return c
}

func (c *court) admission(owner principal.Facts) turn.Admission {
	return turn.Admission{
		Request: c.h.ids.Request(), Digest: "d", Turn: c.h.ids.Turn(), NewSession: c.h.ids.Session(), Selector: turn.Selector{Kind: turn.Fresh},
		Owner: owner, Core: "c", Revision: "sha256:r", Capabilities: "f", Trace: c.h.ids.Trace(), Input: "hello", At: time.Now(),
		Claim: lease.Claim{Token: c.h.ids.Lease(), Epoch: c.h.epoch, Expires: time.Now().Add(time.Hour)},
	}
}

func (c *court) record(k event.Kind) event.Record {
	return event.Record{ID: c.h.ids.Event(), At: time.Now(), Kind: k, Principal: "principal:test"}
}

func (c *court) admit(a turn.Admission) (turn.Admittance, error) {
	return c.store.Admit(c.t.Context(), a, []event.Record{c.record(event.SessionCreated), c.record(event.TurnStarted)})
}

func (c *court) begin(a turn.Admission) {
	got := must[turn.Admittance](c.t)(c.admit(a))
	scope := must[principal.Scope](c.t)(c.h.resolver.Session(c.t.Context(), a.Owner, got.Session))
	token := binding.Token{ID: c.h.ids.Token(), Request: a.Request, Turn: a.Turn, Session: got.Session}
	c.bound = must[binding.Turn](c.t)(binding.New(binding.Spec{
		Request: a.Request, Turn: a.Turn, Session: got.Session, Principal: scope, Trace: a.Trace, Route: token, Admission: token, Cancellation: token,
		Core: binding.Core{ID: a.Core, Revision: a.Revision, Capabilities: must[capability.Snapshot](c.t)(capability.ParseSnapshot("tool.call:t.allowed", "tool.call:t.asked", "tool.call:t.forbidden", "tool.call:t.secret", "tool.call:t.authored", "tool.call:t.bridge", "secret.bind:API_TOKEN"))},
	}))
}

func (c *court) question() id.Approval {
	q := approval.Question{
		ID: c.h.ids.Approval(), Session: c.bound.Session(), Turn: c.bound.ID(), Effect: c.h.ids.Effect(), Principal: authority.OperatorID,
		Core: "c", Tool: "t.asked", Risk: decide.Low, Needs: []string{"kv"}, Why: "rule", Arguments: `{}`, Digest: "d", RuleKey: "t.asked",
		Cacheable: true, Asked: time.Now(), Expires: time.Now().Add(time.Hour), State: approval.Pending,
	}
	if err := c.store.Ask(c.t.Context(), q, c.record(event.ApprovalAsked)); err != nil {
		c.t.Fatal(err)
	}
	return q.ID
}

// tools are one for each way through the gate.
func (c *court) Tools(context.Context, binding.Turn) ([]effect.Tool, error) {
	var all []effect.Tool
	for name, needs := range map[string][]string{"allowed": nil, "asked": nil, "forbidden": nil, "incapable": nil, "authored": nil, "bridge": nil, "secret": {"secret.bind:API_TOKEN"}} {
		one := effect.Tool{
			Name: "t." + name, Description: "test", Risk: decide.Low, Approval: decide.Auto, Recovery: "read", Origin: effect.Builtin,
			Provenance: "builtin:" + name, Adapter: c, InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object"}`),
		}
		switch name {
		case "asked":
			one.Approval = decide.Prompt
		case "authored":
			one.Origin = effect.Authored
		case "bridge":
			one.Origin = effect.Bridge
		case "forbidden":
			one.Approval = decide.Deny
		}
		for _, need := range append(needs, "tool.call:t."+name) {
			one.Needs = append(one.Needs, must[capability.Name](c.t)(capability.Parse(need)))
		}
		all = append(all, one)
	}
	return all, nil
}

// call passes one call through the gate and reports whether it ran.
func (c *court) call(tool, arguments string) bool {
	catalog := must[*effect.Catalog](c.t)(c.h.effects.Prepare(c.t.Context(), c.bound, effect.Setup{Sources: []effect.Source{c}}))
	defer catalog.Close()
	req := effect.Request{ID: c.h.ids.Effect(), Arguments: []byte(arguments), From: effect.FromHost, Catalog: catalog}
	ref, ok := catalog.Resolve(tool)
	if !ok {
		c.h.effects.Unknown(c.t.Context(), req, tool, c.bound)
		return c.ran > 0
	}
	req.Ref = ref
	res := c.h.effects.Execute(c.t.Context(), req, c.bound)
	return c.ran > 0 || res.Started || res.Status == effect.Succeeded || c.shown > 0
}

// fetch makes a request as a plugin's call and reports whether it went out.
func (c *court) fetch(method string) bool {
	grant := must[capability.Snapshot](c.t)(capability.ParseSnapshot("net.fetch:" + c.origin[len("http://"):]))
	call := net.PluginCall{Plugin: "web", Egress: []wire.Egress{{Host: "*"}}, Grants: grant, Core: "c", Capabilities: grant}
	call.Audit = func(ctx context.Context, d net.Decision) error {
		return c.h.recordEgress(ctx, d, effect.Call{Effect: "eff_x", Turn: c.bound, Redactor: func() redact.Set { return redact.Set{} }})
	}
	out := must[*net.PluginHTTP](c.t)(c.h.network.Plugin(call))
	defer out.Close()
	reply, _, err := out.Do(c.t.Context(), wire.HTTPRequest{Method: method, URL: c.origin + "/"}, nil)
	return c.served > 0 || err == nil && reply.Fault == nil
}

func (c *court) state(a id.Approval) approval.Question {
	q, found, err := c.store.Question(c.t.Context(), c.op, a)
	if err != nil || !found {
		c.t.Fatal(found, err)
	}
	return q
}

// decision is one thing that is decided. take reports whether it came about.
type decision struct {
	name  string
	kind  event.Kind // of its record
	comes bool       // it comes about while it can be recorded
	take  func(c *court) bool
}

func decisions() []decision {
	var conversation principal.Facts
	conversation, _ = principal.Sender{Channel: "chat", ID: "ann"}.Direct(principal.Place{Channel: "chat", Scope: "dm", IDs: []string{"ann"}})
	admit := func(owner principal.Facts) func(c *court) bool {
		return func(c *court) bool {
			a := c.admission(owner)
			got, err := c.admit(a)
			_, found, readErr := c.store.Turn(c.t.Context(), c.op, a.Turn)
			return err == nil && got.Disposition == turn.Admitted || found && readErr == nil
		}
	}
	return []decision{
		{"operator authority is issued", event.OperatorIssued, true, func(c *court) bool {
			s, err := c.h.Operator(c.t.Context(), "another")
			return err == nil || !s.Zero()
		}},
		{"a turn of the operator begins", event.TurnStarted, true, admit(authority.OperatorFacts("test"))},
		{"a turn of a conversation begins", event.SessionCreated, true, admit(conversation)},
		{"a call is allowed", event.EffectStarted, true, func(c *court) bool { return c.call("t.allowed", `{}`) }},
		{"a call of a plugin's tool is allowed", event.EffectStarted, true, func(c *court) bool { return c.call("t.authored", `{}`) }},
		{"a call over a bridge is allowed", event.EffectStarted, true, func(c *court) bool { return c.call("t.bridge", `{}`) }},
		{"a session is ended", event.SessionEnded, true, func(c *court) bool {
			how, err := c.h.EndSession(c.t.Context(), c.op, c.bound.Session(), "over")
			return err == nil && how == turn.Ended || !c.state(c.allowed).Revoked.IsZero() || c.state(c.pending).State != approval.Pending
		}},
		{"a turn of another process is asked to end", event.TurnCancelAsked, true, func(c *court) bool {
			how, err := c.h.Cancel(c.t.Context(), c.op, c.bound.ID())
			asked, readErr := c.store.CancelRequested(c.t.Context(), c.bound.ID())
			return err == nil && how == turn.CancelRequested || readErr != nil || asked
		}},
		{"a session without an owner is looked at", event.LegacyAccessed, true, func(c *court) bool {
			_, _, err := c.store.Legacy(c.t.Context(), c.op, turn.LegacyQuery{Session: c.bound.Session(), Reason: "look"})
			return err == nil
		}},
		{"a call lacks a capability", event.EffectDenied, false, func(c *court) bool { return c.call("t.incapable", `{}`) }},
		{"a call is denied by a rule", event.EffectDenied, false, func(c *court) bool { return c.call("t.forbidden", `{}`) }},
		{"a call does not fit", event.EffectDenied, false, func(c *court) bool { return c.call("t.allowed", `{"x":1}`) }},
		{"a call is of no tool", event.EffectDenied, false, func(c *court) bool { return c.call("t.none", `{}`) }},
		{"a person is asked", event.ApprovalAsked, true, func(c *court) bool { return c.call("t.asked", `{}`) }},
		{"a person allows", event.ApprovalDecided, true, func(c *court) bool {
			_, how, err := c.h.Decide(c.t.Context(), c.op, c.pending, true, approval.Once, "yes")
			return err == nil && how == approval.Recorded || c.state(c.pending).State != approval.Pending
		}},
		{"a person denies", event.ApprovalDecided, true, func(c *court) bool {
			_, how, err := c.h.Decide(c.t.Context(), c.op, c.pending, false, "", "no")
			return err == nil && how == approval.Recorded || c.state(c.pending).State != approval.Pending
		}},
		{"an allowance is taken back", event.ApprovalRevoked, true, func(c *court) bool {
			_, _, err := c.h.RevokeApproval(c.t.Context(), c.op, c.allowed, "no more")
			return err == nil || !c.state(c.allowed).Revoked.IsZero()
		}},
		{"a plugin is granted", event.PluginGranted, true, func(c *court) bool {
			_, err := c.h.Grant(c.t.Context(), c.op, "calc", "fs.read")
			have, readErr := c.h.PluginGrants(c.t.Context(), "calc")
			return err == nil || readErr != nil || len(have.Grants()) != 1
		}},
		{"a grant is taken back", event.PluginRevoked, true, func(c *court) bool {
			_, err := c.h.Revoke(c.t.Context(), c.op, "calc", "kv")
			have, readErr := c.h.PluginGrants(c.t.Context(), "calc")
			return err == nil || readErr != nil || len(have.Grants()) != 1
		}},
		{"a plugin is installed", event.PluginInstalled, true, func(c *court) bool {
			return c.h.NoteInstalled(c.t.Context(), c.op, plugin.Installed{ID: "calc"}) == nil
		}},
		{"a plugin is removed", event.PluginRemoved, true, func(c *court) bool {
			return c.h.NoteRemoved(c.t.Context(), c.op, "calc", "1.0.0") == nil
		}},
		{"a secret is bound", event.SecretBound, true, func(c *court) bool { return c.call("t.secret", `{}`) }},
		{"a request of a plugin goes out", event.EgressDecided, true, func(c *court) bool { return c.fetch("GET") }},
		{"a request of a plugin is refused", event.EgressDecided, false, func(c *court) bool { return c.fetch("DELETE") }},
		{"a request of the host goes out", event.EgressDecided, true, func(c *court) bool {
			open := must[net.Allowances](c.t)(net.ParseAllowances(c.origin))
			resp, err := must[*http.Client](c.t)(c.h.network.ProviderClient("test", c.origin, open)).Get(c.origin)
			if err == nil {
				resp.Body.Close()
			}
			return c.served > 0 || err == nil
		}},
	}
}

// statement runs one on the database from outside, as a disk that fails under the audit would make it.
func (c *court) statement(query string) {
	c.t.Helper()
	db := must[*sql.DB](c.t)(sql.Open("sqlite", c.path))
	defer db.Close()
	must[sql.Result](c.t)(db.Exec(query))
}

// With nowhere to write the audit, nothing comes about that it would tell of.
func TestWhatCannotBeRecordedDoesNotHappen(t *testing.T) {
	all, denied := decisions(), 0
	for _, d := range all {
		c := newCourt(t)
		c.statement(`CREATE TRIGGER audit_unwritable BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'unwritable'); END`)
		if d.take(c) {
			t.Errorf("%s: it came about without a record", d.name)
		} else {
			denied++
		}
		c.statement(`DROP TRIGGER audit_unwritable`)
	}
	t.Logf("audit: %d of %d denied", denied, len(all))
	if len(all) != 25 {
		t.Errorf("%d decisions, not 25", len(all))
	}
}

// Every decision, one that allows too, has its record.
func TestEveryDecisionHasARecord(t *testing.T) {
	for _, d := range decisions() {
		c := newCourt(t)
		count := func() int {
			return len(must[[]event.Record](t)(c.store.Events(t.Context(), c.op, turn.EventQuery{Kind: d.kind, Limit: 100})))
		}
		before := count()
		if came := d.take(c); came != d.comes {
			t.Errorf("%s: came about %v", d.name, came)
		}
		if after := count(); after <= before {
			t.Errorf("%s: no %s record", d.name, d.kind)
		}
	}
}
