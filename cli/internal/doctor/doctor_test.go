package doctor

import (
	"crypto/rand"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// home writes a default home without plugins.
func home(t *testing.T) app.Home {
	t.Helper()
	h := app.Home{Path: filepath.Join(t.TempDir(), "home")}
	if err := h.Make(); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(core.Default(nil), core.DefaultHostConfig()) {
		if _, err := h.Put(f.Path, f.Bytes, f.Mode, false); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func find(found []Finding, code string) (out []Finding) {
	for _, f := range found {
		if f.Code == code {
			out = append(out, f)
		}
	}
	return out
}

func TestAKeyThatIsMissingIsFoundAndOneThatIsThereIsNotShown(t *testing.T) {
	h := home(t)
	edit := func(file, old, new string) {
		t.Helper()
		data, err := os.ReadFile(h.Join(file))
		if err != nil || !strings.Contains(string(data), old) {
			t.Fatalf("%s lacks %q: %v", file, old, err)
		}
		if _, err := h.Put(file, []byte(strings.Replace(string(data), old, new, 1)), 0o600, true); err != nil {
			t.Fatal(err)
		}
	}
	edit("config.yaml", "providers: {}", "providers:\n  anthropic: {kind: anthropic, api_key: env:SOME_KEY, model: {name: m}}\n")
	edit("cores/assistant/agent.yaml", "  provider: scripted\n  script: script.yaml # below agent/\n", "  provider: anthropic\n")
	for value, want := range map[string]Level{"": Error, "sk-very-secret": OK} {
		found := Examine(t.Context(), h, Machine{Env: func(string) string { return value }, Cache: h.Join("cache")})
		keys := find(found, "provider.key")
		if len(keys) != 1 || keys[0].Level != want {
			t.Errorf("key %q: %+v", value, keys)
		}
		for _, f := range found {
			if value != "" && strings.Contains(f.Message+f.Remedy, value) {
				t.Errorf("%s shows the key: %s", f.Code, f.Message)
			}
		}
	}
}

func TestADamagedDatabaseIsAnError(t *testing.T) {
	h := home(t)
	if _, err := h.Put(app.DatabaseName, []byte(strings.Repeat("not a database ", 1000)), 0o600, false); err != nil {
		t.Fatal(err)
	}
	found := Examine(t.Context(), h, Machine{Env: os.Getenv, Cache: h.Join("cache")})
	if f := find(found, "store.check"); len(f) != 1 || f[0].Level != Error || f[0].Remedy == "" {
		t.Errorf("store.check: %+v", f)
	}
	if Worst(found) != Error {
		t.Errorf("worst: %s", Worst(found))
	}
}

func TestADatabaseOfANewerProgramHidesNoPathsAndNamesNoBackupThatIsNotThere(t *testing.T) {
	h := home(t)
	newer(t, h)
	found := Examine(t.Context(), h, Machine{Env: os.Getenv, Cache: h.Join("cache")})
	if f := find(found, "store.schema"); len(f) != 1 || f[0].Level != Error || !strings.Contains(f[0].Remedy, "newer portcullis") {
		t.Errorf("store.schema: %+v", f)
	}
	for _, f := range found {
		if text := f.Message + f.Remedy; strings.Contains(text, ".bak") || strings.Contains(text, "portcullis-look-") {
			t.Errorf("%s: %s", f.Code, text)
		}
	}
	_, err := h.OpenShadow(t.Context())
	if err == nil || strings.Contains(err.Error(), "portcullis-look-") || !strings.Contains(err.Error(), h.Join(app.DatabaseName)) {
		t.Errorf("looking: %v", err)
	}
}

// newer makes a database of the home that says it is of a later program.
func newer(t *testing.T, h app.Home) {
	t.Helper()
	r, err := h.OpenRecords(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", h.Join(app.DatabaseName))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAHomeThatItsOperatorClosedIsFound(t *testing.T) {
	h := home(t)
	for mode, want := range map[os.FileMode]string{0o500: "home.mode", 0o000: "home.folder"} {
		if err := os.Chmod(h.Path, mode); err != nil {
			t.Fatal(err)
		}
		found := Examine(t.Context(), h, Machine{Env: os.Getenv, Cache: h.Join("cache")})
		if f := find(found, want); len(f) != 1 || f[0].Level != Error || !strings.HasPrefix(f[0].Remedy, "chmod 700 ") {
			t.Errorf("mode %04o: %+v", mode, found)
		}
	}
	if err := os.Chmod(h.Path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestEveryFindingThatIsNotWellSaysWhatToDo(t *testing.T) {
	for name, h := range map[string]app.Home{"nowhere": {Path: filepath.Join(t.TempDir(), "nowhere")}, "bare": home(t)} {
		found := Examine(t.Context(), h, Machine{Env: os.Getenv, Cache: h.Join("cache")})
		if len(found) == 0 {
			t.Errorf("%s: nothing was looked at", name)
		}
		for _, f := range found {
			if f.Level != OK && f.Remedy == "" {
				t.Errorf("%s: %s %s has no remedy: %s", name, f.Level, f.Code, f.Message)
			}
		}
	}
}

func TestWorst(t *testing.T) {
	ok, warn, bad := Finding{Level: OK}, Finding{Level: Warn}, Finding{Level: Error}
	for _, c := range []struct {
		in   []Finding
		want Level
	}{{nil, OK}, {[]Finding{ok}, OK}, {[]Finding{warn, ok}, Warn}, {[]Finding{bad, warn, ok}, Error}, {[]Finding{warn, bad, ok}, Error}} {
		if got := Worst(slices.Clone(c.in)); got != c.want {
			t.Errorf("Worst(%v) = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestAHomeThatCannotBeWrittenIsFound(t *testing.T) {
	h := home(t)
	refused := func(string) error { return syscall.EROFS }
	got := find(Examine(t.Context(), h, Machine{Env: os.Getenv, Cache: h.Join("cache"), MayWrite: refused}), "home.writable")
	if len(got) != 1 || got[0].Level != Error || !strings.Contains(got[0].Message, h.Path) || got[0].Remedy == "" {
		t.Errorf("%+v", got)
	}
	got = find(Examine(t.Context(), h, Machine{Env: os.Getenv, Cache: h.Join("cache")}), "home.writable")
	if len(got) != 1 || got[0].Level != OK {
		t.Errorf("a home that can be written: %+v", got)
	}
	if err := mayWrite(filepath.Join(h.Path, "gone")); err == nil {
		t.Error("a folder that is not there can be written")
	}
}

// A home in which nobody serves, with a schedule that is due, and tasks in every state that a person would like to know of.
func TestTasksAndSchedulesThatNobodySeesTo(t *testing.T) {
	h, now := home(t), time.Now()
	schedule := []byte("cron: 0 * * * *\ntimezone: UTC\nprompt: look\n")
	if _, err := h.Put("cores/assistant/agent/schedules/hourly.yaml", schedule, 0o600, false); err != nil {
		t.Fatal(err)
	}
	examine := func() []Finding {
		return Examine(t.Context(), h, Machine{Env: func(string) string { return "" }, Cache: h.Join("cache")})
	}
	for _, code := range []string{"tasks.lost", "tasks.left", "tasks.queued", "schedules.overdue"} {
		if got := find(examine(), code); len(got) != 0 {
			t.Errorf("before anything was: %+v", got)
		}
	}
	ids := id.NewSource(time.Now, rand.Reader)
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: h.Join(app.DatabaseName), Clock: time.Now, IDs: ids})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	record := func(k event.Kind) event.Record { return event.Record{ID: ids.Event(), At: now, Kind: k} }
	fire := func(name string) {
		k := task.Task{
			ID: ids.Task(), Kind: task.Fire, Instance: name, Owner: principal.Facts{PrincipalID: "principal:scheduler:" + name, Authority: principal.System},
			Core: "assistant", Schedule: name, Due: now, Title: name, Spec: "{}", Scope: "schedule:" + name, Created: now,
		}
		if _, how, err := s.FireSchedule(t.Context(), k, "", time.Time{}, record(event.TaskQueued)); err != nil || how != task.Accepted {
			t.Fatal(how, err)
		}
	}
	claim := func() {
		c := lease.Claim{Token: ids.Lease(), Epoch: ids.Epoch(), Expires: now.Add(time.Hour)}
		if _, found, err := s.ClaimTask(t.Context(), task.Which{}, c, record(event.TaskStarted)); err != nil || !found {
			t.Fatal(found, err)
		}
	}
	fire("lost")
	claim()
	if lost, err := s.RecoverTasks(t.Context(), ids.Epoch(), now); err != nil || len(lost) != 1 {
		t.Fatal(lost, err)
	}
	fire("left")
	claim()
	fire("waits")
	all, err := core.Load(t.Context(), h.Path, "assistant")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all.Schedules() {
		if _, err := s.SeeSchedule(t.Context(), "assistant", one.ID, one.Digest(), now.Add(-5*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	found := examine()
	for code, want := range map[string][2]string{
		"tasks.lost":        {"in the last 7 days: 1;", "portcullis tasks list --state=lost"},
		"tasks.left":        {"left running: 1;", "portcullis tasks list"},
		"tasks.queued":      {"which works: 1", "portcullis serve"},
		"schedules.overdue": {"schedule hourly of core assistant was due at " + now.UTC().Truncate(time.Hour).Format("2006-01-02 15:04 UTC"), "portcullis serve"},
	} {
		got := find(found, code)
		if len(got) != 1 || got[0].Level != Warn || !strings.Contains(got[0].Message, want[0]) || !strings.Contains(got[0].Remedy, want[1]) {
			t.Errorf("%s: %+v", code, got)
		}
	}
	lock, err := h.TakeLock("serve")
	if err != nil {
		t.Fatal(err)
	}
	found = examine()
	for _, code := range []string{"tasks.left", "tasks.queued", "schedules.overdue"} {
		if got := find(found, code); len(got) != 0 {
			t.Errorf("while a host serves: %+v", got)
		}
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestAWorkspaceThatCannotBeUsedIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		workspace string // in agent.yaml; DIR is a folder outside the home with the file "taken" in it
		want      Level
		says      string
	}{
		"the home's own, not made yet": {"workspace", "", ""},
		"a folder elsewhere":           {"DIR", "", ""},
		"misspelt":                     {"DIR/nothing/here", Warn, "is not there"},
		"a file":                       {"DIR/taken", Error, "is not a folder"},
		"below a file":                 {"DIR/taken/here", Error, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			h, out := home(t), t.TempDir()
			if err := os.WriteFile(filepath.Join(out, "taken"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			agent := filepath.Join(core.FolderName, core.DefaultID, core.AgentFile)
			data, err := os.ReadFile(h.Join(agent))
			if err != nil {
				t.Fatal(err)
			}
			line := "\nworkspace: " + strings.ReplaceAll(c.workspace, "DIR", out) + "\n"
			if _, err := h.Put(agent, []byte(strings.Replace(string(data), "\nworkspace: workspace\n", line, 1)), 0o600, true); err != nil {
				t.Fatal(err)
			}
			found := find(Examine(t.Context(), h, Machine{Env: func(string) string { return "" }, Cache: h.Join("cache")}), "core.workspace")
			switch {
			case c.want == "" && len(found) > 0:
				t.Errorf("%+v, want nothing", found)
			case c.want != "" && (len(found) != 1 || found[0].Level != c.want || !strings.Contains(found[0].Message, c.says) || !strings.Contains(found[0].Remedy, h.Join(agent))):
				t.Errorf("%+v, want one %s that says %q", found, c.want, c.says)
			}
		})
	}
}

func TestWhatAKilledProcessLeftIsCounted(t *testing.T) {
	for n, says := range map[int]string{1: ": 1 effect may", 2: ": 2 effects may"} {
		e := examination{home: home(t)}
		e.leftRunning([]turn.Recovered{{Turn: "trn_1", Outcome: turn.Indeterminate, Effects: n}})
		if len(e.found) != 1 || !strings.Contains(e.found[0].Message, says) {
			t.Errorf("%d: %+v", n, e.found)
		}
	}
}
