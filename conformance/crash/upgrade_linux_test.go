//go:build strace

package crash

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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

// writesOfAnUpgrade are the system calls by which an upgrade changes files and folders. It makes a write only where files are
// copied by that.
var writesOfAnUpgrade = []string{"pwrite64", "write", "copy_file_range", "fsync", "ftruncate", "linkat", "unlinkat", "unlink"}

// killedOf is at how many of an upgrade's points one is a kill. At the others the files are taken as a kill would leave them.
const killedOf = 16

// left looks at what a kill leaves at each step-th call of a kind. One child goes through the upgrade and stands before each
// of these calls until its files are copied: what a process has written stays when it is killed, and an upgrade writes nothing
// beside the call that it stands at. At one of killedOf points another child is killed, and must leave files of the same sizes.
func (s saved) left(t *testing.T, call string, step int) *tally {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type point struct {
		stop
		path string
	}
	points, sum, from := make(chan point, 2), &tally{}, s.upgraded()
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for p := range points {
				e, faults := ending{stood: true}, []string(nil)
				if (p.n-1)/step%killedOf == 0 && call != "write" { // of which the scheduler may make one at any time
					path := s.copyTo(t, newDir(t))
					killed, hit, err := runStopped(t, path, self, from.environ(), p.stop)
					if err != nil || !hit || !killed.killed {
						t.Errorf("%s: not killed: %+v, %v", p, killed, err)
					}
					e = killed
					if copied, killed := sizes(t, p.path), sizes(t, path); copied != killed {
						faults = append(faults, fmt.Sprintf("a kill leaves %s, and the copy is %s", killed, copied))
					}
					faults = append(faults, s.whole(t, path, s.book())...)
				}
				sum.add(p.String(), e, append(faults, s.whole(t, p.path, s.book())...))
				_ = os.RemoveAll(filepath.Dir(p.path))
			}
		})
	}
	first := s.copyTo(t, newDir(t))
	e, _, err := runStopped(t, first, self, from.environ(), stop{call: call, each: func(n int) {
		if (n-1)%step == 0 {
			points <- point{stop{call: call, n: n}, allCopied(t, first, newDir(t))}
		}
	}})
	close(points)
	all.Wait()
	if errors.Is(err, errNotStopped) {
		return sweepOver(t, call, 0, step, from)
	}
	if err != nil || e.failed || e.killed {
		t.Errorf("%s: the child: %+v, %v", call, e, err)
	}
	if call != "write" {
		sum.some(t, call)
	}
	return sum
}

// TestKilledWhileUpgrading looks at what a kill leaves of the upgrade of each earlier schema at each system call that writes:
// of the oldest at every one, of the others, which are written in the same way, at some, and without CRASH_STRIDE=1 of most of
// them at one call's only.
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
			sum.take(s.left(t, call, step))
		}
		sum.report(t, fmt.Sprintf("kill at the writes of the upgrade from schema %d", schema))
		if want := 400 / step; sum.killed+sum.stood < want {
			t.Errorf("schema %d: only %d kills", schema, sum.killed+sum.stood)
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
		{"ftruncate", syscall.EIO},
		{"linkat", syscall.EIO},
		{"unlinkat", syscall.EIO},
	} {
		sum.take(sweepOver(t, one.call, one.err, stride(t, 46)*10, s.upgraded()))
	}
	sum.report(t, "EIO and ENOSPC at the writes of an upgrade")
}
