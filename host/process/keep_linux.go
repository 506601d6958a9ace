package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runningProgram is this very program, also when its file was replaced meanwhile.
const runningProgram = "/proc/self/exe"

// Descriptors of a keeper. The program's must stay below those of its streams: what starts it moves descriptors to
// numbers behind the highest of the streams.
const (
	fdControl = 3 + iota
	fdReport
	fdProgram
	fdDir
	fdStdin
	fdStdout
	fdStderr
	fdEnd
)

// Keep is the whole life of a keeper. It returns the exit code of the process, after which nothing else may run in it.
func Keep() int {
	runtime.LockOSThread() // the death signal of the program is tied to the thread that starts it
	closeOnExec()
	k := &keeping{control: os.NewFile(fdControl, "control"), out: json.NewEncoder(os.NewFile(fdReport, "report"))}
	// What a terminal or a person sends to groups is not for the keeper. Ignored signals would be inherited, caught ones
	// are not.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGPIPE)
	if err := k.read(); err != nil {
		return k.fail(StageHost, "", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return k.fail(StageHost, "", fmt.Errorf("adopt orphans: %w", err))
	}
	// Nobody but root may look into the keeper's descriptors: a program could write its own report.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return k.fail(StageHost, "", fmt.Errorf("close this process to others: %w", err))
	}
	// A dump would hold the secrets of the program's environment. It inherits this: given to it once it runs, it would be late.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return k.fail(StageHost, "", fmt.Errorf("allow no dump: %w", err))
	}
	if code, ok := k.start(); !ok {
		return code
	}
	return k.watch()
}

// closeOnExec keeps every descriptor from the program, those too that the host was itself started with.
func closeOnExec() {
	if unix.CloseRange(fdControl, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	open, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= fdControl {
			syscall.CloseOnExec(fd)
		}
	}
	for fd := fdControl; err != nil && fd < 1024; fd++ {
		syscall.CloseOnExec(fd)
	}
}

// keeping is one program being kept.
type keeping struct {
	control *os.File
	out     *json.Encoder
	order   order
	pid     int

	mu   sync.Mutex // held while a child is waited for, and while children are signalled
	gone bool       // the program itself was waited for
}

