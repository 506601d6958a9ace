package storetest

import (
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func outboxCases() []testCase {
	return []testCase{
		{"a turn's delivery is written with its end or not at all", intentWithEnd},
		{"malformed deliveries write nothing", intentMalformed},
		{"a delivery takes the steps that there are and no others", deliverySteps},
		{"a delivery is only its claim's", deliveryFence},
		{"a claim that is over settles nothing", deliveryExpired},
		{"one of many workers gets a delivery", oneWorker},
		{"a conversation is delivered in order", deliveryOrder},
		{"a channel gives what has been due longest, when it is due", deliveryDue},
		{"what may have left is not queued again, unless its channel is idempotent", deliveryRecovered},
		{"channels with queued deliveries are told", channelsWait},
		{"the operator decides about deliveries, and nobody else", deliveryOperator},
		{"deliveries are listed newest first, by state and owner", deliveriesListed},
	}
}

// owes is the terminal of l with one delivery to f's conversation.
func (w *world) owes(l live, f principal.Facts) turn.Terminal {
	end := w.terminal(l, turn.Completed)
	end.Deliveries = []turn.Delivery{{ID: w.ids.Delivery(), Channel: f.Channel, Conversation: f.ConversationKey, Body: end.Reply}}
	return end
}

// owed ends a turn of f that owes a delivery, which it returns.
func (w *world) owed(t testing.TB, f principal.Facts) id.Delivery {
	t.Helper()
	end := w.owes(w.start(t, f, bound()), f)
	if how, err := w.Store.Finish(w.ctx, end, w.record(event.TurnFinished)); how != turn.Written || err != nil {
		t.Fatalf("finish %q, %v", how, err)
	}
	return end.Deliveries[0].ID
}

func (w *world) delivery(t testing.TB, d id.Delivery) outbox.Delivery {
	t.Helper()
	got, found, err := w.Store.Delivery(w.ctx, w.operator(t), d)
	if err != nil || !found {
		t.Fatalf("delivery %s: %v, %v", d, found, err)
	}
	return got
}

func (w *world) newClaim() lease.Claim {
	return lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: w.Clock.Now().Add(time.Minute)}
}

func (w *world) claimNext(t testing.TB, channel string) (outbox.Delivery, bool) {
	t.Helper()
	got, found, err := w.Store.ClaimDelivery(w.ctx, channel, w.newClaim())
	if err != nil {
		t.Fatal(err)
	}
	return got, found
}

// claimed claims what must be d.
func (w *world) claimed(t testing.TB, d id.Delivery) outbox.Delivery {
	t.Helper()
	got, found := w.claimNext(t, "chat")
	if !found || got.ID != d {
		t.Fatalf("claimed %s, %v; want %s", got.ID, found, d)
	}
	return got
}

func (w *world) sending(t testing.TB, d id.Delivery, idempotent bool) outbox.Delivery {
	t.Helper()
	got := w.claimed(t, d)
	if how, err := w.Store.BeginSending(w.ctx, d, got.Claim, idempotent, w.record(event.DeliveryStarted)); how != outbox.Written || err != nil {
		t.Fatalf("begin %q, %v", how, err)
	}
	return got
}

func (w *world) settlement(to outbox.State) outbox.Settlement {
	s := outbox.Settlement{State: to, At: w.Clock.Now()}
	if to != outbox.Delivered {
		s.Reason = "because"
	}
	if to == outbox.Queued {
		s.Due = w.Clock.Now().Add(time.Minute)
	}
	return s
}

func (w *world) settle(d outbox.Delivery, to outbox.State) (outbox.Fenced, error) {
	return w.Store.SettleDelivery(w.ctx, d.ID, d.Claim, w.settlement(to), w.record(event.DeliverySettled))
}

