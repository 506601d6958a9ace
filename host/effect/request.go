package effect

import (
	"encoding/json"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// From is who asks for an effect.
type From string

// The invocation origins of the contract.
const (
	FromModel    From = "model"
	FromAuthored From = "authored" // an authored slot or tool
	FromHost     From = "host"     // the operator, through the host: `portcullis call`
)

// Request asks for one effect. Capability, workspace, principal, approval, secrets and the adapter are not part of
// it: they come from the catalog and the turn.
type Request struct {
	ID        id.Effect // unique; made by the caller
	CallID    string    // the model's own id of the call, may be empty
	Ref       Ref
	Catalog   *Catalog // of the turn; needed where there is no Ref
	Arguments []byte   // not copied where they are canonical already: they must not change any more
	Malformed string   // why a model's arguments were not JSON; the call is then invalid
	From      From
	Observe   func(Stage)                    // may be nil; called after each step, from the calling goroutine
	Progress  func(id.Effect, wire.Progress) // may be nil
}

// Stage is one step of one effect, as it went.
type Stage struct {
	Effect  id.Effect
	Tool    string
	Number  int    // 1..8
	Name    string // "request", "scope", "capability", "host checks", "approval", "secrets", "run", "record"
	Verdict string // "pass", or the word that ended it: "denied", "invalid", "failed", ...
	Why     string // what decided, for the operator
	Took    time.Duration
}

// Result is how one effect ended. It is a value: its texts and views share nothing that can change.
type Result struct {
	ID       id.Effect
	CallID   string
	Tool     string
	Plugin   string // "<id>@<version>" or empty
	Status   Status
	Started  bool   // whether the adapter was invoked
	Reason   string // stable code, empty when succeeded
	Sentence string // for the operator: what went wrong, and what to type next
	Remedy   string // the command of the sentence alone, or empty
	Approval id.Approval
	Views    redact.Views
	Stages   []Stage
	Duration time.Duration // of the whole effect
	Stats    map[string]int64
}

// Summary is an effect in one line of a turn's result.
type Summary struct {
	ID       id.Effect
	Tool     string
	Status   Status
	Started  bool
	Reason   string
	Duration time.Duration
}

// Summary returns the one-line form.
func (r Result) Summary() Summary {
	return Summary{r.ID, r.Tool, r.Status, r.Started, r.Reason, r.Duration}
}

// denial is the document that stands in for a result in the views of an effect that has none.
type denial struct {
	Status string `json:"status"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

func (d denial) raw() json.RawMessage {
	raw, err := json.Marshal(d)
	if err != nil { // a struct of strings always marshals
		panic(err)
	}
	return raw
}