func (k *keeping) read() error {
	var size [4]byte
	if _, err := io.ReadFull(k.control, size[:]); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxOrder {
		return fmt.Errorf("the order has %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(k.control, text); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	return json.Unmarshal(text, &k.order)
}

func (k *keeping) fail(stage, path string, err error) int {
	var errno syscall.Errno
	_ = errors.As(err, &errno)
	_ = k.out.Encode(report{Failed: &failedReport{stage, path, int(errno), err.Error()}}) // a host that is gone hears nothing
	return 1
}

// start compares, then starts the program through the descriptor that was hashed. A script is started by its path,
// which was compared with that descriptor: its interpreter opens it again by name.
func (k *keeping) start() (code int, ok bool) {
	var st unix.Stat_t
	if err := unix.Fstat(fdProgram, &st); err != nil || !k.order.Program.is(&st) {
		return k.fail(StageChanged, k.order.Program.Path, errChanged), false
	}
	path := fmt.Sprintf("/proc/self/fd/%d", fdProgram)
	pinned := k.order.Also
	if k.order.ByPath {
		path, pinned = k.order.Program.Path, append([]Seen{k.order.Program}, pinned...)
	}
	for _, s := range pinned {
		if !s.still() {
			return k.fail(StageChanged, s.Path, errChanged), false
		}
	}
	if err := unix.Fchdir(fdDir); err != nil {
		return k.fail(StageHost, "", fmt.Errorf("enter the folder: %w", err)), false
	}
	pid, err := syscall.ForkExec(path, k.order.Argv, &syscall.ProcAttr{
		Env: k.order.Env, Files: []uintptr{fdStdin, fdStdout, fdStderr},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return k.fail(StageExec, k.order.Program.Path, err), false
	}
	k.pid = pid
	limit(pid, k.order)
	for fd := fdProgram; fd < fdEnd; fd++ {
		_ = unix.Close(fd) // the streams must end with the program
	}
	start, _ := startTime(pid)
	_ = k.out.Encode(report{Started: &startedReport{pid, start}})
	return 0, true
}

// limit bounds a program that has just started. It is a bound for accidents: what a program does in its first
// microseconds is not held to it.
func limit(pid int, o order) {
	set := func(what int, n int64) {
		if n > 0 {
			_ = unix.Prlimit(pid, what, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)}, nil) // it may be gone already
		}
	}
	set(unix.RLIMIT_CPU, o.CPU)
	set(unix.RLIMIT_AS, o.Memory)
	set(unix.RLIMIT_NOFILE, o.Files)
}

// death is a child that was waited for.
type death struct {
	pid    int
	status syscall.WaitStatus
	used   syscall.Rusage
}

// watch waits for the program and its descendants, and ends them when it is time. The channel of deaths is closed when
// the kernel says that there is no child left: with orphans adopted, that is the end of every descendant.
func (k *keeping) watch() int {
	deaths, words := make(chan death), make(chan byte)
	go k.reap(deaths)
	go listen(k.control, words)
	now := running
	timer := time.NewTimer(0)
	enter := func(s step, sig unix.Signal) {
		if sig != 0 {
			k.signal(sig)
		}
		now = s
		timer.Reset(s.lasts(k.order))
	}
	for patience := k.order.Cleanup; ; {
		select {
		case d, some := <-deaths:
			switch {
			case !some:
				_ = k.out.Encode(report{Done: &doneReport{}})
				return 0
			case d.pid == k.pid:
				_ = k.out.Encode(report{Exited: exited(d)})
				if now == running {
					enter(lingering, 0)
				}
			case now == killing:
				k.signal(unix.SIGKILL) // what has lost its parent is a child of this process now
			}
		case word, open := <-words:
			switch {
			case !open || word == sayKill: // or the host is gone
				enter(killing, unix.SIGKILL)
			case now < asking:
				enter(asking, unix.SIGTERM)
			}
			if !open {
				words = nil
			}
		case <-timer.C:
			switch now {
			case lingering:
				enter(asking, unix.SIGTERM)
			case asking:
				enter(killing, unix.SIGKILL)
			case killing:
				left := k.signal(unix.SIGKILL)
				if patience -= again; patience <= 0 {
					_ = k.out.Encode(report{Done: &doneReport{max(1, left)}})
					return 1
				}
				enter(killing, 0)
			}
		}
	}
}

// step is one stretch on the way to the end; they come in this order, and some are left out.
type step int

const (
	running   step = iota
	lingering      // the program is gone, and what it left may end by itself
	asking         // everything was told to end
	killing
)

// again is how often what will not die is looked for.
const again = 20 * time.Millisecond

func (s step) lasts(o order) time.Duration {
	switch s {
	case lingering:
		return o.Linger
	case asking:
		return o.Grace
	}
	return again
}

// listen passes the host's words on, and their end.
func listen(control *os.File, words chan<- byte) {
	defer close(words)
	var b [1]byte
	for {
		if _, err := control.Read(b[:]); err != nil {
			return
		}
		words <- b[0]
	}
}

// reap waits for every child, the adopted ones too. It first learns that there is a dead one and then takes it, so that
// none is taken while [keeping.signal] looks at them.
func (k *keeping) reap(deaths chan<- death) {
	defer close(deaths)
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil { // ECHILD: there is none left
			return
		}
		var d death
		k.mu.Lock()
		d.pid, err = syscall.Wait4(-1, &d.status, syscall.WNOHANG, &d.used)
		if err == nil && d.pid == k.pid {
			k.gone = true
		}
		k.mu.Unlock()
		if err == nil && d.pid > 0 {
			deaths <- d
		}
	}
}

func exited(d death) *exitedReport {
	e := &exitedReport{Peak: d.used.Maxrss << 10, CPU: time.Duration(d.used.Utime.Nano() + d.used.Stime.Nano())}
	if d.status.Signaled() {
		e.Signal = unix.SignalName(d.status.Signal())
	} else {
		e.Code = d.status.ExitStatus()
	}
	return e
}

// signal sends to every child and to the group that each is in, and returns how many there are. A child that was not
// waited for keeps its number, and its group's: no stranger can have either. Every group of a descendant lies in a
// session that a descendant began, since the program itself began one.
func (k *keeping) signal(sig unix.Signal) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.gone {
		_ = unix.Kill(-k.pid, sig)
	}
	own := unix.Getpid()
	n := 0
	for _, p := range processes() {
		if p.parent != own || p.state == 'Z' {
			continue
		}
		n++
		if p.group > 1 && p.group != own {
			_ = unix.Kill(-p.group, sig)
		}
		_ = unix.Kill(p.pid, sig)
		if sig == unix.SIGTERM {
			_ = unix.Kill(p.pid, unix.SIGCONT) // one that is stopped cannot answer
		}
	}
	return n
}
