package effect

import (
	"encoding/json"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
)

// Record is one effect as history shows it: the durable intent joined with its end. FinishedAt is zero and Status
// empty while it runs, or when the host died before it could be written; recovery turns the latter into
// Indeterminate.
type Record struct {
	ID         id.Effect
	Turn       id.Turn
	Session    id.Session
	CallID     string
	Tool       string
	Plugin     string
	Recovery   string
	Digest     string // of the canonical arguments
	Arguments  json.RawMessage
	Approval   id.Approval
	Status     Status
	Started    bool
	Reason     string
	Durable    json.RawMessage
	StartedAt  time.Time
	FinishedAt time.Time
	Duration   time.Duration
	Resolution Resolution // of an Indeterminate one; empty while nothing is settled
}
