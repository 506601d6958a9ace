package sandbox

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/go-json-experiment/json"
)

// decodeStrict reads one JSON value of at most limit bytes. Unknown members,
// duplicate names, names that differ in case and bytes that are not UTF-8 are
// refused: what is checked must be what is used.
func decodeStrict(data []byte, limit int, v any) error {
	if len(data) > limit {
		return fmt.Errorf("message has %d bytes, at most %d are allowed", len(data), limit)
	}
	return json.Unmarshal(data, v, json.RejectUnknownMembers(true))
}

// framed makes an ability of a function over a decoded header and a body. What
// cannot be decoded is answered with the fault "invalid"; the words of the
// decoder stay here.
func framed[Req any](f func(s *Session, ctx context.Context, req Req, body []byte) (any, []byte, *wire.Fault)) func(*Session, context.Context, []byte) ([]byte, error) {
	return func(s *Session, ctx context.Context, in []byte) ([]byte, error) {
		req, body, err := decodeFrame[Req](in)
		if err != nil {
			return faultFrame(faultf(wire.CodeInvalid, "the request is not a frame with the header this function takes")), nil
		}
		header, reply, fault := f(s, ctx, req, body)
		if fault != nil {
			return faultFrame(fault), nil
		}
		return encodeFrame(header, reply), nil
	}
}

// decodeFrame splits a frame and decodes its header.
func decodeFrame[Req any](in []byte) (req Req, body []byte, err error) {
	header, body, err := wire.SplitFrame(in)
	if err != nil {
		return req, nil, err
	}
	return req, body, decodeStrict(header, wire.MaxHeaderBytes, &req)
}

// encodeFrame lays out a reply; one that is too large becomes a fault.
func encodeFrame(header any, body []byte) []byte {
	data, err := json.Marshal(header, json.Deterministic(true))
	if err == nil {
		var frame []byte
		if frame, err = wire.EncodeFrame(data, body); err == nil {
			return frame
		}
	}
	return faultFrame(faultf(wire.CodeTooLarge, "the answer does not fit into one reply"))
}

// faultFrame is the reply of every framed function that has nothing but a fault
// to say: all their reply headers have the member.
func faultFrame(f *wire.Fault) []byte {
	data, err := json.Marshal(wire.Ack{Fault: f})
	if err != nil {
		data = []byte(`{"fault":{"code":"failed","message":""}}`)
	}
	frame, err := wire.EncodeFrame(data, nil)
	if err != nil {
		return nil // never: a bounded message fits
	}
	return frame
}

// faultf makes a fault with a message in plain words. Guest text in args is
// escaped with the rest.
func faultf(code wire.Code, format string, args ...any) *wire.Fault {
	return &wire.Fault{Code: code, Message: escape(fmt.Appendf(nil, format, args...), maxFault)}
}

// maxFault is how many bytes of a fault's message are kept.
const maxFault = 1024
