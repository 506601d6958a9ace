package outbox_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// world is a store with replies to deliver and one channel, which is a function.
type world struct {
	t     *testing.T
	store *memory.Store
	ids   *id.Source
	epoch id.Epoch
	by    principal.Scope
	log   *lines
}

// lines is a Log.
type lines struct {
	mu  sync.Mutex // guards all
	all []string
}

func (l *lines) Warn(msg string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprint(append([]any{msg, " "}, args...)...))
}

func (l *lines) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// channel is a Sender.
type channel struct {
	name string
	safe bool
	send func(ctx context.Context, key id.Delivery, d outbox.Delivery) outbox.Receipt
}

func (c channel) Channel() string  { return c.name }
func (c channel) Idempotent() bool { return c.safe }
func (c channel) Send(ctx context.Context, key id.Delivery, d outbox.Delivery) outbox.Receipt {
	return c.send(ctx, key, d)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, ids: id.NewSource(time.Now, rand.Reader), log: &lines{}}
	w.store, w.epoch = memory.New(memory.Config{Clock: time.Now, IDs: w.ids}), w.ids.Epoch()
	var err error
	w.by, err = principal.NewIssuer(string(w.store.StoreID())).Issue(principal.Facts{
		PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) record(k event.Kind) event.Record {
	return event.Record{ID: w.ids.Event(), At: time.Now(), Kind: k}
}

// owe ends a turn of a person on a channel that owes body.
func (w *world) owe(channel, person, body string) id.Delivery {
	w.t.Helper()
	who := principal.Facts{
		PrincipalID: "principal:conversation:" + channel + ":" + person, Authority: principal.Conversation,
		Channel: channel, ConversationKey: channel + ":dm:" + person,
	}
	a := turn.Admission{
		Request: w.ids.Request(), Digest: "d", Turn: w.ids.Turn(), NewSession: w.ids.Session(), Selector: turn.Selector{Kind: turn.Bound},
		Owner: who, Core: "assistant", Revision: "r", Input: "hello", At: time.Now(),
		Claim: lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: time.Now().Add(time.Minute)},
	}
	got, err := w.store.Admit(context.Background(), a, []event.Record{w.record(event.SessionCreated), w.record(event.TurnStarted)})
	if err != nil || got.Disposition != turn.Admitted {
		w.t.Fatal(got, err)
	}
	d := w.ids.Delivery()
	how, err := w.store.Finish(context.Background(), turn.Terminal{
		Turn: a.Turn, Session: got.Session, Claim: got.Claim, Outcome: turn.Completed, Reply: body, At: time.Now(),
		Deliveries: []turn.Delivery{{ID: d, Channel: who.Channel, Conversation: who.ConversationKey, Body: body}},
	}, w.record(event.TurnFinished))
	if err != nil || how != turn.Written {
		w.t.Fatal(how, err)
	}
	return d
}

func (w *world) is(d id.Delivery) outbox.Delivery {
	w.t.Helper()
	got, found, err := w.store.Delivery(context.Background(), w.by, d)
	if err != nil || !found {
		w.t.Fatal(found, err)
	}
	return got
}

// run starts a worker over q, and returns what ends it and waits.
func (w *world) run(q outbox.Queue, senders ...outbox.Sender) (end func()) {
	w.t.Helper()
	worker, err := outbox.NewWorker(outbox.Config{
		Queue: q, Senders: senders, IDs: w.ids, Epoch: w.epoch, Clock: time.Now, Random: func() float64 { return 0.5 }, Log: w.log,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { worker.Run(ctx) })
	return func() { cancel(); running.Wait() }
}

// pass lets so much time go by, and all that is due in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func accepts(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt {
	return outbox.Receipt{Verdict: outbox.Accepted}
}

func TestRepliesAreDeliveredInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var want []id.Delivery
		for i := range 3 {
			want = append(want, w.owe("chat", "ann", fmt.Sprint("reply ", i)))
		}
		var got []id.Delivery
		end := w.run(w.store, channel{"chat", false, func(_ context.Context, key id.Delivery, d outbox.Delivery) outbox.Receipt {
			is := w.is(key)
			if is.State != outbox.Sending || is.Attempts != 1 || d.Body != fmt.Sprint("reply ", len(got)) || d.Conversation != "chat:dm:ann" {
				t.Errorf("while it was sent: %+v", is)
			}
			got = append(got, key)
			return outbox.Receipt{Verdict: outbox.Accepted}
		}})
		pass(10 * time.Second)
		end()
		if !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
		for _, d := range want {
			if is := w.is(d); is.State != outbox.Delivered || is.Reason != "" {
				t.Errorf("%+v", is)
			}
		}
	})
}

