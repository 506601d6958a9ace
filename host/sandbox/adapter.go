package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/go-json-experiment/json/jsontext"
)

// Ports are what a plugin's calls act on, beside the workspace that the turn
// brings.
type Ports struct {
	KV KV // nil: the plugin keeps nothing
	// HTTP makes the network of one call, under the rules of that call, and
	// what ends it; nil: no network. It is asked only when the call may fetch.
	HTTP func(call effect.Call) (HTTPDoer, func(), error)
	// Sign is what one call may have signed; nil: nothing. It is asked only when the call may.
	Sign func(call effect.Call) Signer
}

// Adapter runs a plugin's tools for the gate. It implements [effect.Adapter]
// and is safe for concurrent use.
type Adapter struct {
	plugin *Plugin
	ports  Ports
}

// NewAdapter joins a loaded plugin with its ports.
func NewAdapter(p *Plugin, ports Ports) *Adapter { return &Adapter{p, ports} }

// Invoke encodes the call, runs it once, and holds the answer to the contract;
// the gate holds it to the tool's schema. A call may do what all four allow: the
// operator's grant at load, the grants of the call, the core's capabilities, and
// what the tool itself says it needs.
func (a *Adapter) Invoke(ctx context.Context, call effect.Call) effect.Outcome {
	out, refused := a.enter(ctx, wire.ExportInvoke, call)
	if refused != nil {
		return *refused
	}
	ended := a.read(call, out)
	ended.Logs, ended.Duration, ended.Stats = logsOf(out), out.Stats.Duration, out.Stats.Map()
	ended.Unanswered, ended.Changed = out.Unanswered, out.Changed
	return ended
}

// logsOf is what a guest logged, and the stack that it left.
func logsOf(out Outcome) []wire.LogRecord {
	logs := out.Logs
	if _, stack := said(out); stack != "" {
		logs = append(logs, wire.LogRecord{Level: "debug", Message: stack})
	}
	return logs
}

// enter runs one export of the tool's plugin with the call as its input. What is refused never came to the guest.
func (a *Adapter) enter(ctx context.Context, export string, call effect.Call) (Outcome, *effect.Outcome) {
	no := func(reason, detail string) (Outcome, *effect.Outcome) {
		refused := failed(reason, detail)
		return Outcome{}, &refused
	}
	var tool wire.Tool
	known := false
	if m := a.plugin.Manifest(); m != nil {
		tool, known = m.Tool(call.Tool)
	}
	if !known {
		return no("unknown_tool", "plugin "+a.plugin.Name()+" has no tool "+printable(call.Tool))
	}
	opt := CallOptions{
		OutputLimit: replyLimit(call.Output),
		Abilities:   abilitiesOf(call, tool),
		KV:          a.ports.KV,
		Scope:       KVScope{Plugin: a.plugin.Name(), Principal: call.Turn.Principal().PrincipalID(), Turn: call.Turn.ID()},
		Progress:    call.Progress,
		Redactor:    call.Redactor,
	}
	if call.Looks {
		opt.Abilities &^= MayWriteFiles
		if opt.KV != nil {
			opt.KV = lookingKV{opt.KV}
		}
	}
	if !call.Deadline.IsZero() {
		if opt.Timeout = call.Deadline.Sub(a.plugin.engine.cfg.Clock()); opt.Timeout <= 0 {
			return Outcome{}, &effect.Outcome{Status: effect.TimedOut, Reason: "not_started"}
		}
	}
	if dir := call.Turn.Workspace(); dir != "" && opt.Abilities&(MayReadFiles|MayWriteFiles) != 0 {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return no("workspace", "the workspace cannot be opened: "+err.Error())
		}
		defer root.Close()
		opt.Workspace = root
	}
	if a.ports.HTTP != nil && opt.Abilities.Has(MayFetch) {
		doer, end, err := a.ports.HTTP(call)
		if err != nil {
			return no("network", "the network of the call cannot be made: "+err.Error())
		}
		defer end()
		opt.HTTP = doer
	}
	if a.ports.Sign != nil && opt.Abilities.Has(MaySign) {
		opt.Sign = a.ports.Sign(call)
	}
	input := a.plugin.engine.inputs.Get().(*[]byte)
	if err := encodeCall(input, call); err != nil {
		return no("arguments", err.Error())
	}
	out := a.plugin.Call(ctx, export, *input, opt)
	if !out.Abandoned { // then a guest may read it yet
		a.plugin.engine.inputs.Put(input)
	}
	return out, nil
}

// replyOverhead is what a reply has around its result.
const replyOverhead = 1 << 10

// replyLimit leaves room around a result, and for a fault where the result may
// only be small.
func replyLimit(result int) int64 {
	if result <= 0 {
		return 0
	}
	return max(int64(result)+replyOverhead, wire.MaxFaultMessage*6+replyOverhead)
}

func abilitiesOf(call effect.Call, tool wire.Tool) Abilities {
	return ToolAbilities(tool) & AbilitiesFrom(call.Grants.AllowsFamily) & AbilitiesFrom(call.Turn.Core().Capabilities.AllowsFamily)
}

