package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/policy/command"
)

// Invoke is [effect.Adapter].
func (w *words) Invoke(ctx context.Context, call effect.Call) effect.Outcome {
	return w.invoke(ctx, call)
}

// Invoke is [effect.Adapter].
func (s *shell) Invoke(ctx context.Context, call effect.Call) effect.Outcome {
	return s.invoke(ctx, call)
}

// invoke runs what the plan holds open, once.
func (s *Source) invoke(ctx context.Context, call effect.Call) effect.Outcome {
	return s.invokeTo(ctx, call, io.Discard, io.Discard)
}

// invokeTo is invoke with writers that get what the program prints as well; they must take everything.
func (s *Source) invokeTo(ctx context.Context, call effect.Call, stdout, stderr io.Writer) effect.Outcome {
	failed := func(reason, detail string) effect.Outcome {
		return effect.Outcome{Status: effect.Failed, Reason: reason, Detail: detail}
	}
	args, err := read(call.Arguments)
	if err != nil || call.Plan == nil {
		return failed("not_planned", "the call came without its plan")
	}
	h, ok := call.Plan.Held.(*held)
	if !ok {
		return failed("not_planned", "the call came with another's plan")
	}
	if !s.unchanged(ctx, h) {
		return changed()
	}
	env, err := s.environ(call, args)
	if err != nil {
		return failed("secret_unavailable", err.Error())
	}
	if args.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(args.Timeout)*time.Millisecond)
		defer stop()
	}
	kept := s.keep(call)
	cmd := process.Command{
		Program: h.program, Argv: h.argv, Env: env, Dir: h.dir,
		Limits: process.Limits{CPU: s.rule.CPU, Memory: s.rule.Memory},
	}
	for _, f := range h.files {
		cmd.Also = append(cmd.Also, f.seen)
	}
	cmd.Also = append(cmd.Also, h.links...)
	end, err := s.cfg.Engine.Run(ctx, cmd, process.Streams{
		Stdin: []byte(args.Stdin), Stdout: io.MultiWriter(kept.stdout, stdout), Stderr: io.MultiWriter(kept.stderr, stderr), Broken: kept.broken,
	})
	broken := kept.close()
	out := effect.Outcome{Duration: end.Took, Stats: map[string]int64{
		"cpu_ms": end.CPU.Milliseconds(), "peak_bytes": end.PeakBytes, "stdout_bytes": kept.stdout.Total(), "stderr_bytes": kept.stderr.Total(),
	}}
	switch {
	case err != nil:
		return notStarted(ctx, err)
	case !end.Clean:
		out.Status, out.Reason = effect.Indeterminate, "cleanup_not_confirmed"
		out.Detail = fmt.Sprintf("it could not be confirmed that %s and everything it started is gone: look for it with ps", h.argv[0])
	case broken != nil:
		out.Status, out.Reason, out.Detail = effect.Failed, "output_not_kept", fmt.Sprintf("its output could not be kept, so it was stopped: %v", broken)
	case end.Stopped && errors.Is(ctx.Err(), context.DeadlineExceeded):
		out.Status = effect.TimedOut
	case end.Stopped:
		out.Status = effect.Cancelled
	default:
		out.Status = effect.Succeeded
		out.Result, err = json.Marshal(resultOf(end, kept))
		if err != nil {
			return failed("result_unwritable", err.Error())
		}
	}
	return out
}

func changed() effect.Outcome {
	return effect.Outcome{Status: effect.Denied, Reason: effect.ReasonOperandChanged, Detail: "what would run has changed since it was approved"}
}

// unchanged reads what the plan names again, where it may have changed.
func (s *Source) unchanged(ctx context.Context, h *held) bool {
	if !h.program.Unchanged(ctx, s.cfg.Digests) {
		return false
	}
	for _, f := range h.files {
		now, err := digest(ctx, s.cfg.Digests, f.seen.Path, maxOperand)
		if err != nil || now != f {
			return false
		}
	}
	return true
}

// environ is the whole environment of a program: what every one gets, what the core declares, what the call sets, and
// the secrets bound for it.
func (s *Source) environ(call effect.Call, args arguments) ([]string, error) {
	env := map[string]string{}
	for _, name := range append(command.Passed(), s.rule.Environment...) {
		if v, ok := s.cfg.Lookup(name); ok {
			env[name] = v
		}
	}
	p := planning{Source: s, call: call}
	env["PATH"] = strings.Join(p.folders(), ":")
	maps.Copy(env, args.Env)
	for name, secret := range args.Secrets {
		v, ok := call.Secrets.Value(secret)
		if !ok {
			return nil, fmt.Errorf("the secret %s was not bound for this call", secret)
		}
		if strings.ContainsRune(v, 0) {
			return nil, fmt.Errorf("the secret %s holds a NUL character, which no variable can", secret)
		}
		env[name] = v
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out, nil
}

// notStarted is the outcome of a program that did not run, or of which that is not known.
func notStarted(ctx context.Context, err error) effect.Outcome {
	var no *process.StartError
	switch {
	case errors.As(err, &no) && no.Stage == process.StageChanged:
		return changed()
	case errors.As(err, &no) && no.Stage == process.StageLost:
		return effect.Outcome{Status: effect.Indeterminate, Reason: "cleanup_not_confirmed", Detail: "what was to start the program ended without a word: " + no.Error()}
	case errors.As(err, &no) && no.Stage == process.StageExec:
		detail := fmt.Sprintf("the system would not run %s: %v", no.Path, no.Err)
		switch {
		case errors.Is(err, syscall.ENOEXEC):
			detail += ": it is made for another machine, or is a script without a first line such as #!/bin/sh"
		case errors.Is(err, syscall.ENOENT):
			detail += ": its interpreter or loader is missing"
		}
		return effect.Outcome{Status: effect.Failed, Reason: "not_started", Detail: detail}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return effect.Outcome{Status: effect.TimedOut}
	case ctx.Err() != nil:
		return effect.Outcome{Status: effect.Cancelled}
	}
	return effect.Outcome{Status: effect.Failed, Reason: "not_started", Detail: err.Error()}
}
