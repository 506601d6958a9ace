package sqlite

import (
	"fmt"
	"runtime"
	"strings"
)

// MigrationError reports a migration that did not happen. The database is as it was.
type MigrationError struct {
	Database string // absolute path
	Backup   string // absolute path; it may not exist when making it is what failed
	From, To int64
	Doing    string
	Err      error
}

// Error names both files and the command that restores.
func (e *MigrationError) Error() string {
	return fmt.Sprintf("sqlite: migrate %s from schema version %d to %d: %s: %v\nthe database was not changed: the program that made it still works with it; should it ever be damaged, its backup is %s, restored by\n    %s",
		e.Database, e.From, e.To, e.Doing, e.Err, e.Backup, e.Restore())
}

// Unwrap returns the cause.
func (e *MigrationError) Unwrap() error { return e.Err }

// Restore is the command line that puts the backup in the database's place on this system. Nothing may have the
// database open while it runs.
func (e *MigrationError) Restore() string { return restoreCommand(runtime.GOOS, e.Database, e.Backup) }

// restoreCommand also removes the log files: a log of the damaged database would be replayed over the backup.
func restoreCommand(goos, db, bak string) string {
	if goos == "windows" {
		q := func(s string) string { return `"` + s + `"` } // a path holds no quotation mark there
		return "del /q " + q(db+"-wal") + " " + q(db+"-shm") + " 2>nul & copy /y " + q(bak) + " " + q(db)
	}
	return "rm -f " + shellQuote(db+"-wal") + " " + shellQuote(db+"-shm") + " && cp -p " + shellQuote(bak) + " " + shellQuote(db)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// StaleBackupError reports a backup of this schema version that does not say what the database says: it is of another
// time, another database, or damaged. It may be the only copy of something, so it is not replaced.
type StaleBackupError struct {
	Database string // absolute path
	Backup   string // absolute path
	Err      error  // why it cannot be read, or nil when it only differs
}

// Error says what to type.
func (e *StaleBackupError) Error() string {
	why := "differs from the database"
	if e.Err != nil {
		why = "cannot be used: " + e.Err.Error()
	}
	move := "mv " + shellQuote(e.Backup) + " " + shellQuote(e.Backup+".old")
	if runtime.GOOS == "windows" {
		move = `move "` + e.Backup + `" "` + e.Backup + `.old"`
	}
	return fmt.Sprintf("sqlite: migrate %s: the backup %s %s; nothing was changed. Keep it under another name, then try again:\n    %s", e.Database, e.Backup, why, move)
}

// Unwrap returns the cause.
func (e *StaleBackupError) Unwrap() error { return e.Err }

// InUseError reports a database that another process has open.
type InUseError struct {
	Database string // absolute path
	Err      error
}

// Error says what to do.
func (e *InUseError) Error() string {
	return fmt.Sprintf("sqlite: migrate %s: another process has it open: stop every other portcullis of this home, then try again", e.Database)
}

// Unwrap returns the cause.
func (e *InUseError) Unwrap() error { return e.Err }

// inUse tells a lock that another holds from other failures.
func inUse(path string, err error) error {
	if code(err) == codeBusy {
		return &InUseError{Database: path, Err: err}
	}
	return unreadable(path, err)
}

// DamagedError reports a database that fails its integrity or foreign key check.
type DamagedError struct{ Faults []string }

// Error shows the first fault and how many there are.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%d faults, the first: %s", len(e.Faults), e.Faults[0])
}
