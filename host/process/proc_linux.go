package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// proc is one process as the system lists it.
type proc struct {
	pid, parent, group, session int
	state                       byte
	start                       uint64 // ticks since boot
}

// processes lists what this process may see. One that ends while it is read is left out.
func processes() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := processOf(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// processOf reads one line of the system: "pid (name) state ppid pgrp session ... starttime". The name may hold anything.
func processOf(pid int) (proc, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, false
	}
	return parseStat(pid, text)
}

func parseStat(pid int, text []byte) (proc, bool) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return proc{}, false
	}
	const start = 19 // field 22 of proc_pid_stat(5), the name being field 2
	f := bytes.Fields(text[end+1:])
	if len(f) <= start || len(f[0]) != 1 {
		return proc{}, false
	}
	p := proc{pid: pid, state: f[0][0]}
	for i, to := range []*int{&p.parent, &p.group, &p.session} {
		n, err := strconv.Atoi(string(f[1+i]))
		if err != nil {
			return proc{}, false
		}
		*to = n
	}
	n, err := strconv.ParseUint(string(f[start]), 10, 64)
	p.start = n
	return p, err == nil
}

func startTime(pid int) (uint64, bool) {
	p, ok := processOf(pid)
	return p.start, ok
}

// killGroup kills what can still be found of a program whose keeper is gone: the members of the group and session that it
// began. A number that went to a stranger meanwhile has another start time, and then nothing is touched: while a group has
// members its number goes to nobody. It returns how many were signalled.
func killGroup(pid int, start uint64) (n int) {
	if pid <= 1 || start == 0 {
		return 0
	}
	if now, ok := startTime(pid); ok && now != start {
		return 0
	}
	for _, p := range processes() {
		if p.group == pid && p.session == pid && p.start >= start && p.state != 'Z' && killOne(p) {
			n++
		}
	}
	return n
}

// killOne kills a process if its number is still its own.
func killOne(p proc) bool {
	fd, err := unix.PidfdOpen(p.pid, 0) // holds the process while it is compared
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if now, ok := startTime(p.pid); !ok || now != p.start {
		return false
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}
