package crash

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// saveEnv makes [TestEarlierSchemasAreKept] save what today's program leaves, for the days when its schema is an earlier
// one: `just save-schema`.
const saveEnv = "PORTCULLIS_SAVE_SCHEMA"

// saved is a database as the program of its schema left it when it was killed: a child had run its turn and every other
// write of the store, and another was killed with its effect done and not written down. Under testdata/saved stand the
// database, its log and the two books of each released schema, as the programs of their time made them.
type saved struct {
	schema int64
	path   string
	told   string
	rows   map[string]int64 // of each table
}

func (s saved) book() *book {
	b := read(s.told)
	b.old = s.schema
	return b
}

// copyTo is a copy of it in dir.
func (s saved) copyTo(t *testing.T, dir string) string { return copied(t, s.path, dir) }

// today is the schema of this program.
func today(t *testing.T) int64 {
	t.Helper()
	path, err := made()
	if err != nil {
		t.Fatal(err)
	}
	report, err := sqlite.Check(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return report.Known
}

// load unpacks the saved database of a schema.
func load(t *testing.T, schema int64) saved {
	t.Helper()
	from, dir := filepath.Join("testdata", "saved", fmt.Sprint("v", schema)), t.TempDir()
	told, err := os.ReadFile(filepath.Join(from, "book.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("no database of schema %d is saved: check out the last commit with that schema, run `just save-schema` there and keep what it makes", schema)
	}
	for _, name := range []string{"portcullis.db", "portcullis.db-wal"} {
		if err == nil {
			err = unpack(filepath.Join(from, name+".gz"), filepath.Join(dir, name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return saved{schema: schema, path: filepath.Join(dir, "portcullis.db"), told: string(told)}.counted(t)
}

func unpack(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(z, 16<<20))
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

func pack(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	_, err = z.Write(text)
	return errors.Join(err, z.Close(), f.Close())
}

// leave makes the database that today's program leaves.
func leave(t *testing.T) saved {
	t.Helper()
	exe, err := withPoints()
	if err != nil {
		t.Fatal(err)
	}
	path := fresh(t, t.TempDir())
	first := run(t, path, exe, nil)
	second := run(t, path, exe, []string{keyEnv + "=req_the_other", "PORTCULLIS_FAILPOINT=effect.invoked=kill"})
	if first.killed || first.failed || !second.killed {
		t.Fatalf("the children: %+v, %+v", first, second)
	}
	return saved{schema: today(t), path: path, told: first.out + second.out}.counted(t)
}

func (s saved) counted(t *testing.T) saved {
	t.Helper()
	report, err := sqlite.Check(t.Context(), s.path)
	if err != nil || len(report.Faults) > 0 || report.Schema != s.schema || !report.InUse {
		t.Fatalf("the saved database of schema %d: %+v, %v", s.schema, report, err)
	}
	s.rows = report.Rows
	return s
}

// keep writes it where [load] finds it. What is there stays.
func (s saved) keep(t *testing.T) {
	t.Helper()
	to := filepath.Join("testdata", "saved", fmt.Sprint("v", s.schema))
	err := os.Mkdir(to, 0o755)
	for _, name := range []string{"portcullis.db", "portcullis.db-wal"} {
		if err == nil {
			err = pack(filepath.Join(filepath.Dir(s.path), name), filepath.Join(to, name+".gz"))
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "book.txt"), []byte(s.told), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestEarlierSchemasAreKept opens what the program of each earlier schema left when it was killed. Every row is there,
// every one can be read, and what was acknowledged then is held to as if today's program had been killed.
func TestEarlierSchemasAreKept(t *testing.T) {
	last := today(t)
	if os.Getenv(saveEnv) != "" {
		leave(t).keep(t)
	}
	for schema := int64(1); schema <= last; schema++ {
		t.Run(fmt.Sprint("schema ", schema), func(t *testing.T) {
			s := saved{}
			if schema < last {
				s = load(t, schema)
			} else {
				s = leave(t)
			}
			path := s.copyTo(t, t.TempDir())
			if err := sqlite.Migrate(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			report, err := sqlite.Check(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range slices.Concat(s.rowsOf(report), readable(t, copied(t, path, t.TempDir())), hold(t, path, s.book())) {
				t.Error(f)
			}
			n := int64(0)
			for _, rows := range s.rows {
				n += rows
			}
			t.Logf("upgrade: schema %d to %d: %d rows of %d tables are there and can be read", schema, last, n, len(s.rows))
		})
	}
}

// rowsOf holds that no table has other rows than were saved.
func (s saved) rowsOf(report sqlite.Report) (faults []string) {
	for table, n := range s.rows {
		if got := report.Rows[table]; got != n {
			faults = append(faults, fmt.Sprintf("lost: table %s had %d rows in schema %d and has %d", table, n, s.schema, got))
		}
	}
	return faults
}

// readable reads each table of the database at path through the store's own methods and counts what it gets.
func readable(t *testing.T, path string) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	report, err := sqlite.Check(t.Context(), path)
	if err != nil || !report.Sound() {
		return []string{fmt.Sprintf("%+v, %v", report, err)}
	}
	w, err := openWorld(t.Context(), path)
	if err != nil {
		return []string{err.Error()}
	}
	defer w.close()
	if w.by, err = operator(w); err != nil {
		return []string{err.Error()}
	}
	got, err := w.countRows(t)
	if err != nil {
		fault("read: %v", err)
	}
	for table, n := range report.Rows {
		have, known := got[table]
		switch {
		case strings.HasPrefix(table, "goose_"), table == "kv_usage", table == "audit_head", table == "compactions", table == "observations":
			// Kept for a limit, for the chain (which is verified), for a lease and for the calibration: nobody reads rows of them.
		case !known && n > 0:
			fault("table %s has %d rows: say in countRows how they are read", table, n)
		case have != n:
			fault("table %s has %d rows and %d can be read", table, n, have)
		}
	}
	return faults
}

// countRows reads everything that the child's writes leave. Who adds a table adds how its rows are read.
func (w *world) countRows(t *testing.T) (map[string]int64, error) {
	ctx, n := t.Context(), map[string]int64{}
	st, err := w.look(ctx)
	if err != nil {
		return nil, err
	}
	n["turns"], n["effects"], n["deliveries"] = int64(len(st.turns)), int64(len(st.effects)), int64(len(st.owed))
	var errs []error
	count := func(table string, rows int, err error) {
		n[table] += int64(rows)
		errs = append(errs, err)
	}
	one := func(table string, is bool, err error) {
		if is {
			count(table, 1, err)
			return
		}
		errs = append(errs, err)
	}
	sessions, err := w.store.Sessions(ctx, w.by, 0, 500)
	count("sessions", len(sessions), err)
	questions, err := w.store.Questions(ctx, w.by, "", 0, 500)
	count("approvals", len(questions), err)
	events, err := w.store.Events(ctx, w.by, turn.EventQuery{Limit: 1000})
	count("events", len(events), err)
	grants, err := w.store.PluginGrants(ctx, "world")
	count("plugin_grants", len(grants.Strings()), err)
	entries, _, err := w.store.List(ctx, values(""), "", "", 100)
	count("kv", len(entries), err)
	known, err := w.store.Calibration(ctx, script{}.Name())
	one("calibrations", known.Samples > 0, err)
	_, bound, err := w.store.BoundSession(ctx, person())
	one("conversation_bindings", bound, err)
	one("meta", w.store.StoreID() != "", nil)
	for _, s := range sessions {
		one("session_ends", !s.Ended.IsZero(), nil)
		owner, is, err := w.store.Owner(ctx, s.ID)
		one("session_owners", is && owner.PrincipalID != "", err)
		window, err := w.store.Window(ctx, w.by, s.ID, 1000, 1<<20)
		count("messages", len(window), err)
		shown, err := w.store.Context(ctx, w.by, s.ID, prompt.Mark{}, 1000, 1<<20)
		one("summaries", shown.Revision > 0 && shown.Summary.Text != "", err)
	}
	for _, e := range st.effects {
		one("effect_resolutions", e.Resolution.Verdict != "", nil)
	}
	for key := range st.turns {
		asked, err := w.store.CancelRequested(ctx, key)
		one("cancel_requests", asked, err)
	}
	n["tasks"] = int64(len(st.tasks))
	for key := range st.tasks {
		log, _, err := w.store.TaskLog(ctx, w.by, "", key, task.MaxLogLines, task.MaxLogBytes)
		one("task_logs", log != "", err)
	}
	// A schedule that is not there begins when it is first seen.
	never := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	cursor, err := w.store.SeeSchedule(ctx, "assistant", "daily", "d", never)
	one("schedules", !cursor.Equal(never), err)
	// A lease is read when its turn is recovered.
	ended, err := w.store.Recover(ctx, w.epoch, time.Now())
	count("leases", len(ended), err)
	return n, errors.Join(errs...)
}