func intentWithEnd(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	end := w.owes(l, alice())
	key := end.Deliveries[0].ID
	stale := end
	stale.Claim.Fence++
	if how, err := w.Store.Finish(w.ctx, stale, w.record(event.TurnFinished)); how != turn.Stale || err != nil {
		t.Fatalf("stale: %q, %v", how, err)
	}
	if _, err := w.Store.Finish(w.ctx, end, event.Record{}); err == nil {
		t.Fatal("an end without a record was written")
	}
	if _, found, err := w.Store.Delivery(w.ctx, w.operator(t), key); found || err != nil {
		t.Fatalf("an end that was refused left its delivery, %v", err)
	}
	if how, err := w.Store.Finish(w.ctx, end, w.record(event.TurnFinished)); how != turn.Written || err != nil {
		t.Fatalf("%q, %v", how, err)
	}
	at := millis(end.At)
	want := outbox.Delivery{
		ID: key, Session: l.session, Turn: l.turn, Channel: "chat", Conversation: "chat:dm:alice", Body: "done",
		State: outbox.Queued, Due: at, Created: at, Changed: at,
	}
	if got := w.delivery(t, key); got != want {
		t.Errorf("delivery %+v\nwant %+v", got, want)
	}
	if how, err := w.Store.Finish(w.ctx, w.owes(l, alice()), w.record(event.TurnFinished)); how != turn.AlreadyEnded || err != nil {
		t.Errorf("again: %q, %v", how, err)
	}
	if all, err := w.Store.Deliveries(w.ctx, w.operator(t), "", 0, 10); len(all) != 1 || err != nil {
		t.Errorf("%d deliveries of one turn, %v", len(all), err)
	}
}

func intentMalformed(t *testing.T, w *world) {
	taken := w.owed(t, bob())
	l := w.start(t, alice(), bound())
	for name, change := range map[string]func(*turn.Terminal){
		"no id":                   func(e *turn.Terminal) { e.Deliveries[0].ID = "" },
		"no channel":              func(e *turn.Terminal) { e.Deliveries[0].Channel = "" },
		"no conversation":         func(e *turn.Terminal) { e.Deliveries[0].Conversation = "" },
		"no body":                 func(e *turn.Terminal) { e.Deliveries[0].Body = "" },
		"body is not UTF-8":       func(e *turn.Terminal) { e.Deliveries[0].Body = "\xff" },
		"no reply":                func(e *turn.Terminal) { e.Reply = "" },
		"id is taken":             func(e *turn.Terminal) { e.Deliveries[0].ID = taken },
		"twice":                   func(e *turn.Terminal) { e.Deliveries = append(e.Deliveries, e.Deliveries[0]) },
		"another's conversation":  func(e *turn.Terminal) { e.Deliveries[0].Conversation = bob().ConversationKey },
		"another channel":         func(e *turn.Terminal) { e.Deliveries[0].Channel = "mail" },
		"second of them is wrong": func(e *turn.Terminal) { e.Deliveries = append(e.Deliveries, turn.Delivery{}) },
	} {
		end := w.owes(l, alice())
		change(&end)
		if how, err := w.Store.Finish(w.ctx, end, w.record(event.TurnFinished)); err == nil {
			t.Errorf("%s: %q", name, how)
		}
	}
	if rec := w.turnOf(t, l.turn); rec.State != turn.Running {
		t.Errorf("a refused end ended the turn: %s", rec.State)
	}
	if all, err := w.Store.Deliveries(w.ctx, w.operator(t), "", 0, 10); len(all) != 1 || err != nil {
		t.Errorf("refused ends left %d deliveries, %v", len(all)-1, err)
	}
}

