//go:build strace

package crash

import "testing"

// TestKilledWhileRecovering kills the host that recovers what a killed host left: a turn under way whose effect may have
// happened, one whose effect never began, and one that waits for an answer.
func TestKilledWhileRecovering(t *testing.T) {
	exe, err := withPoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, point := range []string{"effect.invoked", "sqlite.EffectStarted.begin", "sqlite.Ask.committed"} {
		first := fresh(t, t.TempDir())
		e := run(t, first, exe, []string{"PORTCULLIS_FAILPOINT=" + point + "=kill"})
		if !e.killed {
			t.Fatalf("%s: the child was not killed: %+v", point, e)
		}
		left := func(t *testing.T, dir string) string { return copied(t, first, dir) }
		for _, call := range []string{"pwrite64", "fdatasync", "ftruncate"} {
			sum := sweepOver(t, call, 0, stride(t, 10), before{start: left, told: e.out, env: doesEnv + "=recover"})
			sum.report(t, "kill at "+call+" of the recovery after "+point)
		}
	}
}
