package crash

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopsEnv is the number of the system call before which the kernel stops a child each time, until the parent lets it go on
// (seccomp's user notification). strace can do the same, but to kill a child it stops it at every system call that it makes,
// which takes longer than all else, and it counts the calls of each thread by itself. [TestStraceStopsAtTheSameCalls] holds
// both to each other.
const stopsEnv = "PORTCULLIS_CRASH_STOPS"

// stop is what befalls a child at its n-th call of this kind, in all of its threads together.
type stop struct {
	call string
	n    int
	err  syscall.Errno // what the call comes to instead of being made; 0 kills the process before it is made
	each func(n int)   // is called as the process stands before its n-th
}

func (s stop) String() string {
	if s.err == 0 {
		return fmt.Sprintf("%s %d", s.call, s.n)
	}
	return fmt.Sprintf("%s %s %d", s.call, unix.ErrnoName(s.err), s.n)
}

// number is how the kernel calls it.
func (s stop) number() (int, error) {
	all := map[string]int{
		"pwrite64": unix.SYS_PWRITE64, "write": unix.SYS_WRITE, "copy_file_range": unix.SYS_COPY_FILE_RANGE, "fsync": unix.SYS_FSYNC,
		"fdatasync": unix.SYS_FDATASYNC, "ftruncate": unix.SYS_FTRUNCATE, "linkat": unix.SYS_LINKAT, "unlinkat": unix.SYS_UNLINKAT,
		"unlink": unix.SYS_UNLINKAT, // there is nothing else but on amd64
	}
	if runtime.GOARCH == "amd64" {
		all["unlink"] = 87
	}
	n, ok := all[s.call]
	if !ok {
		return 0, fmt.Errorf("%s has no number", s.call)
	}
	return n, nil
}

// beStopped has the kernel ask before each call of the given number, in every thread, and hands over what it asks by at the
// child's third descriptor, a socket. Nothing is asked when no number is given.
func beStopped(text string) error {
	if text == "" {
		return nil
	}
	call, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(call)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	asks, _, no := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_TSYNC|unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH, uintptr(unsafe.Pointer(&program)))
	if no != 0 {
		return fmt.Errorf("seccomp: %w", no)
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(asks)), nil, 0); err != nil {
		return err
	}
	return errors.Join(unix.Close(int(asks)), unix.Close(3))
}

// errNotStopped is that the kernel would not stop a child, so that it did nothing.
var errNotStopped = errors.New("the child cannot be stopped at system calls")

// runStopped runs the child over path until at befalls it. hit says whether it did. The error is errNotStopped where the
// kernel cannot do that.
func runStopped(t *testing.T, path, exe string, env []string, at stop) (e ending, hit bool, err error) {
	t.Helper()
	number, err := at.number()
	if err != nil {
		return e, false, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return e, false, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	// A signal of the scheduler's would have a call ask twice.
	env = append(slices.Clone(env), stopsEnv+"="+strconv.Itoa(number), "GODEBUG=asyncpreemptoff=1")
	e = runBeside(t, path, exe, env, func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{theirs} }, func(cmd *exec.Cmd) {
		if err = theirs.Close(); err == nil {
			hit, err = answer(pair[0], at, cmd.Process.Kill)
		}
	})
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, e.stderr)
	}
	return e, hit, err
}

// answer lets the process on the other side of a socket go on at each call it asks about but at its at.n-th.
func answer(socket int, at stop, kill func() error) (hit bool, err error) {
	asks, err := received(socket)
	if err != nil {
		return false, err
	}
	defer unix.Close(asks)
	for made := 0; ; {
		q := question{}
		poll := []unix.PollFd{{Fd: int32(asks), Events: unix.POLLIN}}
		switch _, err := unix.Poll(poll, -1); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return hit, err
		case poll[0].Revents&unix.POLLIN == 0: // it has ended
			return hit, nil
		}
		switch err := control(asks, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&q)); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT): // its thread is gone, or asks again
			continue
		case err != nil:
			return hit, err
		}
		if at.each != nil {
			at.each(made + 1)
		}
		r := reply{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if made+1 == at.n {
			hit = true
			if at.err == 0 {
				if err := kill(); err != nil {
					return hit, err
				}
				made++
				continue
			}
			r.flags, r.err = 0, -int32(at.err)
		}
		switch err := control(asks, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); {
		case err == nil:
			made++
		case !errors.Is(err, unix.ENOENT):
			return hit, err
		}
	}
}

// question and reply are seccomp_notif and seccomp_notif_resp of linux/seccomp.h.
type question struct {
	id         uint64
	pid, flags uint32
	call, arch uint32
	at         uint64
	args       [6]uint64
}

type reply struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

func control(fd int, request uintptr, with unsafe.Pointer) error {
	if _, _, no := syscall.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(with)); no != 0 {
		return no
	}
	return nil
}

// received is the descriptor that the other side of a socket hands over.
func received(socket int) (int, error) {
	one, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, more, _, _, err := unix.Recvmsg(socket, one, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, errNotStopped
	}
	messages, err := unix.ParseSocketControlMessage(rights[:more])
	if err != nil {
		return 0, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}
