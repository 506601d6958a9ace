package host_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// letters is a Sender that says what it was given.
type letters chan outbox.Delivery

func (letters) Channel() string  { return "chat" }
func (letters) Idempotent() bool { return false }
func (l letters) Send(_ context.Context, key id.Delivery, d outbox.Delivery) outbox.Receipt {
	l <- d
	return outbox.Receipt{Verdict: outbox.Accepted}
}

// owe ends a turn of person by hand and returns what it owes them.
func (h *home) owe(ids *id.Source, person string) id.Delivery {
	h.t.Helper()
	who := principal.Facts{
		PrincipalID: "principal:conversation:chat:" + person, Authority: principal.Conversation,
		Channel: "chat", ConversationKey: "chat:dm:" + person,
	}
	record := func(k event.Kind) event.Record { return event.Record{ID: ids.Event(), At: time.Now(), Kind: k} }
	a := turn.Admission{
		Request: ids.Request(), Digest: "d", Turn: ids.Turn(), NewSession: ids.Session(), Selector: turn.Selector{Kind: turn.Bound},
		Owner: who, Core: "assistant", Revision: "r", Input: "hello", At: time.Now(),
		Claim: lease.Claim{Token: ids.Lease(), Epoch: "epo_before", Expires: time.Now().Add(time.Minute)},
	}
	got, err := h.store.Admit(h.t.Context(), a, []event.Record{record(event.SessionCreated), record(event.TurnStarted)})
	if err != nil || got.Disposition != turn.Admitted {
		h.t.Fatal(got, err)
	}
	d := ids.Delivery()
	how, err := h.store.Finish(h.t.Context(), turn.Terminal{
		Turn: a.Turn, Session: got.Session, Claim: got.Claim, Outcome: turn.Completed, Reply: "done", At: time.Now(),
		Deliveries: []turn.Delivery{{ID: d, Channel: "chat", Conversation: who.ConversationKey, Body: "done"}},
	}, record(event.TurnFinished))
	if err != nil || how != turn.Written {
		h.t.Fatal(how, err)
	}
	return d
}

// A host with a sender brings out what is queued, and what an earlier host was sending it does not send again; one
// without a sender leaves everything where it is.
func TestAHostDeliversOverItsSenders(t *testing.T) {
	h, ids := newHome(t), id.NewSource(time.Now, rand.Reader)
	lost := h.owe(ids, "ann")
	c := lease.Claim{Token: ids.Lease(), Epoch: "epo_before", Expires: time.Now().Add(time.Hour)}
	d, found, err := h.store.ClaimDelivery(t.Context(), "chat", c)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	r := event.Record{ID: ids.Event(), At: time.Now(), Kind: event.DeliveryStarted}
	if how, err := h.store.BeginSending(t.Context(), lost, d.Claim, false, r); err != nil || how != outbox.Written {
		t.Fatal(how, err)
	}
	queued := h.owe(ids, "bea")

	by, err := principal.NewIssuer(string(h.store.StoreID())).Issue(principal.Facts{
		PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	state := func(d id.Delivery) outbox.State {
		got, _, err := h.store.Delivery(t.Context(), by, d)
		if err != nil {
			t.Fatal(err)
		}
		return got.State
	}
	if err := h.open().Close(); err != nil {
		t.Fatal(err)
	}
	if state(lost) != outbox.Unknown || state(queued) != outbox.Queued {
		t.Fatalf("without a sender: %s, %s", state(lost), state(queued))
	}
	sent := make(letters, 8)
	on := h.open(func(c *host.Config) { c.Senders = []outbox.Sender{sent} })
	if got := <-sent; got.ID != queued || got.Body != "done" {
		t.Errorf("sent %+v", got)
	}
	if err := on.Close(); err != nil { // waits for what is under way
		t.Fatal(err)
	}
	if state(lost) != outbox.Unknown || state(queued) != outbox.Delivered || len(sent) != 0 {
		t.Errorf("with a sender: %s, %s, %d more", state(lost), state(queued), len(sent))
	}
}

func TestAHostRefusesTwoSendersForOneChannel(t *testing.T) {
	h := newHome(t)
	cfg := host.Config{Home: h.dir, Store: h.store, Senders: []outbox.Sender{make(letters), make(letters)}}
	if on, err := host.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "name each once") {
		t.Errorf("%v, %v", on, err)
	}
}
