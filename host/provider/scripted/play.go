package scripted

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// player carries out one step.
type player struct {
	ctx  context.Context // of this one call
	step step
	out  *provider.Assembler
}

func (p player) fail() error {
	f := p.step.failure
	if err := p.stream(f.after, p.out.Text); err != nil {
		return err
	}
	return &provider.Error{
		Kind: f.kind, Provider: string(provider.Scripted),
		Status: f.status, RetryAfter: f.retryAfter, Sentence: f.message,
	}
}

func (p player) answer(req provider.Request, firstCall int) (provider.Response, error) {
	for _, text := range []string{p.step.text, p.step.say} {
		if err := p.stream(text, p.out.Text); err != nil {
			return provider.Response{}, err
		}
	}
	for i, c := range p.step.calls {
		if err := p.call(req, i, firstCall+i+1, c); err != nil {
			return provider.Response{}, err
		}
	}
	usage := p.usage(req)
	if p.step.usage != nil {
		usage = *p.step.usage
	}
	p.out.Usage(usage)
	return p.out.Finish(p.step.finish), nil
}

// call makes one tool call. A tool that is not on offer is called all the same,
// as a model might: what happens then is the host's to show.
func (p player) call(req provider.Request, slot, ordinal int, c call) error {
	wire := provider.WireName(c.tool)
	if t, ok := find(req.Tools, c.tool); ok {
		wire = t.WireName
	}
	id := c.id
	if id == "" {
		id = fmt.Sprintf("call_%d", ordinal)
	}
	if err := p.out.StartCall(slot, id, wire); err != nil {
		return p.name(err)
	}
	return p.stream(c.args, func(s string) error { return p.out.CallDelta(slot, s) })
}

// stream hands text out in the step's number of pieces, as even as they come.
func (p player) stream(text string, to func(string) error) error {
	runes := []rune(text)
	pieces := min(p.step.chunks, len(runes))
	for i := range pieces {
		if p.ctx.Err() != nil {
			return provider.Canceled(p.ctx, string(provider.Scripted))
		}
		if err := to(string(runes[i*len(runes)/pieces : (i+1)*len(runes)/pieces])); err != nil {
			return p.name(err)
		}
	}
	return nil
}

// name puts the adapter's name on an error of the assembler.
func (p player) name(err error) error {
	if e, ok := err.(*provider.Error); ok {
		named := *e
		named.Provider = string(provider.Scripted)
		return &named
	}
	return err
}

// usage makes up plausible counts: a token for every four bytes, rounded up.
func (p player) usage(req provider.Request) provider.Usage {
	in, out := 0, len(p.step.text)+len(p.step.say)
	for _, piece := range everything(req) {
		in += len(piece.text)
	}
	for _, c := range p.step.calls {
		out += len(c.tool) + len(c.args)
	}
	return provider.Usage{Input: (in + 3) / 4, Output: (out + 3) / 4}
}