func deliverySteps(t *testing.T, w *world) {
	for _, to := range []outbox.State{outbox.Delivered, outbox.Failed, outbox.Unknown, outbox.Queued} {
		key := w.owed(t, alice())
		d := w.claimed(t, key)
		if is := w.delivery(t, key); is.State != outbox.Claimed || is.Attempts != 0 || is.Claim != d.Claim || !is.Due.IsZero() || d.Claim.Fence != 1 {
			t.Fatalf("claimed: %+v", is)
		}
		for _, early := range []outbox.State{outbox.Delivered, outbox.Unknown, outbox.Queued} {
			if how, err := w.settle(d, early); how != outbox.Stale || err != nil {
				t.Errorf("claimed, then %s: %q, %v", early, how, err)
			}
		}
		if how, err := w.Store.BeginSending(w.ctx, key, d.Claim, true, w.record(event.DeliveryStarted)); how != outbox.Written || err != nil {
			t.Fatalf("begin %q, %v", how, err)
		}
		if is := w.delivery(t, key); is.State != outbox.Sending || is.Attempts != 1 || !is.Idempotent {
			t.Fatalf("sending: %+v", is)
		}
		if how, err := w.Store.BeginSending(w.ctx, key, d.Claim, true, w.record(event.DeliveryStarted)); how != outbox.Stale || err != nil {
			t.Errorf("begun twice: %q, %v", how, err)
		}
		if how, err := w.Store.ReleaseDelivery(w.ctx, key, d.Claim); how != outbox.Stale || err != nil {
			t.Errorf("released while it was sent: %q, %v", how, err)
		}
		if how, err := w.settle(d, to); how != outbox.Written || err != nil {
			t.Fatalf("%s: %q, %v", to, how, err)
		}
		want := w.settlement(to)
		is := w.delivery(t, key)
		if is.State != to || is.Attempts != 1 || is.Reason != want.Reason || !is.Due.Equal(millis(want.Due)) && to == outbox.Queued || is.Claim != (lease.Claim{Fence: 1}) {
			t.Errorf("settled as %s: %+v", to, is)
		}
		for _, more := range []outbox.State{outbox.Delivered, outbox.Failed} {
			if how, err := w.settle(d, more); how != outbox.Stale || err != nil {
				t.Errorf("%s, then %s: %q, %v", to, more, how, err)
			}
		}
		if again := w.delivery(t, key); again != is {
			t.Errorf("a settled delivery changed: %+v", again)
		}
		recs := w.events(t, turn.EventQuery{Turn: is.Turn, Kind: event.DeliverySettled})
		if len(recs) != 1 || recs[0].Field("state") != string(to) || recs[0].Field("delivery") != string(key) || recs[0].Session != is.Session {
			t.Errorf("%s: records %+v", to, recs)
		}
		if recs := w.events(t, turn.EventQuery{Turn: is.Turn, Kind: event.DeliveryStarted}); len(recs) != 1 || recs[0].Field("attempt") != "1" {
			t.Errorf("%s: records %+v", to, recs)
		}
	}
	// The last one is queued for later and holds its conversation; what is only claimed may fail or be given back.
	w.Clock.Advance(time.Minute)
	late, _ := w.claimNext(t, "chat")
	if how, err := w.Store.ReleaseDelivery(w.ctx, late.ID, late.Claim); how != outbox.Written || err != nil {
		t.Fatalf("release %q, %v", how, err)
	}
	if is := w.delivery(t, late.ID); is.State != outbox.Queued || is.Attempts != 1 || is.Claim.Token != "" {
		t.Errorf("released: %+v", is)
	}
	late, _ = w.claimNext(t, "chat")
	if how, err := w.settle(late, outbox.Failed); how != outbox.Written || err != nil || late.Claim.Fence != 3 {
		t.Errorf("claimed, then failed: %q, %v, fence %d", how, err, late.Claim.Fence)
	}
	for name, s := range map[string]outbox.Settlement{
		"claimed":             {State: outbox.Claimed, Reason: "x", At: w.Clock.Now()},
		"no reason":           {State: outbox.Failed, At: w.Clock.Now()},
		"delivered, a reason": {State: outbox.Delivered, Reason: "x", At: w.Clock.Now()},
		"queued, not due":     {State: outbox.Queued, Reason: "x", At: w.Clock.Now()},
		"failed, due":         {State: outbox.Failed, Reason: "x", Due: w.Clock.Now(), At: w.Clock.Now()},
		"no time":             {State: outbox.Failed, Reason: "x"},
	} {
		if how, err := w.Store.SettleDelivery(w.ctx, late.ID, late.Claim, s, w.record(event.DeliverySettled)); err == nil {
			t.Errorf("%s: %q", name, how)
		}
	}
}

