package sqlite

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// script is a process that runs turns and says, line by line, what it was told is durable.
type script struct {
	store *Store
	epoch id.Epoch
	mu    sync.Mutex // guards standard output
}

// runTurns is the child: three conversations, each turn after turn, until it is killed.
func runTurns(path string) {
	ids := id.NewSource(time.Now, rand.Reader)
	s, err := Open(context.Background(), Config{Path: path, Clock: time.Now, IDs: ids})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	sc := &script{store: s, epoch: ids.Epoch()}
	if _, err := s.Recover(context.Background(), sc.epoch, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	var wg sync.WaitGroup
	for n := range 3 {
		wg.Go(func() {
			for round := 0; ; round++ {
				if err := sc.turn(fmt.Sprint("p", n), round); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func (sc *script) say(words ...any) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	fmt.Println(words...)
}

func (sc *script) record(k event.Kind, t id.Turn) event.Record {
	return event.Record{ID: sc.store.ids.Event(), At: time.Now(), Kind: k, Turn: t}
}

// turn is one whole turn. Each line follows the return of the call that it names.
func (sc *script) turn(person string, round int) error {
	ctx, s := context.Background(), sc.store
	now := time.Now()
	a := turn.Admission{
		Request: s.ids.Request(), Digest: "d", Turn: s.ids.Turn(), NewSession: s.ids.Session(),
		Selector: turn.Selector{Kind: turn.Bound}, Core: "c", Revision: "r", Trace: s.ids.Trace(), Input: "hello", At: now,
		Owner: principal.Facts{
			PrincipalID: "principal:" + person, Authority: principal.Conversation, Channel: "chat", ConversationKey: "chat:dm:" + person,
		},
		Claim: lease.Claim{Token: s.ids.Lease(), Epoch: sc.epoch, Expires: now.Add(time.Minute)},
	}
	got, err := s.Admit(ctx, a, []event.Record{sc.record(event.SessionCreated, ""), sc.record(event.TurnStarted, a.Turn)})
	if err != nil || got.Disposition != turn.Admitted {
		return fmt.Errorf("admit %q: %w", got.Disposition, err)
	}
	sc.say("admitted", a.Turn)
	e := effect.Started{
		Effect: s.ids.Effect(), Turn: a.Turn, Session: got.Session, Tool: "x.y", Recovery: "manual", Digest: "d",
		Arguments: []byte(`{}`), At: now,
	}
	if _, err := s.EffectStarted(ctx, e, sc.record(event.EffectStarted, a.Turn)); err != nil {
		return err
	}
	sc.say("started", e.Effect, a.Turn)
	m := turn.Message{ID: s.ids.Message(), Turn: a.Turn, Role: "user", Body: []byte(`"hello"`), At: now}
	if how, err := s.Append(ctx, a.Turn, got.Claim, []turn.Message{m}); err != nil || how != turn.Written {
		return fmt.Errorf("append %q: %w", how, err)
	}
	sc.say("appended", m.ID, got.Session)
	status := []effect.Status{effect.Succeeded, effect.Failed}[round%2]
	err = s.EffectFinished(ctx, effect.Finished{
		Effect: e.Effect, Turn: a.Turn, Session: got.Session, Tool: e.Tool, Status: status, Started: true, At: now,
	}, sc.record(event.EffectFinished, a.Turn))
	if err != nil {
		return err
	}
	sc.say("finished", e.Effect, a.Turn, status)
	end := turn.Terminal{Turn: a.Turn, Session: got.Session, Claim: got.Claim, Outcome: turn.Completed, At: now}
	if how, err := s.Finish(ctx, end, sc.record(event.TurnFinished, a.Turn)); err != nil || how != turn.Written {
		return fmt.Errorf("finish %q: %w", how, err)
	}
	sc.say("ended", a.Turn)
	return nil
}

// acknowledged is what the children were told is durable, over all their lives.
type acknowledged struct {
	admitted map[id.Turn]bool
	ended    map[id.Turn]bool
	started  map[id.Effect]id.Turn
	finished map[id.Effect]effect.Status
	messages map[id.Message]id.Session
}

// add reads one whole line. A line that was cut by the kill was no promise.
func (k *acknowledged) add(line string) {
	w := strings.Fields(line)
	switch w[0] {
	case "admitted":
		k.admitted[id.Turn(w[1])] = true
	case "ended":
		k.ended[id.Turn(w[1])] = true
	case "started":
		k.started[id.Effect(w[1])] = id.Turn(w[2])
	case "finished":
		k.finished[id.Effect(w[1])] = effect.Status(w[3])
	case "appended":
		k.messages[id.Message(w[1])] = id.Session(w[2])
	}
}

// TestKilledHostLosesNothing kills a process that runs turns at random moments, and after each kill holds the
// database to every line that the process had written.
func TestKilledHostLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	known := &acknowledged{
		admitted: map[id.Turn]bool{}, ended: map[id.Turn]bool{}, started: map[id.Effect]id.Turn{},
		finished: map[id.Effect]effect.Status{}, messages: map[id.Message]id.Session{},
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := mathrand.New(mathrand.NewPCG(seed, 0))
	for kill := range 10 {
		killAfter(t, path, 1+random.IntN(40), known)
		left := files(t, filepath.Dir(path))
		report, err := Check(t.Context(), path)
		if err != nil || !report.Sound() || !report.InUse {
			t.Fatalf("kill %d: report %+v, %v", kill, report, err)
		}
		if !same(left, files(t, filepath.Dir(path))) {
			t.Errorf("kill %d: the check wrote something", kill)
		}
		holds(t, path, known)
	}
	if len(known.ended) == 0 || len(known.admitted) < 10 {
		t.Errorf("the children did too little: %d turns admitted, %d ended", len(known.admitted), len(known.ended))
	}
}

// killAfter runs the child until it has written so many lines, kills it and takes down what it wrote.
func killAfter(t *testing.T, path string, lines int, known *acknowledged) {
	t.Helper()
	cmd := child(t, "turns", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if err != nil {
			break
		}
		known.add(line)
		if n == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() == 1 {
		t.Fatalf("the child was not killed: %v", err)
	}
}

// holds opens the database as the next host would and checks it against what was acknowledged.
func holds(t *testing.T, path string, known *acknowledged) {
	t.Helper()
	ids := id.NewSource(time.Now, rand.Reader)
	s, err := Open(t.Context(), Config{Path: path, Clock: time.Now, IDs: ids})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	by := operatorOf(t, s)
	before := map[id.Turn]turn.Record{}
	for key := range known.admitted {
		rec, found, err := s.Turn(t.Context(), by, key)
		if err != nil || !found {
			t.Fatalf("the admitted turn %s is lost: %v", key, err)
		}
		if known.ended[key] && rec.Outcome != turn.Completed {
			t.Errorf("the completed turn %s is %s", key, rec.State)
		}
		before[key] = rec
	}
	recovered, err := s.Recover(t.Context(), ids.Epoch(), time.Now())
	if err != nil || len(recovered) > 3 {
		t.Errorf("recovered %d turns of 3 sessions: %v", len(recovered), err)
	}
	for key, was := range before {
		now, _, err := s.Turn(t.Context(), by, key)
		if err != nil || now.State == turn.Running || was.State != turn.Running && now != was {
			t.Errorf("turn %s was %+v and is %+v, %v", key, was, now, err)
		}
		checkEnds(t, s, by, now)
	}
	for key, in := range known.started {
		status := known.finished[key]
		effects, err := s.Effects(t.Context(), by, in)
		if err != nil || len(effects) != 1 || effects[0].ID != key || effects[0].Status == "" ||
			status != "" && effects[0].Status != status {
			t.Errorf("the effect %s, acknowledged as %q, is %+v, %v", key, status, effects, err)
		}
	}
	for key, in := range known.messages {
		var there int
		if err := s.reader.row(t.Context(), `SELECT count(*) FROM messages m WHERE m.id = ? AND m.session_id = ?`, string(key), string(in)).Scan(&there); err != nil || there != 1 {
			t.Errorf("the message %s is lost: %v", key, err)
		}
	}
	var running int
	if err := s.reader.row(t.Context(), `SELECT (SELECT count(*) FROM turns WHERE state = 'running') + (SELECT count(*) FROM leases)`).Scan(&running); err != nil || running != 0 {
		t.Errorf("%d running turns and leases after recovery: %v", running, err)
	}
}

// checkEnds holds that a turn has one end in the audit: finished by its host, or recovered by the next.
func checkEnds(t *testing.T, s *Store, by principal.Scope, rec turn.Record) {
	t.Helper()
	recs, err := s.Events(t.Context(), by, turn.EventQuery{Turn: rec.ID, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	ends := map[event.Kind]int{}
	for _, r := range recs {
		ends[r.Kind]++
	}
	recovered := 0
	if rec.Outcome != turn.Completed {
		recovered = 1
	}
	if ends[event.TurnStarted] != 1 || ends[event.TurnFinished] != 1-recovered || ends[event.TurnRecovered] != recovered {
		t.Errorf("turn %s ended as %s with the records %v", rec.ID, rec.Outcome, ends)
	}
}
