package turn_test

import (
	"context"
	"testing"

	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// owed is what is to be delivered of one turn.
func (w *world) owed(res turn.Result) (of []outbox.Delivery) {
	w.t.Helper()
	by, err := principal.NewIssuer(string(w.store.StoreID())).Issue(principal.Facts{
		PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "look",
	})
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := w.store.Deliveries(context.Background(), by, "", 0, 500)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range all {
		if d.Turn == res.Turn() {
			of = append(of, d)
		}
	}
	return of
}

func talks(input string) turn.Request {
	return turn.Request{
		Core: "assistant", Input: input, Selector: turn.Selector{Kind: turn.Bound},
		Actor: principal.Facts{
			PrincipalID: "principal:conversation:chat:ann", Authority: principal.Conversation,
			Channel: "chat", ConversationKey: "chat:dm:ann",
		},
	}
}

func TestAConversationIsOwedItsReplyOnceAndAnOperatorNothing(t *testing.T) {
	var silent bool
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
		if silent {
			return provider.Response{}, &provider.Error{Kind: provider.KindAuth, Provider: "test"}
		}
		return say("It is 2.")
	})
	var told []string
	w.cfg.Owed = func(channel string) { told = append(told, channel) }
	x := turn.New(w.cfg)
	res, err := x.Run(t.Context(), talks("1+1"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	got := w.owed(res)
	if len(got) != 1 || got[0].Channel != "chat" || got[0].Conversation != "chat:dm:ann" || got[0].Body != "It is 2." ||
		got[0].State != outbox.Queued || got[0].Session != res.Session() {
		t.Errorf("deliveries %+v", got)
	}
	again := talks("1+1")
	again.Key = res.Request()
	if dup, err := x.Run(t.Context(), again, turn.Observer{}); err != nil || !dup.Duplicate() || len(w.owed(res)) != 1 {
		t.Errorf("the same request: %v, %v, %d deliveries", dup.Duplicate(), err, len(w.owed(res)))
	}
	// The operator goes on in the same session, and hears the reply where they asked.
	op := ask("and more")
	op.Selector = turn.Selector{Kind: turn.Resume, Session: res.Session()}
	if own, err := x.Run(t.Context(), op, turn.Observer{}); err != nil || own.Reply() == "" || len(w.owed(own)) != 0 {
		t.Errorf("the operator's turn: %v, %+v", err, w.owed(own))
	}
	silent = true
	if none, err := x.Run(t.Context(), talks("2+2"), turn.Observer{}); err != nil || none.Outcome() != turn.Failed || len(w.owed(none)) != 0 {
		t.Errorf("a failed turn: %s, %v, %+v", none.Outcome(), err, w.owed(none))
	}
	if len(told) != 1 || told[0] != "chat" { // once for the one delivery, for no other turn
		t.Errorf("told that a delivery is queued: %q", told)
	}
}

func TestAReplyWithASecretIsOwedWithoutIt(t *testing.T) {
	// What is delivered is what the store shows as the reply: both are in the model view.
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
		return say("The key is correct-horse-battery-staple.")
	})
	var err error
	if w.plan.Setup.Known, err = (redact.Set{}).With(redact.NewSecret("KEY", "correct-horse-battery-staple")); err != nil {
		t.Fatal(err)
	}
	res, err := turn.New(w.cfg).Run(t.Context(), talks("tell"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.owed(res); len(got) != 1 || got[0].Body != res.Reply() || got[0].Body == "The key is correct-horse-battery-staple." {
		t.Errorf("deliveries %+v", got)
	}
}

// What a model said before it was cut off or declined is no reply: the turn has failed, and its end is written.
func TestAModelThatIsCutOffOrDeclinesOwesNoReply(t *testing.T) {
	for reason, finish := range map[string]provider.FinishReason{"output_cut": provider.FinishLength, "model_refused": provider.FinishRefused} {
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
			return provider.Response{Parts: []provider.Part{provider.Text("I would")}, FinishReason: finish}, nil
		})
		res, err := turn.New(w.cfg).Run(t.Context(), talks("tell"), turn.Observer{})
		if err != nil {
			t.Fatal(err)
		}
		w.want(res, turn.Failed, reason)
		if res.Reply() != "I would" || len(w.owed(res)) != 0 {
			t.Errorf("reply %q, deliveries %+v", res.Reply(), w.owed(res))
		}
	}
}

func TestAReplyThatIsNoTextIsOwedAsText(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("It is \xff2.") })
	res, err := turn.New(w.cfg).Run(t.Context(), talks("1+1"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.owed(res); len(got) != 1 || got[0].Body != "It is \uFFFD2." {
		t.Errorf("deliveries %+v", got)
	}
}