func deliveryFence(t *testing.T, w *world) {
	key := w.owed(t, alice())
	d := w.claimed(t, key)
	step := func(name string, want outbox.State, act func(outbox.Delivery) (outbox.Fenced, error)) {
		for what, change := range map[string]func(*outbox.Delivery){
			"token":    func(o *outbox.Delivery) { o.Claim.Token = w.ids.Lease() },
			"epoch":    func(o *outbox.Delivery) { o.Claim.Epoch = w.ids.Epoch() },
			"fence":    func(o *outbox.Delivery) { o.Claim.Fence++ },
			"nothing":  func(o *outbox.Delivery) { o.Claim = lease.Claim{} },
			"delivery": func(o *outbox.Delivery) { o.ID = w.ids.Delivery() },
		} {
			other := d
			change(&other)
			if how, err := act(other); how != outbox.Stale || err != nil {
				t.Errorf("%s under another %s: %q, %v", name, what, how, err)
			}
		}
		if is := w.delivery(t, key); is.State != want {
			t.Errorf("%s under another claim made it %s", name, is.State)
		}
	}
	begin := func(o outbox.Delivery) (outbox.Fenced, error) {
		return w.Store.BeginSending(w.ctx, o.ID, o.Claim, false, w.record(event.DeliveryStarted))
	}
	step("begin", outbox.Claimed, begin)
	step("release", outbox.Claimed, func(o outbox.Delivery) (outbox.Fenced, error) { return w.Store.ReleaseDelivery(w.ctx, o.ID, o.Claim) })
	if how, err := begin(d); how != outbox.Written || err != nil {
		t.Fatal(how, err)
	}
	step("settle", outbox.Sending, func(o outbox.Delivery) (outbox.Fenced, error) { return w.settle(o, outbox.Delivered) })
	for _, k := range []event.Kind{event.DeliverySettled, event.DeliveryRecovered} {
		if recs := w.events(t, turn.EventQuery{Kind: k}); len(recs) != 0 {
			t.Errorf("a stale step left a record %s", k)
		}
	}
	for name, c := range map[string]lease.Claim{
		"no token": {Epoch: w.epoch, Expires: w.Clock.Now().Add(time.Minute)},
		"no epoch": {Token: w.ids.Lease(), Expires: w.Clock.Now().Add(time.Minute)},
		"over":     {Token: w.ids.Lease(), Epoch: w.epoch, Expires: w.Clock.Now()},
	} {
		if _, found, err := w.Store.ClaimDelivery(w.ctx, "chat", c); err == nil {
			t.Errorf("claimed with %s: %v", name, found)
		}
	}
}

func deliveryExpired(t *testing.T, w *world) {
	key := w.owed(t, alice())
	d := w.sending(t, key, false)
	w.Clock.Advance(time.Minute)
	if how, err := w.settle(d, outbox.Delivered); how != outbox.Stale || err != nil {
		t.Errorf("settled at the expiry: %q, %v", how, err)
	}
	if is := w.delivery(t, key); is.State != outbox.Sending {
		t.Errorf("it is %s", is.State)
	}
}

