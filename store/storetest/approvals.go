package storetest

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func approvalCases() []testCase {
	return []testCase{
		{"a question keeps what was asked", questionKeeps},
		{"the first answer stands", firstAnswer},
		{"one of many answers wins", oneAnswer},
		{"an answer at the deadline is too late and recorded as expired", tooLate},
		{"nobody answering is recorded whenever it is said", expiryRecorded},
		{"an answer that was not offered is refused", answerMalformed},
		{"malformed questions write nothing", questionMalformed},
		{"questions are listed newest first, by state", questionsListed},
		{"an effect starts under the approval of that very effect, once", approvalUsed},
		{"a question is decided by those who may", whoDecides},
		{"an allowance that was revoked carries nothing more", allowanceRevoked},
		{"an allowance for the session carries calls of its tool in its session", allowanceUsed},
	}
}

// allow is the operator's yes.
func allow(reach approval.Reach) approval.Answer {
	return approval.Answer{State: approval.Allowed, Reach: reach, By: authority.OperatorID, Reason: "fine"}
}

func questionKeeps(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	want := w.ask(t, l)
	want.Asked, want.Expires = millis(want.Asked), millis(want.Expires)
	got, found, err := w.Store.Question(w.ctx, w.operator(t), want.ID)
	if err != nil || !found || !reflect.DeepEqual(got, want) {
		t.Errorf("question %+v, %v, %v\nwant %+v", got, found, err, want)
	}
}

func firstAnswer(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	q, by := w.question(l), w.scope(t, alice(), l.session)
	q.Principal = by.PrincipalID()
	if err := w.Store.Ask(w.ctx, q, w.record(event.ApprovalAsked)); err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(time.Second)
	ans := allow(approval.ForSession)
	ans.By = by.PrincipalID()
	got, how, err := w.Store.Decide(w.ctx, by, q.ID, ans, w.Clock.Now(), w.record(event.ApprovalDecided))
	if err != nil || how != approval.Recorded || got.State != approval.Allowed || got.Reach != approval.ForSession ||
		got.DecidedBy != by.PrincipalID() || got.Reason != "fine" || !got.Decided.Equal(millis(w.Clock.Now())) {
		t.Fatalf("%s, %v: %+v", how, err, got)
	}
	for _, ans := range []approval.Answer{denial(), allow(approval.Once), {State: approval.Expired}} {
		again, how, err := w.Store.Decide(w.ctx, w.operator(t), q.ID, ans, w.Clock.Now(), w.record(event.ApprovalDecided))
		if err != nil || how != approval.AlreadyDecided || !reflect.DeepEqual(again, got) {
			t.Errorf("then %s: %s, %v: %+v", ans.State, how, err, again)
		}
	}
	now, _, err := w.Store.Question(w.ctx, by, q.ID)
	if err != nil || !reflect.DeepEqual(now, got) {
		t.Errorf("the question is %+v, %v", now, err)
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.ApprovalDecided}); len(recs) != 1 {
		t.Errorf("%d records for one decision", len(recs))
	}
}

func oneAnswer(t *testing.T, w *world) {
	q := w.ask(t, w.start(t, alice(), bound()))
	var wg sync.WaitGroup
	answers := make(chan approval.Recording, 8)
	by := w.operator(t)
	for i := range cap(answers) {
		wg.Go(func() {
			ans := denial()
			if i%2 == 0 {
				ans = allow(approval.Once)
			}
			_, how, err := w.Store.Decide(w.ctx, by, q.ID, ans, w.Clock.Now(), w.record(event.ApprovalDecided))
			if err != nil {
				t.Error(err)
			}
			answers <- how
		})
	}
	wg.Wait()
	close(answers)
	count := map[approval.Recording]int{}
	for how := range answers {
		count[how]++
	}
	if count[approval.Recorded] != 1 || count[approval.AlreadyDecided] != 7 {
		t.Errorf("answers %v", count)
	}
}

func tooLate(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	for _, ans := range []approval.Answer{allow(approval.Once), denial()} {
		q := w.ask(t, l)
		rec := w.record(event.ApprovalDecided)
		rec.Fields = []event.Field{event.F("state", string(ans.State))}
		got, how, err := w.Store.Decide(w.ctx, w.operator(t), q.ID, ans, q.Expires, rec)
		if err != nil || how != approval.TooLate || got.State != approval.Expired || got.Reach != "" || got.DecidedBy != "" || got.Reason != "deadline_passed" {
			t.Errorf("%s: %s, %v: %+v", ans.State, how, err, got)
		}
		recs := w.events(t, turn.EventQuery{Kind: event.ApprovalDecided})
		if len(recs) == 0 || recs[0].ID != rec.ID || recs[0].Field("state") != "expired" || recs[0].Field("approval") != string(q.ID) {
			t.Errorf("%s: records %+v", ans.State, recs)
		}
		if again, how, err := w.Store.Decide(w.ctx, w.operator(t), q.ID, ans, q.Asked, w.record(event.ApprovalDecided)); how != approval.AlreadyDecided || err != nil || again.State != approval.Expired {
			t.Errorf("%s, then in time: %s, %v", ans.State, how, err)
		}
	}
	q := w.ask(t, l)
	if _, how, err := w.Store.Decide(w.ctx, w.operator(t), q.ID, allow(approval.Once), q.Expires.Add(-time.Millisecond), w.record(event.ApprovalDecided)); how != approval.Recorded || err != nil {
		t.Errorf("a millisecond before the deadline: %s, %v", how, err)
	}
}

