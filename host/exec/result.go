package exec

import (
	"errors"
	"io"
	"sync"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Bytes of each stream that a result shows.
const (
	headBytes = 6 << 10
	tailBytes = 18 << 10
)

const resultSchema = `{"type":"object","properties":{"exit_code":{"type":"integer"},"signal":{"type":"string"},"stdout":{"type":"string"},"stderr":{"type":"string"},` +
	`"stdout_bytes":{"type":"integer"},"stderr_bytes":{"type":"integer"},"kept":{"type":"array","items":{"type":"string"}}},` +
	`"required":["exit_code","stdout","stderr","stdout_bytes","stderr_bytes"],"additionalProperties":false}`

// result is what a program that ended came to. Signal is the one that ended it; then there is no exit code, and it says -1.
type result struct {
	Code        int      `json:"exit_code"`
	Signal      string   `json:"signal,omitempty"`
	Stdout      string   `json:"stdout"`
	Stderr      string   `json:"stderr"`
	StdoutBytes int64    `json:"stdout_bytes"`
	StderrBytes int64    `json:"stderr_bytes"`
	Kept        []string `json:"kept,omitempty"` // artifacts of the home with the whole of what was cut
}

func resultOf(end process.Ended, k *keeping) result {
	r := result{
		Code: end.Code, Signal: end.Signal, Stdout: k.stdout.text(), Stderr: k.stderr.text(),
		StdoutBytes: k.stdout.Total(), StderrBytes: k.stderr.Total(), Kept: k.names,
	}
	if r.Signal != "" {
		r.Code = -1
	}
	return r
}

// keeping holds the two streams of one call.
type keeping struct {
	stdout, stderr *watched
	broken         chan struct{}

	mu    sync.Mutex // guards what follows: the streams are written at the same time
	once  sync.Once  // of broken being closed
	names []string
	files []*spill
}

// watched is an output that tells when it cannot be kept. What is too long for a result is hidden before it is cut, and what is
// no text before it is made readable: the gate, which hides what is secret in every result, would not find a part of a value,
// nor one in UTF-16 whose zeros are gone.
type watched struct {
	*process.Output
	k     *keeping
	hide  *redact.Stream
	shown *process.Output // what hide lets through
}

// Write is [process.Output.Write].
func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Output.Write(p)
	_, _ = w.shown.Write(w.hide.Push(p)) // it never fails
	if w.Err() != nil {
		w.k.once.Do(func() { close(w.k.broken) })
	}
	return n, err
}

// text is what a result shows. As it was written, it is left to the gate, which hides in each view what that view may not show.
func (w *watched) text() string {
	if w.Exact() {
		return w.Text()
	}
	return w.shown.Text()
}

func (s *Source) keep(call effect.Call) *keeping {
	k := &keeping{broken: make(chan struct{})}
	stream := func(name string) *watched {
		return &watched{
			process.NewOutput(headBytes, tailBytes, func() (io.Writer, error) { return k.open(s.cfg.Artifacts, string(call.Effect)+"."+name, call.Redactor) }),
			k, redact.NewStream(call.Redactor(), redact.ForModel), process.NewOutput(headBytes, tailBytes, nil),
		}
	}
	k.stdout, k.stderr = stream("stdout"), stream("stderr")
	return k
}

func (k *keeping) open(in *process.Artifacts, name string, hidden func() redact.Set) (io.Writer, error) {
	file, err := in.Create(name)
	if err != nil {
		return nil, err
	}
	out := &spill{file: file}
	if set := hidden(); set.Len() > 0 {
		out.hide = redact.NewStream(set, redact.ForOperator)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names, k.files = append(k.names, name), append(k.files, out)
	return out, nil
}

// close ends the streams and the artifacts. The error says why one of them is not whole.
func (k *keeping) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range []*watched{k.stdout, k.stderr} {
		_, _ = w.shown.Write(w.hide.Flush())
	}
	errs := []error{k.stdout.Err(), k.stderr.Err()}
	for _, f := range k.files {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

// spill writes an artifact without what the turn hides: a program may come across a secret that it was not given.
type spill struct {
	file *process.Kept
	hide *redact.Stream // nil: there are none
}

// Write is [io.Writer].
func (s *spill) Write(p []byte) (int, error) {
	shown := p
	if s.hide != nil {
		shown = s.hide.Push(p)
	}
	if _, err := s.file.Write(shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *spill) close() error {
	var err error
	if s.hide != nil {
		_, err = s.file.Write(s.hide.Flush())
	}
	return errors.Join(err, s.file.Close())
}
