package provider

import "context"

// Model is a language model behind an adapter. Implementations are safe for
// concurrent use.
type Model interface {
	// Generate sends one request and returns the complete answer.
	//
	// events, which may be nil, is called on the calling goroutine, one event at a
	// time, never after Generate has returned. The request is copied before use and
	// the response is the caller's own.
	//
	// The error is always an [*Error]. Cancelling ctx closes the connection and
	// returns kind canceled, whose chain holds the context's error and cause; what
	// the vendor did with the request by then is unknown.
	Generate(ctx context.Context, req Request, events func(Event)) (Response, error)
	// Limits returns the normalised limits of the configured model.
	Limits() Limits
	// Name returns adapter/model, e.g. anthropic/claude-sonnet-5. It is for people.
	Name() string
}

// Caps bound what is read from a model. A value of 0 means the default of
// [DefaultCaps]. Over a cap the call fails with kind too_large.
type Caps struct {
	ResponseBytes int // text, arguments and opaque data of one response together
	ArgumentBytes int // argument text of one tool call
	ToolCalls     int // tool calls of one response
	WireBytes     int // bytes read from the connection, framing included
	FrameBytes    int // bytes of one line of the stream
}

// DefaultCaps returns the caps used where a configuration names none. A
// response of 128,000 tokens is about half a megabyte of text and thirty of frames.
func DefaultCaps() Caps {
	return Caps{
		ResponseBytes: 4 << 20,
		ArgumentBytes: 1 << 20,
		ToolCalls:     64,
		WireBytes:     64 << 20,
		FrameBytes:    8 << 20,
	}
}

// WithDefaults returns c with every zero replaced by its default.
func (c Caps) WithDefaults() Caps {
	d := DefaultCaps()
	for _, f := range []struct{ have, def *int }{
		{&c.ResponseBytes, &d.ResponseBytes},
		{&c.ArgumentBytes, &d.ArgumentBytes},
		{&c.ToolCalls, &d.ToolCalls},
		{&c.WireBytes, &d.WireBytes},
		{&c.FrameBytes, &d.FrameBytes},
	} {
		if *f.have == 0 {
			*f.have = *f.def
		}
	}
	return c
}