func oneWorker(t *testing.T, w *world) {
	w.owed(t, alice())
	var wg sync.WaitGroup
	got := make(chan bool, 8)
	for range cap(got) {
		wg.Go(func() {
			_, found, err := w.Store.ClaimDelivery(w.ctx, "chat", w.newClaim())
			if err != nil {
				t.Error(err)
			}
			got <- found
		})
	}
	wg.Wait()
	close(got)
	n := 0
	for found := range got {
		if found {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d workers have the delivery", n)
	}
}

func deliveryOrder(t *testing.T, w *world) {
	first, second := w.owed(t, alice()), w.owed(t, alice())
	other := w.owed(t, bob())
	d := w.sending(t, first, false)
	got := w.claimed(t, other) // another conversation does not wait
	if more, found := w.claimNext(t, "chat"); found {
		t.Fatalf("%s was claimed while %s was on its way", more.ID, first)
	}
	if how, err := w.settle(d, outbox.Queued); how != outbox.Written || err != nil {
		t.Fatal(how, err)
	}
	if more, found := w.claimNext(t, "chat"); found {
		t.Fatalf("%s overtook %s, which is tried again later", more.ID, first)
	}
	w.Clock.Advance(time.Minute)
	d = w.sending(t, first, false)
	if how, err := w.settle(d, outbox.Unknown); how != outbox.Written || err != nil {
		t.Fatal(how, err)
	}
	next := w.sending(t, second, false) // what nobody works on holds nothing up
	// An earlier one that the operator queued again waits for what is on its way.
	if _, how, err := w.Store.RequeueDelivery(w.ctx, w.operator(t), first, "again", w.record(event.DeliveryRequeued)); how != outbox.Recorded || err != nil {
		t.Fatal(how, err)
	}
	if more, found := w.claimNext(t, "chat"); found {
		t.Fatalf("%s was claimed while %s was on its way", more.ID, second)
	}
	if how, err := w.settle(next, outbox.Delivered); how != outbox.Written || err != nil {
		t.Fatal(how, err)
	}
	w.claimed(t, first)
	if got.ID != other {
		t.Error(got)
	}
}

func deliveryDue(t *testing.T, w *world) {
	mail := principal.Facts{
		PrincipalID: "principal:conversation:mail:carl", Authority: principal.Conversation, Channel: "mail", ConversationKey: "mail:dm:carl",
	}
	letter := w.owed(t, mail)
	early := w.owed(t, alice())
	w.Clock.Advance(time.Second)
	late := w.owed(t, bob())
	if got, found := w.claimNext(t, "post"); found {
		t.Errorf("a channel without deliveries gave %s", got.ID)
	}
	if got, found := w.claimNext(t, "mail"); !found || got.ID != letter {
		t.Errorf("mail gave %s, %v", got.ID, found)
	}
	d := w.sending(t, early, false)
	if how, err := w.settle(d, outbox.Queued); how != outbox.Written || err != nil {
		t.Fatal(how, err)
	}
	w.claimed(t, late)
	w.Clock.Advance(time.Minute - time.Millisecond)
	if got, found := w.claimNext(t, "chat"); found {
		t.Errorf("%s was given before it was due", got.ID)
	}
	w.Clock.Advance(time.Millisecond)
	w.claimed(t, early)
}

func deliveryRecovered(t *testing.T, w *world) {
	held := func(name string) id.Delivery { return w.owed(t, talker(name)) }
	claimed, sent, safe, idle := held("a"), held("b"), held("c"), held("d")
	w.claimed(t, claimed)
	lost := w.sending(t, sent, false)
	w.sending(t, safe, true)
	if got, err := w.Store.RecoverDeliveries(w.ctx, w.epoch, w.Clock.Now()); len(got) != 0 || err != nil {
		t.Fatalf("took %+v from a living holder, %v", got, err)
	}
	w.Clock.Advance(time.Second)
	got, err := w.Store.RecoverDeliveries(w.ctx, w.ids.Epoch(), w.Clock.Now())
	want := []outbox.Recovered{{Delivery: claimed, State: outbox.Queued}, {Delivery: sent, State: outbox.Unknown}, {Delivery: safe, State: outbox.Queued}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("recovered %+v, %v\nwant %+v", got, err, want)
	}
	for _, r := range want {
		is := w.delivery(t, r.Delivery)
		if is.State != r.State || is.Reason != outbox.ReasonHostGone || is.Claim.Token != "" {
			t.Errorf("%+v", is)
		}
		recs := w.events(t, turn.EventQuery{Turn: is.Turn, Kind: event.DeliveryRecovered})
		if len(recs) != 1 || recs[0].Field("state") != string(r.State) || recs[0].Field("reason") != outbox.ReasonHostGone {
			t.Errorf("records %+v", recs)
		}
	}
	if is := w.delivery(t, idle); is.Reason != "" {
		t.Errorf("what nobody held: %+v", is)
	}
	if how, err := w.settle(lost, outbox.Delivered); how != outbox.Stale || err != nil {
		t.Errorf("the dead host settled: %q, %v", how, err)
	}
	if again, err := w.Store.RecoverDeliveries(w.ctx, w.ids.Epoch(), w.Clock.Now()); len(again) != 0 || err != nil {
		t.Errorf("recovered again: %+v, %v", again, err)
	}
	var order []id.Delivery
	for d, found := w.claimNext(t, "chat"); found; d, found = w.claimNext(t, "chat") {
		order = append(order, d.ID)
	}
	if !slices.Equal(order, []id.Delivery{idle, claimed, safe}) {
		t.Errorf("then %v were given; the unknown one is %s", order, sent)
	}
	// The same for a claim that ran out.
	w.Clock.Advance(time.Minute)
	got, err = w.Store.RecoverDeliveries(w.ctx, w.epoch, w.Clock.Now())
	if err != nil || len(got) != 3 || w.delivery(t, idle).Reason != outbox.ReasonLeaseExpired {
		t.Errorf("recovered %+v, %v", got, err)
	}
}

func channelsWait(t *testing.T, w *world) {
	for _, channel := range []string{"mail", "chat", "mail", "post"} {
		f := principal.Facts{
			PrincipalID: "principal:conversation:" + channel + ":a", Authority: principal.Conversation, Channel: channel,
			ConversationKey: channel + ":dm:a",
		}
		w.owed(t, f)
	}
	w.claimNext(t, "post")
	for limit, want := range map[int][]string{10: {"chat", "mail"}, 1: {"chat"}} {
		if got, err := w.Store.WaitingChannels(w.ctx, limit); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d: %v, %v", limit, got, err)
		}
	}
	for _, limit := range []int{0, 501} {
		if got, err := w.Store.WaitingChannels(w.ctx, limit); err == nil {
			t.Errorf("%d: %v", limit, got)
		}
	}
}