// Each attempt has the same key, the pauses grow, half of them fixed and half random, and there is a last attempt.
func TestAttemptsAreBoundedAndThePausesBetweenThemGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d, later := w.owe("chat", "ann", "hello"), w.owe("chat", "ann", "then")
		var at []time.Time
		end := w.run(w.store, channel{"chat", false, func(_ context.Context, key id.Delivery, got outbox.Delivery) outbox.Receipt {
			if key == later {
				if len(at) != 8 {
					t.Errorf("the next one overtook it after %d attempts", len(at))
				}
				return outbox.Receipt{Verdict: outbox.Accepted}
			}
			if key != d || got.Attempts != len(at)+1 {
				t.Errorf("attempt %d is %s, %d", len(at)+1, key, got.Attempts)
			}
			at = append(at, time.Now())
			return outbox.Receipt{Verdict: outbox.Retry, Reason: "busy"}
		}})
		pass(time.Second)
		if is := w.is(d); is.State != outbox.Queued || is.Reason != "busy" {
			t.Errorf("after the first: %+v", is)
		}
		pass(2 * time.Hour)
		end()
		if is := w.is(d); is.State != outbox.Failed || is.Reason != outbox.ReasonAttempts || is.Attempts != 8 || len(at) != 8 {
			t.Errorf("%d attempts: %+v", len(at), is)
		}
		for i := 1; i < len(at); i++ { // random is one half: three quarters of 2 s, 4 s, ...
			want := time.Duration(1.5 * float64(time.Second) * float64(int(1)<<(i-1)))
			if pause := at[i].Sub(at[i-1]); pause < want || pause > want+time.Second {
				t.Errorf("pause %d took %s, want %s", i, pause, want)
			}
		}
		if is := w.is(later); is.State != outbox.Delivered {
			t.Errorf("the next one: %+v", is)
		}
	})
}

func TestWhatMayHaveLeftIsSentAgainOnlyOverAnIdempotentChannel(t *testing.T) {
	for name, send := range map[string]func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt{
		"unsure": func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt {
			return outbox.Receipt{Verdict: outbox.Unsure}
		},
		"no words": func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt { return outbox.Receipt{} },
		"panic":    func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt { panic("broken") },
		"hangs": func(ctx context.Context, _ id.Delivery, _ outbox.Delivery) outbox.Receipt {
			<-ctx.Done()
			return outbox.Receipt{Verdict: outbox.Unsure}
		},
	} {
		for _, safe := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", safe), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					d, sent := w.owe("chat", "ann", "hello"), 0
					end := w.run(w.store, channel{"chat", safe, func(ctx context.Context, key id.Delivery, got outbox.Delivery) outbox.Receipt {
						if sent++; sent > 1 && key == d {
							return outbox.Receipt{Verdict: outbox.Accepted}
						}
						return send(ctx, key, got)
					}})
					pass(time.Hour)
					end()
					want, times := outbox.Unknown, 1
					if safe {
						want, times = outbox.Delivered, 2
					}
					if is := w.is(d); is.State != want || sent != times {
						t.Errorf("sent %d times: %+v", sent, is)
					}
				})
			})
		}
	}
}

// A channel that told second copies from first ones is served by a sender now that does not: what may have left over it stays
// where it is, until the operator says otherwise.
func TestWhatMayHaveLeftIsNotSentOverAnotherSender(t *testing.T) {
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			d, sent := w.owe("chat", "ann", "hello"), 0
			if killed {
				c := lease.Claim{Token: w.ids.Lease(), Epoch: "epo_dead", Expires: time.Now().Add(time.Hour)}
				got, found, err := w.store.ClaimDelivery(t.Context(), "chat", c)
				if err != nil || !found {
					t.Fatal(found, err)
				}
				if how, err := w.store.BeginSending(t.Context(), d, got.Claim, true, w.record(event.DeliveryStarted)); err != nil || how != outbox.Written {
					t.Fatal(how, err)
				}
			} else {
				end := w.run(w.store, channel{"chat", true, func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt {
					return outbox.Receipt{Verdict: outbox.Unsure, Reason: "timeout"}
				}})
				pass(time.Second)
				end()
			}
			end := w.run(w.store, channel{"chat", false, func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt {
				sent++
				return outbox.Receipt{Verdict: outbox.Accepted}
			}})
			defer end()
			pass(time.Hour)
			if is := w.is(d); is.State != outbox.Unknown || is.Reason != outbox.ReasonSenderChanged || sent != 0 {
				t.Errorf("killed %v: sent %d times more, %+v", killed, sent, is)
			}
			if _, how, err := w.store.RequeueDelivery(t.Context(), w.by, d, "it did not arrive", w.record(event.DeliveryRequeued)); how != outbox.Recorded || err != nil {
				t.Fatal(how, err)
			}
			pass(time.Hour)
			if is := w.is(d); is.State != outbox.Delivered || sent != 1 {
				t.Errorf("killed %v: after the operator's word sent %d times, %+v", killed, sent, is)
			}
		})
	}
}

