package process

import (
	"os/exec"
	"syscall"
	"testing"
)

// A number that went to another process since is not signalled.
func TestAReusedNumberIsLeftAlone(t *testing.T) {
	stranger := exec.Command("sleep", "600")
	stranger.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stranger.Wait() }()
	pid := stranger.Process.Pid
	start, ok := startTime(pid)
	if !ok || start == 0 {
		t.Fatal("no start time")
	}
	for _, other := range []uint64{start - 1, start + 1, 0} {
		if n := killGroup(pid, other); n != 0 {
			t.Errorf("%d signalled for a process that began at %d and not %d", n, start, other)
		}
	}
	if killOne(proc{pid: pid, start: start + 1}) || killGroup(1, 1) != 0 || killGroup(0, 1) != 0 {
		t.Error("a stranger was signalled")
	}
	select {
	case err := <-ended:
		t.Fatal("it ended:", err)
	default:
	}
	if n := killGroup(pid, start); n != 1 {
		t.Errorf("%d signalled", n)
	}
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
}

func TestProcessesAreReadWhateverTheirNames(t *testing.T) {
	for text, want := range map[string]proc{
		"7 (a) S 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 99 1 1\n":            {7, 1, 2, 3, 'S', 99},
		"7 (a) b) Z 9 9 9) R 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 5 1":     {7, 1, 2, 3, 'R', 5},
		"7 (\n) Z 4 5 6 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 18446744073709 1 1": {7, 4, 5, 6, 'Z', 18446744073709},
	} {
		if p, ok := parseStat(7, []byte(text)); !ok || p != want {
			t.Errorf("%q: %+v %v", text, p, ok)
		}
	}
	for _, text := range []string{"", "7", "7 (a)", "7 (a) S 1 2", "7 (a) SS 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 99 1", "7 (a) S x 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 99 1"} {
		if p, ok := parseStat(7, []byte(text)); ok {
			t.Errorf("%q: %+v", text, p)
		}
	}
}