func deliveryOperator(t *testing.T, w *world) {
	key := w.owed(t, alice())
	op, home := w.operator(t), w.delivery(t, key).Session
	retry := func(by principal.Scope, d id.Delivery) (outbox.Delivery, outbox.Recording, error) {
		return w.Store.RequeueDelivery(w.ctx, by, d, "looked", w.record(event.DeliveryRequeued))
	}
	drop := func(by principal.Scope, d id.Delivery) (outbox.Delivery, outbox.Recording, error) {
		return w.Store.DropDelivery(w.ctx, by, d, "enough", w.record(event.DeliveryDropped))
	}
	if got, how, err := retry(op, key); how != outbox.NotThus || err != nil || got.State != outbox.Queued {
		t.Errorf("a queued one, queued: %q, %v", how, err)
	}
	d := w.claimed(t, key)
	for range 2 {
		for name, act := range map[string]func(principal.Scope, id.Delivery) (outbox.Delivery, outbox.Recording, error){"retry": retry, "drop": drop} {
			if got, how, err := act(op, key); how != outbox.NotThus || err != nil || !got.State.Held() {
				t.Errorf("%s of one that is held: %q, %v", name, how, err)
			}
		}
		if how, err := w.Store.BeginSending(w.ctx, key, d.Claim, false, w.record(event.DeliveryStarted)); err != nil || how == "" {
			t.Fatal(how, err)
		}
	}
	if how, err := w.settle(d, outbox.Unknown); how != outbox.Written || err != nil {
		t.Fatal(how, err)
	}
	for name, act := range map[string]func(principal.Scope, id.Delivery) (outbox.Delivery, outbox.Recording, error){"retry": retry, "drop": drop} {
		if _, how, err := act(w.scope(t, alice(), home), key); err == nil {
			t.Errorf("%s by the owner: %q", name, how)
		}
		if got, how, err := act(op, w.ids.Delivery()); how != outbox.NotFound || err != nil || got.ID != "" {
			t.Errorf("%s of nothing: %q, %v", name, how, err)
		}
	}
	for _, words := range []string{"", string(make([]byte, outbox.MaxReason+1)), "\xff"} {
		if _, how, err := w.Store.RequeueDelivery(w.ctx, op, key, words, w.record(event.DeliveryRequeued)); err == nil {
			t.Errorf("a reason of %d bytes: %q", len(words), how)
		}
	}
	w.Clock.Advance(time.Second)
	got, how, err := retry(op, key)
	if err != nil || how != outbox.Recorded || got.State != outbox.Queued || got.Attempts != 0 || got.Reason != "looked" || !got.Due.Equal(millis(w.Clock.Now())) {
		t.Errorf("retry: %q, %v, %+v", how, err, got)
	}
	if is := w.delivery(t, key); is != got {
		t.Errorf("it is %+v", is)
	}
	got, how, err = drop(op, key)
	if err != nil || how != outbox.Recorded || got.State != outbox.Dropped || got.Reason != "enough" || w.delivery(t, key) != got {
		t.Errorf("drop: %q, %v, %+v", how, err, got)
	}
	for name, act := range map[string]func(principal.Scope, id.Delivery) (outbox.Delivery, outbox.Recording, error){"retry": retry, "drop": drop} {
		if again, how, err := act(op, key); how != outbox.NotThus || err != nil || again != got {
			t.Errorf("%s of a dropped one: %q, %v", name, how, err)
		}
	}
	if _, found := w.claimNext(t, "chat"); found {
		t.Error("a dropped delivery was claimed")
	}
	for _, k := range []event.Kind{event.DeliveryRequeued, event.DeliveryDropped} {
		recs := w.events(t, turn.EventQuery{Kind: k})
		if len(recs) != 1 || recs[0].Principal != op.PrincipalID() || recs[0].Session != home || recs[0].Field("delivery") != string(key) {
			t.Errorf("records %+v", recs)
		}
	}
	w.Disown(t, home)
	if _, how, err := retry(op, key); how != outbox.NotFound || err != nil {
		t.Errorf("of a session that nobody owns: %q, %v", how, err)
	}
}