// A host that dies while it sends leaves an unknown delivery, and no worker after it sends that one again.
func TestAHostThatDiedWhileItSentLeavesAnUnknownDelivery(t *testing.T) {
	for _, safe := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			d := w.owe("chat", "ann", "hello")
			c := lease.Claim{Token: w.ids.Lease(), Epoch: "epo_dead", Expires: time.Now().Add(time.Hour)}
			got, found, err := w.store.ClaimDelivery(t.Context(), "chat", c)
			if err != nil || !found {
				t.Fatal(found, err)
			}
			if how, err := w.store.BeginSending(t.Context(), d, got.Claim, safe, w.record(event.DeliveryStarted)); err != nil || how != outbox.Written {
				t.Fatal(how, err)
			}
			sent := 0
			end := w.run(w.store, channel{"chat", safe, func(_ context.Context, key id.Delivery, _ outbox.Delivery) outbox.Receipt {
				sent++
				return outbox.Receipt{Verdict: outbox.Accepted}
			}})
			pass(time.Hour)
			end()
			want, times := outbox.Unknown, 0
			if safe {
				want, times = outbox.Delivered, 1
			}
			if is := w.is(d); is.State != want || sent != times || w.log.count("whose claim is over") != 1 {
				t.Errorf("idempotent %v: sent %d times, %+v, %q", safe, sent, is, w.log.all)
			}
		})
	}
}

func TestWhatWillNeverBeTakenIsFailedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d, e := w.owe("chat", "ann", "hello"), w.owe("chat", "bea", "hello")
		end := w.run(w.store, channel{"chat", true, func(_ context.Context, key id.Delivery, _ outbox.Delivery) outbox.Receipt {
			if key == e {
				return outbox.Receipt{Verdict: outbox.Permanent}
			}
			return outbox.Receipt{Verdict: outbox.Permanent, Reason: strings.Repeat("é", 60)}
		}})
		pass(time.Minute)
		end()
		if is := w.is(d); is.State != outbox.Failed || is.Attempts != 1 || is.Reason != strings.Repeat("é", 32) {
			t.Errorf("%+v", is)
		}
		if is := w.is(e); is.State != outbox.Failed || is.Reason != outbox.ReasonRefused {
			t.Errorf("%+v", is)
		}
	})
}

func TestASlowChannelHoldsUpNoOtherAndOneNobodyServesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		slow, quick, nobody := w.owe("slow", "ann", "a"), w.owe("chat", "ann", "b"), w.owe("post", "ann", "c")
		end := w.run(w.store, channel{"chat", false, accepts}, channel{"slow", false, func(ctx context.Context, _ id.Delivery, _ outbox.Delivery) outbox.Receipt {
			<-ctx.Done()
			return outbox.Receipt{Verdict: outbox.Unsure}
		}})
		pass(5 * time.Second)
		if w.is(slow).State != outbox.Sending || w.is(quick).State != outbox.Delivered {
			t.Errorf("slow %s, quick %s", w.is(slow).State, w.is(quick).State)
		}
		pass(10 * time.Minute)
		end()
		if is := w.is(nobody); is.State != outbox.Queued || is.Attempts != 0 || w.log.count("nobody serves") != 1 {
			t.Errorf("%+v, log %q", is, w.log.all)
		}
	})
}

func TestAShutdownLetsAnAttemptEndAndSettlesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		quick, hangs := w.owe("quick", "ann", "a"), w.owe("hangs", "ann", "b")
		next := w.owe("quick", "bea", "c")
		end := w.run(w.store, channel{"quick", false, func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt {
			time.Sleep(3 * time.Second)
			return outbox.Receipt{Verdict: outbox.Accepted}
		}}, channel{"hangs", false, func(ctx context.Context, _ id.Delivery, _ outbox.Delivery) outbox.Receipt {
			<-ctx.Done()
			return outbox.Receipt{Verdict: outbox.Unsure}
		}})
		pass(time.Second)
		began := time.Now()
		end()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the shutdown took %s", took)
		}
		if w.is(quick).State != outbox.Delivered || w.is(hangs).State != outbox.Unknown || w.is(next).State != outbox.Queued {
			t.Errorf("quick %s, hangs %s, next %s", w.is(quick).State, w.is(hangs).State, w.is(next).State)
		}
	})
}

// closing ends the worker's context in the moment in which something is claimed.
type closing struct {
	outbox.Queue
	end context.CancelFunc
}

