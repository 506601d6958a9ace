//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

func able(Keeper) error { return nil }

// spawn starts a program as the leader of a session and group of its own. What leaves the group is neither seen nor ended.
func (e *Engine) spawn(cmd Command) (*Child, error) {
	for _, s := range append([]Seen{cmd.Program.Seen}, cmd.Also...) {
		if !s.still() {
			return nil, &StartError{StageChanged, s.Path, errChanged}
		}
	}
	run := exec.Command(cmd.Program.Path)
	run.Args, run.Env, run.Dir = cmd.Argv, cmd.Env, cmd.Dir.Name()
	run.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var ours [3]*os.File
	var theirs [3]*os.File
	closeAll := func(files [3]*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return nil, &StartError{StageHost, "", err}
		}
		if ours[i], theirs[i] = r, w; i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	run.Stdin, run.Stdout, run.Stderr = theirs[0], theirs[1], theirs[2]
	began := e.clock()
	err := run.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, &StartError{StageExec, cmd.Program.Path, err}
	}
	g := &group{pid: run.Process.Pid, limits: cmd.Limits, stop: make(chan byte, 2)}
	c := &Child{
		pid: g.pid, stdin: ours[0], stdout: ours[1], stderr: ours[2],
		say: g.say, gone: make(chan struct{}), done: make(chan struct{}),
	}
	leader := make(chan error, 1)
	go func() { leader <- run.Wait() }() // ends with the leader
	go func() {                          // ends with the group, or its bounds
		c.ended = g.watch(leader, run)
		c.ended.Took = e.clock().Sub(began)
		close(c.gone)
	}()
	return c, nil
}

// group is a running process group.
type group struct {
	pid    int
	limits Limits
	stop   chan byte
	once   sync.Map
}

func (g *group) say(word byte) {
	if _, said := g.once.LoadOrStore(word, true); !said {
		g.stop <- word
	}
}

func (g *group) watch(leader <-chan error, run *exec.Cmd) (end Ended) {
	signal := func(s syscall.Signal) { _ = syscall.Kill(-g.pid, s) }
	var wait <-chan time.Time
	kill := false
	for {
		select {
		case <-leader:
			leader = nil
			end.Exited, end.Code = true, run.ProcessState.ExitCode()
			if s, ok := run.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
				end.Code, end.Signal = 0, s.Signal().String()
			}
			end.CPU = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
			end.Clean = g.emptied()
			return end
		case word := <-g.stop:
			if word == sayKill {
				signal(syscall.SIGKILL)
				kill = true
			} else if !kill {
				signal(syscall.SIGTERM)
				wait = time.After(g.limits.Grace)
			}
		case <-wait:
			signal(syscall.SIGKILL)
		}
	}
}

// emptied ends what the leader left in its group, and reports whether the group is gone.
func (g *group) emptied() bool {
	for _, s := range []struct {
		signal syscall.Signal
		within time.Duration
	}{{0, g.limits.Linger}, {syscall.SIGTERM, g.limits.Grace}, {syscall.SIGKILL, g.limits.Cleanup}} {
		for left := s.within; left > 0; left -= 10 * time.Millisecond {
			if syscall.Kill(-g.pid, s.signal) == syscall.ESRCH {
				return true
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return false
}
