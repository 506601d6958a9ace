//go:build strace

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// whole holds a database that an upgrade was ended over: it is the old one or the new one, with every row; when it is the
// new one the backup stands beside it; and the next host opens it, holds to the book, and leaves the backup and nothing else.
func (s saved) whole(t *testing.T, path string, b *book) (faults []string) {
	b.old = s.schema
	report, err := sqlite.Check(t.Context(), path)
	switch {
	case err != nil || len(report.Faults) > 0:
		return []string{fmt.Sprintf("the database is not sound: %+v, %v", report, err)}
	case report.Schema == s.schema:
	case report.Schema == report.Known:
		faults = append(faults, s.backedUp(t, path)...)
	default:
		faults = append(faults, fmt.Sprintf("the database has schema %d: neither %d nor %d", report.Schema, s.schema, report.Known))
	}
	faults = append(faults, s.rowsOf(report)...)
	faults = append(faults, holdSound(t, path, b, report)...)
	faults = append(faults, s.backedUp(t, path)...)
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return append(faults, err.Error())
	}
	for _, e := range left {
		switch name := strings.TrimPrefix(e.Name(), filepath.Base(path)); name {
		case "", fmt.Sprintf(".v%d.bak", s.schema):
		default:
			faults = append(faults, "left behind: "+e.Name())
		}
	}
	return faults
}

// backedUp holds that the backup is the database as it was.
func (s saved) backedUp(t *testing.T, path string) (faults []string) {
	bak := fmt.Sprintf("%s.v%d.bak", path, s.schema)
	report, err := sqlite.Check(t.Context(), bak)
	if err != nil || len(report.Faults) > 0 || report.Schema != s.schema {
		return []string{fmt.Sprintf("the backup: %+v, %v", report, err)}
	}
	return s.rowsOf(report)
}

// upgraded lets a child upgrade a copy of it.
func (s saved) upgraded() before {
	return before{start: s.copyTo, told: s.told, env: doesEnv + "=migrate", hold: s.whole}
}

// writesOfAnUpgrade are the system calls by which an upgrade changes files and folders.
var writesOfAnUpgrade = []string{"pwrite64", "write", "copy_file_range", "fsync", "fdatasync", "ftruncate", "linkat", "unlinkat", "unlink"}

// TestKilledWhileUpgrading kills the upgrade of each earlier schema at each system call that writes; the oldest at every
// one, the others, which are written in the same way, at some, and without CRASH_STRIDE=1 most of them at one call's only.
func TestKilledWhileUpgrading(t *testing.T) {
	for schema := int64(1); schema < today(t); schema++ {
		s, step, sum := load(t, schema), stride(t, 46), &tally{}
		calls := writesOfAnUpgrade
		if schema > 1 {
			step *= 20
			if step > 20 && schema < today(t)-1 {
				calls = calls[:1]
			}
		}
		for _, call := range calls {
			sum.take(sweepOver(t, call, 0, step, s.upgraded()))
		}
		sum.report(t, fmt.Sprintf("kill at the writes of the upgrade from schema %d", schema))
		if want := 400 / step; sum.killed < want {
			t.Errorf("schema %d: only %d kills", schema, sum.killed)
		}
	}
}

// TestTheDiskFailsWhileUpgrading lets the same calls fail.
func TestTheDiskFailsWhileUpgrading(t *testing.T) {
	s, sum := load(t, 1), &tally{}
	for _, one := range []struct {
		call string
		err  syscall.Errno
	}{
		{"pwrite64", syscall.EIO},
		{"pwrite64", syscall.ENOSPC},
		{"fsync", syscall.EIO},
		{"fdatasync", syscall.EIO},
		{"ftruncate", syscall.EIO},
		{"linkat", syscall.EIO},
		{"unlinkat", syscall.EIO},
	} {
		sum.take(sweepOver(t, one.call, one.err, stride(t, 46)*10, s.upgraded()))
	}
	sum.report(t, "EIO and ENOSPC at the writes of an upgrade")
}