func (c closing) ClaimDelivery(ctx context.Context, channel string, l lease.Claim) (outbox.Delivery, bool, error) {
	defer c.end()
	return c.Queue.ClaimDelivery(ctx, channel, l)
}

func TestWhatIsOnlyClaimedAtAShutdownIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := w.owe("chat", "ann", "hello")
		ctx, cancel := context.WithCancel(t.Context())
		worker, err := outbox.NewWorker(outbox.Config{
			Queue: closing{w.store, cancel}, IDs: w.ids, Epoch: w.epoch, Clock: time.Now, Random: func() float64 { return 0 }, Log: w.log,
			Senders: []outbox.Sender{channel{"chat", false, func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt {
				t.Error("it was sent")
				return outbox.Receipt{}
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		worker.Run(ctx)
		if is := w.is(d); is.State != outbox.Queued || is.Attempts != 0 || is.Claim.Fence != 1 {
			t.Errorf("%+v", is)
		}
	})
}

// broken cannot write that something is about to be sent.
type broken struct{ outbox.Queue }

func (broken) BeginSending(context.Context, id.Delivery, lease.Claim, bool, event.Record) (outbox.Fenced, error) {
	return "", errors.New("the disk is full")
}

func TestNothingIsSentThatIsNotWrittenDownFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := w.owe("chat", "ann", "hello")
		end := w.run(broken{w.store}, channel{"chat", true, func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt {
			t.Error("it was sent")
			return outbox.Receipt{}
		}})
		pass(30 * time.Second)
		end()
		if is := w.is(d); is.State != outbox.Claimed || is.Attempts != 0 || w.log.count("the disk is full") != 1 {
			t.Errorf("%+v, log %q", is, w.log.all)
		}
	})
}

// What is queued while the worker rests is sent at once when it is woken, and by its next look when it is not, as by
// another process.
func TestAWakeUpSendsAtOnce(t *testing.T) {
	for _, wake := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			worker, err := outbox.NewWorker(outbox.Config{
				Queue: w.store, Senders: []outbox.Sender{channel{"chat", false, accepts}}, IDs: w.ids, Epoch: w.epoch,
				Clock: time.Now, Random: func() float64 { return 0.5 }, Log: w.log,
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { worker.Run(ctx) })
			defer running.Wait()
			defer cancel()
			pass(100 * time.Millisecond) // it has looked and found nothing
			worker.Wake("nobody")
			d := w.owe("chat", "ann", "hello")
			if wake {
				worker.Wake("chat")
				worker.Wake("chat")
			}
			synctest.Wait()
			if is, want := w.is(d).State, map[bool]outbox.State{true: outbox.Delivered, false: outbox.Queued}[wake]; is != want {
				t.Errorf("woken %v: at once %s, want %s", wake, is, want)
			}
			pass(time.Second)
			if is := w.is(d).State; is != outbox.Delivered {
				t.Errorf("woken %v: after a second %s", wake, is)
			}
		})
	}
}

// A turn that ends while the lane is at work is not forgotten until the next look.
func TestAWakeUpDuringAnAttemptIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var worker *outbox.Worker
		var later id.Delivery
		asked := 0
		q := between{w.store, func() { // after the queue was found empty, before the lane rests
			if asked++; asked == 2 {
				later = w.owe("chat", "bea", "then")
				worker.Wake("chat")
			}
		}}
		worker, err := outbox.NewWorker(outbox.Config{
			Queue: q, Senders: []outbox.Sender{channel{"chat", false, accepts}}, IDs: w.ids, Epoch: w.epoch,
			Clock: time.Now, Random: func() float64 { return 0.5 }, Log: w.log,
		})
		if err != nil {
			t.Fatal(err)
		}
		w.owe("chat", "ann", "first")
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { worker.Run(ctx) })
		synctest.Wait()
		if later == "" || w.is(later).State != outbox.Delivered {
			t.Errorf("asked %d times, %q", asked, later)
		}
		cancel()
		running.Wait()
	})
}

// between does something after each claim was answered.
type between struct {
	outbox.Queue
	then func()
}

func (b between) ClaimDelivery(ctx context.Context, channel string, l lease.Claim) (outbox.Delivery, bool, error) {
	defer b.then()
	return b.Queue.ClaimDelivery(ctx, channel, l)
}

func TestAChannelHasOneSender(t *testing.T) {
	for name, senders := range map[string][]outbox.Sender{
		"two":     {channel{"chat", false, accepts}, channel{"chat", true, accepts}},
		"no name": {channel{"", false, accepts}},
	} {
		if _, err := outbox.NewWorker(outbox.Config{Senders: senders}); err == nil || !strings.Contains(err.Error(), "name each once") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
