package sandbox

import (
	"os"
	"os/exec"
	"syscall"
)

// runningProgram is this very program, also when its file was replaced meanwhile:
// another build would write code that this one cannot use.
const runningProgram = "/proc/self/exe"

// isolate gives a child a process group of its own, which is killed as one, and
// lets it die with this process.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// residentPeak is the most memory a process had, in bytes.
func residentPeak(end *os.ProcessState) int64 {
	if used, ok := end.SysUsage().(*syscall.Rusage); ok {
		return used.Maxrss << 10
	}
	return 0
}