// encodeCall writes a [wire.Call] around the arguments, whose bytes are the
// ones that were approved and are not written anew, over whatever in held.
func encodeCall(in *[]byte, call effect.Call) error {
	args := call.Read
	if args.Len() == 0 || !bytes.Equal(args.Bytes(), call.Arguments) { // what was not read by the gate is read here
		var err error
		if args, err = document.ParseStrict(call.Arguments); err != nil {
			return fmt.Errorf("arguments of %s are not strict JSON", call.Tool)
		}
	}
	if args.At(args.Root()).Kind != document.Object {
		return fmt.Errorf("arguments of %s are not one JSON object", call.Tool)
	}
	out := slices.Grow((*in)[:0], len(call.Arguments)+len(call.Effect)+len(call.Tool)+64)
	out, err := jsontext.AppendQuote(append(out, `{"id":`...), call.Effect)
	if err != nil {
		return fmt.Errorf("effect id: %w", err)
	}
	if out, err = jsontext.AppendQuote(append(out, `,"tool":`...), call.Tool); err != nil {
		return fmt.Errorf("tool name: %w", err)
	}
	out = append(append(out, `,"args":`...), call.Arguments...)
	*in = append(out, '}')
	return nil
}

// reply is [wire.Reply] as the host reads it: one of the two.
type reply struct {
	result document.Document
	fault  *wire.Fault
}

// decodeReply reads a guest's answer strictly and once: the result stays a part of what was read.
func decodeReply(r *document.Reader, data []byte) (reply, error) {
	if len(data) > wire.MaxReplyBytes {
		return reply{}, fmt.Errorf("reply has %d bytes, at most %d are allowed", len(data), wire.MaxReplyBytes)
	}
	read, err := r.ParseStrict(data)
	if err != nil {
		return reply{}, replyFault(data, err)
	}
	if i, ok := onlyMember(&read, "result"); ok {
		return reply{result: read.Part(i, 1)}, nil
	}
	var said wire.Reply
	if err := decodeStrict(data, wire.MaxReplyBytes, &said); err != nil {
		return reply{}, err
	}
	if err := said.Check(); err != nil {
		return reply{}, err
	}
	return reply{fault: said.Fault}, nil
}

// replyFault is the decoder's word on what is no strict JSON.
func replyFault(data []byte, err error) error {
	if why := decodeStrict(data, wire.MaxReplyBytes, &wire.Reply{}); why != nil {
		return why
	}
	return err
}

// onlyMember finds the value of an object's one member, when it has that name.
func onlyMember(d *document.Document, name string) (int32, bool) {
	root := d.Root()
	if t := d.At(root); t.Kind != document.Object || d.Empty(root) || d.At(root+2).Next != t.Next || string(d.Text(root+1)) != name {
		return 0, false
	}
	return root + 2, true
}

func failed(reason, detail string) effect.Outcome {
	return effect.Outcome{Status: effect.Failed, Reason: reason, Detail: detail}
}

// read turns a guest call's outcome into the effect's.
func (a *Adapter) read(call effect.Call, out Outcome) effect.Outcome {
	switch {
	case out.Abandoned || out.Status == HostFailure && out.Entered:
		return effect.Outcome{Status: effect.Indeterminate, Reason: string(out.Status), Detail: a.detail(out)}
	case out.Status == TimedOut:
		return effect.Outcome{Status: effect.TimedOut, Reason: "deadline", Detail: a.detail(out)}
	case out.Status == Cancelled:
		return effect.Outcome{Status: effect.Cancelled, Reason: "cancelled", Detail: a.detail(out)}
	case out.Status != OK:
		return failed(reasonOf(out.Status), a.detail(out))
	}
	r, err := decodeReply(call.Reader, out.Output)
	switch {
	case err != nil:
		return failed("bad_reply", fmt.Sprintf("plugin %s: bad reply to %s: %s", a.plugin.Name(), call.Tool, fit([]byte(err.Error()), 300, known(call.Redactor), redact.ForOperator)))
	case r.fault != nil:
		f := &wire.Fault{Code: r.fault.Code, Message: fit([]byte(r.fault.Message), maxFault, known(call.Redactor), redact.ForModel)}
		return effect.Outcome{Status: effect.Failed, Fault: f, Reason: "fault_" + string(f.Code)}
	}
	result := r.result.Bytes()
	if call.Output > 0 && len(result) > call.Output {
		return failed("output_too_large", fmt.Sprintf("plugin %s: the result of %s has %d bytes, at most %d are allowed", a.plugin.Name(), call.Tool, len(result), call.Output))
	}
	return effect.Outcome{Status: effect.Succeeded, Result: result, Read: r.result}
}

// reasonOf is the stable code of a failed guest call.
func reasonOf(s Status) string {
	switch s {
	case Trap:
		return "guest_trap"
	case Exited:
		return "guest_exited"
	}
	return string(s)
}

// detail is for the operator: how the guest ended, and its own words last.
func (a *Adapter) detail(out Outcome) string {
	d := fmt.Sprintf("plugin %s ended with %s", a.plugin.Name(), out.Status)
	if out.Reason != "" {
		d += " (" + out.Reason + ")"
	}
	if out.Stats.Duration > 0 {
		d += " after " + out.Stats.Duration.Round(time.Microsecond).String()
	}
	if words, _ := said(out); words != "" {
		d += "; it said: " + words
	}
	return d
}

// said splits what a guest said of its failure. Go writes the reason and then a stack for each goroutine, which is for
// whoever debugs it. Nothing else is split: what is redacted in two pieces hides no value that goes over both.
func said(out Outcome) (words, stack string) {
	const border = `\n\ngoroutine `
	if i := strings.Index(out.Text, border); i >= 0 && out.Status != GuestError {
		return out.Text[:i], out.Text[i+len(`\n`):]
	}
	return out.Text, ""
}

var _ effect.Adapter = (*Adapter)(nil)
