package sandbox

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// valuesReady checks the port and the keys of one request.
func (s *Session) valuesReady(keys ...string) *wire.Fault {
	if s.opt.KV == nil {
		return faultf(wire.CodeUnavailable, "this host keeps no values")
	}
	for _, k := range keys {
		if len(k) > wire.MaxKVKey || !utf8.ValidString(k) {
			return faultf(wire.CodeInvalid, "a key is longer than %d bytes or not UTF-8", wire.MaxKVKey)
		}
	}
	return nil
}

func (s *Session) keyReady(key string) *wire.Fault {
	if key == "" {
		return faultf(wire.CodeInvalid, "the key is empty")
	}
	return s.valuesReady(key)
}

// storeFault is the answer when the port could not do its job. Its words stay
// in the host.
func storeFault(ctx context.Context, err error) *wire.Fault {
	var over *KVOverError
	if errors.As(err, &over) {
		return faultf(wire.CodeUnavailable, "the turn of this call is over")
	}
	if ctx.Err() != nil {
		return faultf(wire.CodeTimeout, "the store did not answer in time")
	}
	return faultf(wire.CodeIO, "the store did not answer")
}

func (s *Session) valueGet(ctx context.Context, req wire.KVGetRequest, _ []byte) (any, []byte, *wire.Fault) {
	if f := s.keyReady(req.Key); f != nil {
		return nil, nil, f
	}
	value, version, err := s.opt.KV.Get(ctx, s.opt.Scope, req.Key)
	switch {
	case err != nil:
		return nil, nil, storeFault(ctx, err)
	case version == 0:
		return nil, nil, faultf(wire.CodeNotFound, "there is no key %q", req.Key)
	case len(value) > wire.MaxKVValue:
		return nil, nil, faultf(wire.CodeTooLarge, "the value of %q is too large", req.Key)
	}
	if f := s.spendValue(len(value)); f != nil {
		return nil, nil, f
	}
	return wire.KVGetReply{Version: version}, value, nil
}

func (s *Session) valueSet(ctx context.Context, req wire.KVSetRequest, body []byte) (any, []byte, *wire.Fault) {
	if f := s.keyReady(req.Key); f != nil {
		return nil, nil, f
	}
	if len(body) > wire.MaxKVValue {
		return nil, nil, faultf(wire.CodeTooLarge, "a value has at most %d bytes", wire.MaxKVValue)
	}
	if f := s.spendValue(len(body)); f != nil {
		return nil, nil, f
	}
	version, ok, err := s.opt.KV.Set(ctx, s.opt.Scope, req.Key, body, req.IfVersion)
	var full *KVLimitError
	switch {
	case errors.As(err, &full):
		return nil, nil, faultf(wire.CodeTooLarge, "this plugin keeps at most %d %s", full.Limit, full.What)
	case err != nil:
		return nil, nil, storeFault(ctx, err)
	case !ok:
		return nil, nil, faultf(wire.CodeConflict, "the key %q has another version", req.Key)
	}
	return wire.KVSetReply{Version: version}, nil, nil
}

// spendValue counts the bytes of values that a call moves: a store that is full
// can still be written to again and again.
func (s *Session) spendValue(n int) *wire.Fault {
	if s.kvBytes+int64(n) > maxKVBytes {
		return faultf(wire.CodeTooLarge, "this call may read and write %d bytes of values", maxKVBytes)
	}
	s.kvBytes += int64(n)
	return nil
}

func (s *Session) valueDelete(ctx context.Context, req wire.KVDeleteRequest, _ []byte) (any, []byte, *wire.Fault) {
	if f := s.keyReady(req.Key); f != nil {
		return nil, nil, f
	}
	ok, err := s.opt.KV.Delete(ctx, s.opt.Scope, req.Key, req.IfVersion)
	switch {
	case err != nil:
		return nil, nil, storeFault(ctx, err)
	case !ok:
		return nil, nil, faultf(wire.CodeConflict, "the key %q has another version", req.Key)
	}
	return wire.Ack{}, nil, nil
}

func (s *Session) valueList(ctx context.Context, req wire.KVListRequest, _ []byte) (any, []byte, *wire.Fault) {
	if f := s.valuesReady(req.Prefix, req.After); f != nil {
		return nil, nil, f
	}
	limit, f := pageLimit(req.Limit)
	if f != nil {
		return nil, nil, f
	}
	entries, more, err := s.opt.KV.List(ctx, s.opt.Scope, req.Prefix, req.After, limit)
	if err != nil {
		return nil, nil, storeFault(ctx, err)
	}
	kept := fitPage(entries)
	return wire.KVListReply{Entries: entries[:kept], More: more || kept < len(entries)}, nil, nil
}

// pageLimit is the page size asked for, or a fault.
func pageLimit(asked int) (int, *wire.Fault) {
	if asked < 0 || asked > wire.MaxListEntries {
		return 0, faultf(wire.CodeInvalid, "a page has 1 to %d entries", wire.MaxListEntries)
	}
	if asked == 0 {
		return wire.MaxListEntries, nil
	}
	return asked, nil
}

// fitPage is how many entries fit into one reply header.
func fitPage[E any](entries []E) int {
	left := wire.MaxHeaderBytes - 64 // the members around the entries
	for i, e := range entries {
		if left -= len(plain(e)) + 1; left < 0 {
			return i
		}
	}
	return len(entries)
}
