package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	// startWait is how long a keeper may take to start its program.
	startWait = 30 * time.Second
	// margin is how much longer than its own bounds a keeper is waited for.
	margin = 5 * time.Second
	// maxPasses is how often a group without a keeper is looked through.
	maxPasses = 100
	// maxReports bounds what a keeper can say: four lines.
	maxReports = 64 << 10
)

func able(k Keeper) error {
	if k.Path == "" {
		return ErrNoKeeper
	}
	return nil
}

// spawn starts a keeper, gives it its order, and waits until its program runs.
func (e *Engine) spawn(cmd Command) (*Child, error) {
	if err := able(e.keeper); err != nil {
		return nil, err
	}
	host := func(what string, err error) error {
		return &StartError{StageHost, "", fmt.Errorf("%s: %w", what, err)}
	}
	text, err := json.Marshal(order{
		Program: cmd.Program.Seen, ByPath: cmd.Program.Script, Argv: cmd.Argv, Env: cmd.Env, Also: cmd.Also,
		CPU: int64((cmd.Limits.CPU + time.Second - 1) / time.Second), Memory: cmd.Limits.Memory, Files: cmd.Limits.Files,
		Linger: cmd.Limits.Linger, Grace: cmd.Limits.Grace, Cleanup: cmd.Limits.Cleanup,
	})
	if err != nil || len(text) > maxOrder {
		return nil, host("write the order", fmt.Errorf("%d bytes: %w", len(text), err))
	}
	p := &pipes{}
	defer p.closeTheirs()
	control, report, in, out, errs := p.toKeeper(), p.fromKeeper(), p.toKeeper(), p.fromKeeper(), p.fromKeeper()
	if p.err != nil {
		p.closeOurs()
		return nil, host("make pipes", p.err)
	}
	k := exec.Command(e.keeper.Path, e.keeper.Args...)
	k.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}
	k.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	k.ExtraFiles = []*os.File{control.theirs, report.theirs, cmd.Program.file, cmd.Dir, in.theirs, out.theirs, errs.theirs}
	began := e.clock()
	if err := k.Start(); err != nil {
		p.closeOurs()
		return nil, host("start the keeper", err)
	}
	p.closeTheirs()
	s := &supervision{
		keeper: k, control: control.ours, reports: json.NewDecoder(io.LimitReader(report.ours, maxReports)), pipe: report.ours,
		limits: cmd.Limits, clock: e.clock, began: began,
	}
	if err := s.begin(text); err != nil {
		p.closeOurs()
		return nil, err
	}
	c := &Child{
		pid: s.pid, stdin: in.ours, stdout: out.ours, stderr: errs.ours,
		say: s.say, gone: make(chan struct{}), done: make(chan struct{}),
	}
	go func() { // ends with the keeper, which is killed when it does not
		c.ended = s.watch()
		close(c.gone)
	}()
	return c, nil
}

// supervision is the host's side of one keeper.
type supervision struct {
	keeper  *exec.Cmd
	control *os.File
	reports *json.Decoder
	pipe    *os.File
	limits  Limits
	clock   func() time.Time
	began   time.Time
	pid     int
	start   uint64
}

// begin hands over the order and waits for the program to run. No context cuts that short: a start that was broken off
// would be one of which nobody knows.
func (s *supervision) begin(text []byte) error {
	fail := func(err error) error {
		_ = s.control.Close() // the keeper ends what it may have started, and itself
		_ = s.pipe.SetReadDeadline(time.Now().Add(s.limits.Cleanup + margin))
		_, _ = io.Copy(io.Discard, s.pipe)
		_ = s.keeper.Process.Kill()
		_ = s.keeper.Wait()
		_ = s.pipe.Close()
		return err
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(startWait))
	_ = s.pipe.SetReadDeadline(time.Now().Add(startWait))
	if _, err := s.control.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)); err != nil {
		return fail(&StartError{StageHost, "", fmt.Errorf("hand over the order: %w", err)})
	}
	var r report
	err := s.reports.Decode(&r)
	switch {
	case err != nil:
		return fail(&StartError{StageLost, "", fmt.Errorf("hear of the keeper: %w", err)})
	case r.Failed != nil:
		cause := errors.New(r.Failed.Text)
		if r.Failed.Errno != 0 {
			cause = syscall.Errno(r.Failed.Errno)
		}
		if r.Failed.Stage == StageChanged {
			cause = errChanged
		}
		return fail(&StartError{r.Failed.Stage, r.Failed.Path, cause})
	case r.Started == nil:
		return fail(&StartError{StageLost, "", errors.New("the keeper says nothing of a start")})
	}
	s.pid, s.start = r.Started.PID, r.Started.Start
	_ = s.control.SetWriteDeadline(time.Time{})
	_ = s.pipe.SetReadDeadline(time.Time{})
	return nil
}

// say gives the keeper one word and, from then on, so long to end as its bounds allow.
func (s *supervision) say(word byte) {
	_ = s.control.SetWriteDeadline(time.Now().Add(margin))
	_, _ = s.control.Write([]byte{word}) // a keeper that is gone has ended everything, or is found to be lost
	patience := s.limits.Cleanup + margin
	if word == sayStop {
		patience += s.limits.Grace
	}
	_ = s.pipe.SetReadDeadline(time.Now().Add(patience))
}

// watch hears the keeper out. One that ends without its last word, or says nothing in its time, is lost: what can still be
// found is killed, and nothing is certain.
func (s *supervision) watch() (end Ended) {
	defer func() {
		_ = s.control.Close()
		if !end.Clean {
			_ = s.keeper.Process.Kill()
		}
		_ = s.keeper.Wait()
		_ = s.pipe.Close()
		end.Took = s.clock().Sub(s.began)
	}()
	for {
		var r report
		if err := s.reports.Decode(&r); err != nil {
			for range maxPasses { // what was begun while one pass looked is found by the next
				if killGroup(s.pid, s.start) == 0 {
					break
				}
			}
			end.Left = max(1, end.Left)
			return end
		}
		switch {
		case r.Exited != nil:
			end.Exited, end.Code, end.Signal, end.CPU, end.PeakBytes = true, r.Exited.Code, r.Exited.Signal, r.Exited.CPU, r.Exited.Peak
			_ = s.pipe.SetReadDeadline(time.Now().Add(s.limits.Linger + s.limits.Grace + s.limits.Cleanup + margin))
		case r.Done != nil:
			end.Clean, end.Left = r.Done.Left == 0 && end.Exited, r.Done.Left
			return end
		}
	}
}

// pipes are the pipes of one start.
type pipes struct {
	all []pipe
	err error
}

type pipe struct{ ours, theirs *os.File }

func (p *pipes) make(toKeeper bool) pipe {
	if p.err != nil {
		return pipe{}
	}
	var r, w *os.File
	if r, w, p.err = os.Pipe(); p.err != nil {
		return pipe{}
	}
	one := pipe{r, w}
	if toKeeper {
		one = pipe{w, r}
	}
	p.all = append(p.all, one)
	return one
}

func (p *pipes) toKeeper() pipe   { return p.make(true) }
func (p *pipes) fromKeeper() pipe { return p.make(false) }

func (p *pipes) closeTheirs() {
	for _, one := range p.all {
		_ = one.theirs.Close()
	}
}

func (p *pipes) closeOurs() {
	for _, one := range p.all {
		_ = one.ours.Close()
	}
}