func expiryRecorded(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	for _, at := range []time.Duration{0, time.Hour} {
		q := w.ask(t, l)
		got, how, err := w.Store.Decide(w.ctx, w.operator(t), q.ID, approval.Answer{State: approval.Expired, Reason: "approval_expired"},
			w.Clock.Now().Add(at), w.record(event.ApprovalDecided))
		if err != nil || how != approval.Recorded || got.State != approval.Expired || got.Reason != "approval_expired" {
			t.Errorf("after %s: %s, %v: %+v", at, how, err, got)
		}
	}
}

func answerMalformed(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	q := w.question(l)
	q.Cacheable = false
	if err := w.Store.Ask(w.ctx, q, w.record(event.ApprovalAsked)); err != nil {
		t.Fatal(err)
	}
	for name, ans := range map[string]approval.Answer{
		"pending":              {State: approval.Pending},
		"nothing":              {},
		"allowed, no reach":    {State: approval.Allowed, By: "p"},
		"allowed by nobody":    {State: approval.Allowed, Reach: approval.Once},
		"unknown reach":        {State: approval.Allowed, Reach: "ever", By: "p"},
		"reach not offered":    allow(approval.ForSession),
		"denied, with a reach": {State: approval.Denied, Reach: approval.Once, By: "p"},
	} {
		if _, how, err := w.Store.Decide(w.ctx, w.operator(t), q.ID, ans, w.Clock.Now(), w.record(event.ApprovalDecided)); err == nil {
			t.Errorf("%s: %s", name, how)
		}
	}
	if _, how, err := w.Store.Decide(w.ctx, w.operator(t), q.ID, allow(approval.Once), w.Clock.Now(), event.Record{}); err == nil {
		t.Errorf("without a record: %s", how)
	}
	if got, _, err := w.Store.Question(w.ctx, w.operator(t), q.ID); err != nil || got.State != approval.Pending {
		t.Errorf("state %s, %v", got.State, err)
	}
}

func questionMalformed(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	taken := w.ask(t, l)
	for name, change := range map[string]func(*approval.Question, *event.Record){
		"no id":            func(q *approval.Question, _ *event.Record) { q.ID = "" },
		"id is taken":      func(q *approval.Question, _ *event.Record) { q.ID = taken.ID },
		"no tool":          func(q *approval.Question, _ *event.Record) { q.Tool = "" },
		"no digest":        func(q *approval.Question, _ *event.Record) { q.Digest = "" },
		"no risk":          func(q *approval.Question, _ *event.Record) { q.Risk = 0 },
		"no principal":     func(q *approval.Question, _ *event.Record) { q.Principal = "" },
		"decided":          func(q *approval.Question, _ *event.Record) { q.State = approval.Allowed },
		"over when asked":  func(q *approval.Question, _ *event.Record) { q.Expires = q.Asked },
		"unknown turn":     func(q *approval.Question, _ *event.Record) { q.Turn = w.ids.Turn() },
		"another session":  func(q *approval.Question, _ *event.Record) { q.Session = other.session },
		"no record":        func(_ *approval.Question, r *event.Record) { *r = event.Record{} },
		"record id, taken": func(_ *approval.Question, r *event.Record) { r.ID = w.events(t, turn.EventQuery{Limit: 1})[0].ID },
	} {
		q, r := w.question(l), w.record(event.ApprovalAsked)
		change(&q, &r)
		if err := w.Store.Ask(w.ctx, q, r); err == nil {
			t.Errorf("%s was asked", name)
		}
	}
	if got, err := w.Store.Questions(w.ctx, w.operator(t), "", 0, 100); len(got) != 1 || err != nil {
		t.Errorf("%d questions, %v", len(got), err)
	}
}

func questionsListed(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	var asked []approval.Question
	for range 4 {
		asked = append(asked, w.ask(t, l))
		w.Clock.Advance(time.Second)
	}
	if _, how, err := w.Store.Decide(w.ctx, w.operator(t), asked[1].ID, denial(), w.Clock.Now(), w.record(event.ApprovalDecided)); how != approval.Recorded || err != nil {
		t.Fatal(how, err)
	}
	for _, by := range []string{"operator", "owner"} {
		scope := w.operator(t)
		if by == "owner" {
			scope = w.scope(t, alice(), l.session)
		}
		for _, c := range []struct {
			state approval.State
			limit int
			want  []int
		}{
			{"", 10, []int{3, 2, 1, 0}},
			{"", 2, []int{3, 2}},
			{approval.Pending, 10, []int{3, 2, 0}},
			{approval.Denied, 10, []int{1}},
			{approval.Allowed, 10, nil},
			{approval.Pending, 1, []int{3}},
		} {
			got, err := w.Store.Questions(w.ctx, scope, c.state, 0, c.limit)
			if err != nil || len(got) != len(c.want) {
				t.Errorf("%s, %q: %d questions, %v", by, c.state, len(got), err)
				continue
			}
			for i, n := range c.want {
				if got[i].ID != asked[n].ID {
					t.Errorf("%s, %q: question %d is %s", by, c.state, i, got[i].ID)
				}
			}
		}
	}
}
