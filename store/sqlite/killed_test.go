package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
)

// migrateAndDie is a child that upgrades the database and kills itself before the named step.
func migrateAndDie(path, step string) {
	err := migrate(context.Background(), path, set(one, two, three), func(at string) {
		if at == step {
			die()
		}
	})
	fmt.Fprintln(os.Stderr, "migrate:", err)
}

func TestKilledUpgradeIsWholeOrNothing(t *testing.T) {
	steps := []string{"check", "backup", "apply", "verify", "commit", "done"}
	for _, step := range steps {
		path := old(t)
		before := says(t, path)
		err := child(t, "migrate-"+step, path).Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Exited() && runtime.GOOS != "windows" {
			t.Fatalf("%s: the child was not killed: %v", step, err)
		}
		want := "1"
		if step == "done" {
			want = "3"
		}
		if got := ask(t, path, `SELECT max(version_id) FROM goose_db_version`); got != want {
			t.Errorf("killed before %s: version %s", step, got)
		}
		if want == "1" && says(t, path) != before {
			t.Errorf("killed before %s: the database changed", step)
		}
		if err := migrate(t.Context(), path, set(one, two, three), nil); err != nil {
			t.Errorf("killed before %s: the next start: %v", step, err)
		}
		if got := ask(t, path, `SELECT count(*) FROM tags`); got != "3" {
			t.Errorf("killed before %s: %s tags", step, got)
		}
		if got := beside(t, path); got != "portcullis.db portcullis.db.v1.bak" {
			t.Errorf("killed before %s: left behind: %s", step, got)
		}
	}
	var seen []string
	if err := migrate(t.Context(), old(t), set(one, two), func(at string) { seen = append(seen, at) }); err != nil || !slices.Equal(seen, steps) {
		t.Errorf("the steps are %v, %v", seen, err)
	}
}

// A run that was killed as it gave the backup its name left it under both: the next one takes the other away.
func TestABackupKeepsOneName(t *testing.T) {
	path := old(t)
	var exit *exec.ExitError
	if err := child(t, "migrate-apply", path).Run(); !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := os.Link(path+".v1.bak", partialOf(path+".v1.bak")); err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), path, set(one, two, three), nil); err != nil {
		t.Fatal(err)
	}
	if got := beside(t, path); got != "portcullis.db portcullis.db.v1.bak" {
		t.Errorf("left behind: %s", got)
	}
}

// migrateAndDieWriting is a child that upgrades the database and is killed while the migrated copy is written into
// it, once the log has so many bytes.
func migrateAndDieWriting(path string, bytes int64) {
	err := migrate(context.Background(), path, set(one, two, three), func(at string) {
		if at != "commit" {
			return
		}
		go func() {
			for {
				if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > bytes {
					die()
				}
			}
		}()
	})
	fmt.Fprintln(os.Stderr, "migrate:", err)
}

func TestKilledCommitIsWholeOrNothing(t *testing.T) {
	for _, bytes := range []int{0, 100_000, 300_000} {
		path := old(t)
		fill(t, path)
		before := says(t, path)
		var exit *exec.ExitError
		if err := child(t, fmt.Sprint("write-", bytes), path).Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		report, err := check(t.Context(), path, set(one, two, three))
		if err != nil || len(report.Faults) != 0 {
			t.Errorf("killed after %d bytes: %+v, %v", bytes, report, err)
		}
		switch report.Schema {
		case 1:
			if says(t, path) != before {
				t.Errorf("killed after %d bytes: the old database changed", bytes)
			}
		case 3:
			if got := ask(t, path, `SELECT count(*) FROM tags`); got != "2003" {
				t.Errorf("killed after %d bytes: %s tags", bytes, got)
			}
		default:
			t.Errorf("killed after %d bytes: version %d", bytes, report.Schema)
		}
		if err := migrate(t.Context(), path, set(one, two, three), nil); err != nil || ask(t, path, `SELECT count(*) FROM tags`) != "2003" {
			t.Errorf("killed after %d bytes: the next start: %v", bytes, err)
		}
	}
}
