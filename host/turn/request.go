package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// MaxInputBytes bounds the raw input of a turn.
const MaxInputBytes = 256 << 10

// Request asks for one turn. Run copies it before it does anything, so a later change by the caller changes nothing.
// It holds values only: no store, client, route adapter or runner.
type Request struct {
	Key         id.Request      // stable request or idempotency key, see [id.ParseRequest]; empty: one is made, and the request is not repeatable
	Actor       principal.Facts // the authenticated principal; session fields are ignored
	Selector    Selector        // zero: Bound
	Core        string          // core id
	Revision    string          // pinned core revision; empty: the current one
	Input       string          // 1 byte to MaxInputBytes of UTF-8
	Workspace   string          // absolute folder for file effects; empty: the core's
	Interaction map[string]string
	Known       redact.Set // values that no view may show, besides those the host finds itself
	Model       ModelChoice
	Direct      bool    // one effect and no model: see [Execution.Call]
	Parent      *Parent // of a child agent: who it works for; nil: nobody's child

	call []string // of a Direct request: the tool and its arguments as they were given
}

// Parent is the turn that a child agent works for, which narrows everything that the child may do: its time and steps are at
// most what that turn has left, and it counts as one of its children. A request of a delegated agent has one, and no other has.
// It comes from an effect of that turn, which must run in the same Execution, and from nowhere else.
type Parent struct {
	Turn  binding.Turn
	Setup effect.Setup // what the parent's catalog was made of
}

// ModelChoice overrides the core's model for one turn. Each empty field leaves the core's.
type ModelChoice struct {
	Provider string // a name of config.yaml
	Name     string
	Script   string // path of a script file; the model is then scripted, whatever Provider says
}

// RejectedError reports a request that was refused before turn.started. It says nothing about what others own.
type RejectedError struct {
	Request  id.Request
	Reason   string // stable code
	Sentence string // what went wrong and what to do
}

// Error is the sentence.
func (e *RejectedError) Error() string { return e.Sentence }

// Stable reasons of a rejection.
const (
	RejectInput     = "input_invalid"
	RejectCore      = "core_unusable"
	RejectSession   = "session_not_found"
	RejectEnded     = "session_ended"
	RejectConflict  = "request_conflict"
	RejectBusy      = "session_busy"
	RejectPrincipal = "principal_invalid"
	RejectCancelled = "cancelled_before_start"
	RejectQueueFull = "queue_full" // more than [MaxWaitingSession] or [MaxWaiting] turns wait
	RejectClosed    = "host_closed"
)

// InfrastructureError reports that no trustworthy terminal state exists: storage failed, or an invariant broke.
// The outcome is indeterminate; nothing that is not idempotent may be tried again on the strength of it.
type InfrastructureError struct {
	Request id.Request
	Turn    id.Turn // empty when it failed before a turn was known to exist
	Doing   string
	Err     error
}

// Error names the request and what was being done.
func (e *InfrastructureError) Error() string {
	if e.Turn == "" {
		return fmt.Sprintf("turn: %s for request %s: %v (outcome indeterminate; `portcullis turns list` after `portcullis store check`)", e.Doing, e.Request, e.Err)
	}
	return fmt.Sprintf("turn: %s for request %s: %v (outcome indeterminate; `portcullis turns show %s` after `portcullis store check`)", e.Doing, e.Request, e.Err, e.Turn)
}

// Unwrap returns the cause.
func (e *InfrastructureError) Unwrap() error { return e.Err }

// freeze validates and copies r and returns the digest of its meaning.
func (r Request) freeze() (Request, string, error) {
	bad := func(sentence string) (Request, string, error) {
		return Request{}, "", &RejectedError{r.Key, RejectInput, sentence}
	}
	if r.Key != "" {
		if _, err := id.ParseRequest(string(r.Key)); err != nil {
			r.Key = "" // it is no name to repeat
			return bad("a request key is 1 to 200 characters of printable ASCII without spaces")
		}
	}
	switch {
	case r.Input == "":
		return bad("the input is empty: say something")
	case len(r.Input) > MaxInputBytes:
		return bad(fmt.Sprintf("the input has %d bytes, the limit is %d: put it into a file of the workspace", len(r.Input), MaxInputBytes))
	case !utf8.ValidString(r.Input):
		return bad("the input is not valid UTF-8")
	case r.Core == "":
		return bad("no core is named: use --core ID")
	}
	if r.Selector.Kind == "" {
		r.Selector.Kind = Bound
	}
	if (r.Selector.Kind == Resume) != (r.Selector.Session != "") {
		return bad("a session is named exactly when it is to be resumed")
	}
	if (r.Actor.Authority == principal.DelegatedAgent) != (r.Parent != nil) {
		return bad("a delegated agent works for a turn, and nobody else does")
	}
	if r.Parent != nil && (r.Actor.ParentSession != string(r.Parent.Turn.Session()) || r.Actor.ParentTurn != string(r.Parent.Turn.ID())) {
		return bad("the child's parent is another turn")
	}
	r.Interaction = maps.Clone(r.Interaction)
	r.Actor.SessionID, r.Actor.AllowedSessions = "", nil
	if err := r.Actor.CheckOwner(); err != nil {
		return Request{}, "", &RejectedError{r.Key, RejectPrincipal, err.Error()}
	}
	meaning, err := json.Marshal(struct {
		Actor            string
		Channel, Key     string
		Selector         Selector
		Core, Revision   string
		Input, Workspace string
		Model            ModelChoice
		Call             []string `json:",omitzero"`
	}{r.Actor.PrincipalID, r.Actor.Channel, r.Actor.ConversationKey, r.Selector, r.Core, r.Revision, r.Input, r.Workspace, r.Model, r.call})
	if err != nil {
		return bad("the request cannot be written down: " + err.Error())
	}
	sum := sha256.Sum256(meaning)
	return r, hex.EncodeToString(sum[:]), nil
}
