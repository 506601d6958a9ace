package host

import (
	"context"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/net"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// auditEgress records a decision of a caller that is not an effect, such as a provider's connection.
func (h *Host) auditEgress(ctx context.Context, d net.Decision) error {
	return h.cfg.Store.Record(ctx, event.Record{ID: h.ids.Event(), At: h.cfg.Clock(), Kind: event.EgressDecided, Fields: egressFields(d)})
}

// recordEgress records a decision about one request of an effect.
func (h *Host) recordEgress(ctx context.Context, d net.Decision, call effect.Call) error {
	t := call.Turn
	return h.cfg.Store.Record(ctx, event.Record{
		ID: h.ids.Event(), At: h.cfg.Clock(), Kind: event.EgressDecided, Principal: t.Principal().PrincipalID(),
		Session: t.Session(), Turn: t.ID(), Effect: call.Effect, Trace: t.Trace(), Fields: hidden(egressFields(d), call.Redactor()),
	})
}

// hidden are fields in the event view: a guest may have made a host name of what it saw.
func hidden(fields []event.Field, set redact.Set) []event.Field {
	for i, f := range fields {
		fields[i].Value = set.Text(redact.ForEvent, f.Value)
	}
	return fields
}

// egressFields show origin and addresses only: a path or a query may hold a secret.
func egressFields(d net.Decision) []event.Field {
	var addresses []string
	for _, a := range d.Addresses {
		addresses = append(addresses, a.String())
	}
	fields := []event.Field{
		event.F("caller", d.Caller), event.F("method", d.Method), event.F("origin", d.Origin),
		event.F("hop", strconv.Itoa(d.Hop)), event.F("addresses", strings.Join(addresses, " ")),
		event.F("allowed", strconv.FormatBool(d.Allowed)), event.F("reason", string(d.Reason)),
	}
	if len(d.Credentials) > 0 {
		fields = append(fields, event.F("credentials", strings.Join(d.Credentials, " ")))
	}
	return fields
}
