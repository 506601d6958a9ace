package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// CheckStore reads the whole database of a home; see [sqlite.Check]. A home without one is a [*console.Problem].
func CheckStore(ctx context.Context, h Home) (sqlite.Report, error) {
	if err := h.hasStore(); err != nil {
		return sqlite.Report{}, err
	}
	r, err := sqlite.Check(ctx, h.Join(DatabaseName))
	return r, storeProblem(h, err)
}

// VerifyAudit recomputes the chain over the audit of the home's database; see [sqlite.VerifyAudit]. heads are what
// earlier reports said the chain ended in.
func VerifyAudit(ctx context.Context, h Home, heads []string) (sqlite.AuditReport, error) {
	var known []sqlite.AuditHead
	for _, text := range heads {
		head, err := sqlite.ParseAuditHead(text)
		if err != nil {
			return sqlite.AuditReport{}, &console.Problem{
				Code: "usage", Exit: console.ExitUsage, Message: fmt.Sprintf("--head %s: %v", console.Cut(text, 80), err),
				Remedy: "`portcullis audit verify` prints the head to note down", Cause: err,
			}
		}
		known = append(known, head)
	}
	if err := h.hasStore(); err != nil {
		return sqlite.AuditReport{}, err
	}
	r, err := sqlite.VerifyAudit(ctx, h.Join(DatabaseName), known...)
	return r, storeProblem(h, err)
}

// BackupStore writes a checked copy of the database to a new file; see [sqlite.Backup].
func BackupStore(ctx context.Context, h Home, to string) error {
	if err := h.hasStore(); err != nil {
		return err
	}
	return storeProblem(h, sqlite.Backup(ctx, h.Join(DatabaseName), to))
}

// MigrateStore brings the database to this program's schema and tells the versions before and after; see
// [sqlite.Migrate]. It needs the home's lock.
func MigrateStore(ctx context.Context, h Home) (before, after int64, err error) {
	r, err := CheckStore(ctx, h)
	if err != nil {
		return 0, 0, err
	}
	lock, err := h.TakeLock("store migrate")
	if err != nil {
		return 0, 0, err
	}
	err = sqlite.Migrate(ctx, h.Join(DatabaseName))
	return r.Schema, r.Known, errors.Join(storeProblem(h, err), lock.Release())
}

func (h Home) hasStore() error {
	if _, err := os.Stat(h.Join(DatabaseName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &console.Problem{
		Code: "store_missing", Exit: console.ExitUsage, Message: "the home has no database yet",
		Remedy: "`portcullis init` makes one, and so does the first turn",
	}
}

// tooNew is a database of a newer program. A backup is named only when there is one.
func (h Home) tooNew(e *sqlite.SchemaError) error {
	p := &console.Problem{
		Code: "store_schema", Exit: console.ExitUsage, Cause: e,
		Message: fmt.Sprintf("%s has schema %d, and this program knows only %d", h.Join(DatabaseName), e.Have, e.Want),
		Remedy:  "use the newer portcullis that made it, or name another home with --home DIR",
	}
	backup := fmt.Sprintf("%s.v%d.bak", h.Join(DatabaseName), e.Want)
	if _, err := os.Stat(backup); err == nil {
		p.Remedy = "use the newer portcullis that made it, or restore the backup " + backup
	}
	return p
}

// storeProblem gives the store's own failures a code. Their words name files and what to type already.
func storeProblem(h Home, err error) error {
	if err == nil {
		return nil
	}
	problem := func(code string, exit int, remedy string) error {
		return &console.Problem{Code: code, Exit: exit, Message: err.Error(), Remedy: remedy, Cause: err}
	}
	var migration *sqlite.MigrationError
	var stale *sqlite.StaleBackupError
	var inUse *sqlite.InUseError
	var foreign *sqlite.ForeignError
	var schema *sqlite.SchemaError
	var failed *sqlite.FailedError
	switch {
	case errors.As(err, &migration):
		return problem("store_migration_failed", console.ExitHost, "`portcullis store check` looks for the cause")
	case errors.As(err, &stale):
		return problem("store_backup_stale", console.ExitUsage, "then type the command again")
	case errors.As(err, &inUse):
		return problem("store_in_use", console.ExitHost, "then type the command again")
	case errors.As(err, &foreign):
		return problem("store_foreign", console.ExitUsage, "move "+h.Join(DatabaseName)+" away, or name another home with --home DIR")
	case errors.As(err, &schema) && schema.Have > schema.Want:
		return h.tooNew(schema)
	case errors.As(err, &schema):
		return problem("store_schema", console.ExitUsage, "`portcullis store migrate` migrates it, behind a backup")
	case errors.As(err, &failed):
		return problem("store_failed", console.ExitHost, "`portcullis store check` once the disk is well")
	}
	return err
}
