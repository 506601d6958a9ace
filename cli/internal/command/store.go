package command

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

func (s *shell) store() *cli.Command {
	return &cli.Command{
		Name: "store", Usage: "the database of the home", Action: group,
		Subcommands: []*cli.Command{
			{Name: "check", Usage: "read the whole database and say what is wrong with it; writes nothing", Action: s.storeCheck},
			{
				Name: "backup", Usage: "write a checked copy, also while the database is in use", ArgsUsage: "FILE",
				Description: "FILE must not exist. To restore, stop everything that uses the home and copy it over the database.",
				Action:      s.storeBackup,
			},
			{Name: "migrate", Usage: "bring the database to this program's schema, with a backup first", Action: s.storeMigrate},
		},
	}
}

// checkAnswer is a checked database in a document.
type checkAnswer struct {
	Database string           `json:"database"`
	Sound    bool             `json:"sound"`
	Bytes    int64            `json:"bytes"`
	Store    string           `json:"store_id"`
	Schema   int64            `json:"schema"`
	Known    int64            `json:"known_schema"`
	SQLite   string           `json:"sqlite"`
	Rows     map[string]int64 `json:"rows"`
	Faults   []string         `json:"faults"`
}

func (s *shell) storeCheck(c *cli.Context) error {
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	r, err := app.CheckStore(c.Context, home)
	if err != nil {
		return err
	}
	a := checkAnswer{
		Database: r.Database, Sound: r.Sound(), Bytes: r.Bytes, Store: r.Store, Schema: r.Schema, Known: r.Known,
		SQLite: r.SQLite, Rows: r.Rows, Faults: append([]string{}, r.Faults...),
	}
	err = s.out.Answer(a, func(t *console.Text) {
		t.Say("%s  %d bytes, schema %d, SQLite %s", a.Database, a.Bytes, a.Schema, a.SQLite)
		for _, table := range slices.Sorted(maps.Keys(a.Rows)) {
			t.Say("  %-22s %d rows", table, a.Rows[table])
		}
		for _, f := range a.Faults {
			t.Say("%s %s", console.Bad("fault:"), f)
		}
		switch {
		case a.Sound:
			t.Say("%s", console.Good("sound"))
		case len(a.Faults) > 0:
			t.Say("stop everything that uses the home and restore a backup: %s", backupsOf(a.Database))
		case a.Schema < a.Known:
			t.Say("schema %d is old, this program knows %d: `portcullis store migrate`", a.Schema, a.Known)
		default:
			t.Say("schema %d is newer than this program (%d): use the portcullis that made it", a.Schema, a.Known)
		}
	})
	if err == nil && !a.Sound {
		err = no{}
	}
	return err
}

// backupsOf names the backups that lie beside a database, newest schema last.
func backupsOf(database string) string {
	found, err := filepath.Glob(database + ".v*.bak")
	if err != nil || len(found) == 0 {
		return "one of `portcullis store backup`; none lies beside the database"
	}
	return strings.Join(found, ", ") + ", or one of `portcullis store backup`"
}

// existing is the home, which must be there.
func (s *shell) existing(c *cli.Context) (app.Home, error) {
	if _, err := operands(c); err != nil {
		return app.Home{}, err
	}
	home, err := s.home()
	if err == nil {
		err = home.Check()
	}
	return home, err
}

func (s *shell) storeBackup(c *cli.Context) error {
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	to := s.path(c.Args().First())
	if _, err := os.Lstat(to); err == nil {
		p := usage("%s exists and is not replaced", to)
		p.Code, p.Remedy = "target_exists", "name another file"
		return p
	}
	if info, err := os.Stat(filepath.Dir(to)); err != nil || !info.IsDir() {
		p := usage("there is no folder %s to write the copy into", filepath.Dir(to))
		p.Code, p.Remedy = "no_such_folder", "make the folder first, or name a file in one that exists"
		return p
	}
	if err := app.BackupStore(c.Context, home, to); err != nil {
		return err
	}
	return s.out.Answer(map[string]string{"backup": to}, func(t *console.Text) {
		t.Say("%s a checked copy is in %s", console.Good("done:"), to)
	})
}

func (s *shell) storeMigrate(c *cli.Context) error {
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	before, after, err := app.MigrateStore(c.Context, home)
	if err != nil {
		return err
	}
	answer := map[string]int64{"from": before, "to": after}
	return s.out.Answer(answer, func(t *console.Text) {
		if before == after {
			t.Say("the database has schema %d already", after)
			return
		}
		t.Say("%s schema %d is now %d; the backup is beside the database", console.Good("done:"), before, after)
	})
}
