package wire

import "errors"

// Call is the input of [ExportInvoke]: one tool, one set of arguments. The host
// has validated Args against the tool's input schema before it sends them.
type Call struct {
	// ID names the effect; a guest hands it on as an idempotency key.
	ID string `json:"id"`
	// Tool is a name from the guest's own [Description].
	Tool string `json:"tool"`
	// Args is a JSON object.
	Args RawJSON `json:"args"`
}

// Reply is the output of [ExportInvoke]. Exactly one member is set.
type Reply struct {
	Result RawJSON `json:"result,omitempty"`
	Fault  *Fault  `json:"fault,omitempty"`
}

// Check reports a reply that has both members, neither, or a fault that the
// contract does not know.
func (r Reply) Check() error {
	switch {
	case r.Fault == nil && len(r.Result) == 0:
		return errors.New("wire: reply has neither result nor fault")
	case r.Fault != nil && len(r.Result) != 0:
		return errors.New("wire: reply has both result and fault")
	case r.Fault != nil:
		return r.Fault.Check()
	}
	return nil
}

// Ack is a reply that says nothing but yes or why not.
type Ack struct {
	Fault *Fault `json:"fault,omitempty"`
}

// LogRecord is one line for the operator's log. The host bounds, redacts and
// counts it; it never reaches the model.
type LogRecord struct {
	Level   string `json:"level"` // debug, info, warn or error
	Message string `json:"message"`
	Attrs   []Attr `json:"attrs,omitempty"`
}

// Attr is one key and its value as text: the host redacts text.
type Attr struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Progress is one step of a running call, for people who watch it.
type Progress struct {
	Message string `json:"message"`
	Done    int64  `json:"done,omitempty"`
	Total   int64  `json:"total,omitempty"` // 0 when not known
}

// Now is the host's wall clock.
type Now struct {
	UnixMS int64 `json:"unix_ms"` // milliseconds since 1970-01-01 UTC
}

// RandomRequest asks for N random bytes, 1 to [MaxRandom].
type RandomRequest struct {
	N int `json:"n"`
}