func deliveriesListed(t *testing.T, w *world) {
	var keys []id.Delivery
	for _, f := range []principal.Facts{alice(), bob(), alice()} {
		keys = append(keys, w.owed(t, f))
		w.Clock.Advance(time.Second)
	}
	d := w.sending(t, keys[0], false)
	if _, err := w.settle(d, outbox.Failed); err != nil {
		t.Fatal(err)
	}
	home := w.delivery(t, keys[0]).Session
	for _, c := range []struct {
		name  string
		by    principal.Scope
		state outbox.State
		limit int
		want  []id.Delivery
	}{
		{"all", w.operator(t), "", 10, []id.Delivery{keys[2], keys[1], keys[0]}},
		{"newest", w.operator(t), "", 1, keys[2:]},
		{"failed", w.operator(t), outbox.Failed, 10, keys[:1]},
		{"owner", w.scope(t, alice(), home), "", 10, []id.Delivery{keys[2], keys[0]}},
		{"owner, queued", w.scope(t, alice(), home), outbox.Queued, 10, keys[2:]},
	} {
		var got []id.Delivery
		all, err := w.Store.Deliveries(w.ctx, c.by, c.state, 0, c.limit)
		for _, d := range all {
			got = append(got, d.ID)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
	if _, found, err := w.Store.Delivery(w.ctx, w.scope(t, alice(), home), keys[1]); found || err != nil {
		t.Errorf("another's delivery: %v, %v", found, err)
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.LookupDenied}); len(recs) != 1 || recs[0].Field("what") != "delivery" || recs[0].Field("reason") != "not_authorized" {
		t.Errorf("records %+v", recs)
	}
}
