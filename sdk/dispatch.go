package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Invoke turns the input of the export portcullis_invoke into its output. An
// error means that the input is no call at all; every other "no" is a fault in
// the reply. Tests run handlers through this same function.
func (p *Program) Invoke(ctx context.Context, input []byte, h Host) ([]byte, error) {
	if p.refused != nil {
		return nil, p.refused
	}
	var call wire.Call
	if err := wire.Decode(input, wire.MaxCallBytes, &call); err != nil {
		return nil, err
	}
	var reply wire.Reply
	result, err := p.call(ctx, call, h)
	if err != nil {
		reply.Fault = faultOf(err)
	} else {
		reply.Result = result
	}
	out, err := json.Marshal(reply)
	if err != nil {
		return nil, fmt.Errorf("sdk: encode reply of %s: %w", call.Tool, err)
	}
	if len(out) > wire.MaxReplyBytes {
		f := faultOf(Errorf(TooLarge, "the result of %s has %d bytes, at most %d are allowed", call.Tool, len(out), wire.MaxReplyBytes))
		return json.Marshal(wire.Reply{Fault: f})
	}
	return out, nil
}

func (p *Program) call(ctx context.Context, call wire.Call, h Host) ([]byte, error) {
	t, ok := p.tools[call.Tool]
	if !ok {
		return nil, Errorf(NotFound, "plugin %s has no tool %q", p.desc.ID, call.Tool)
	}
	return t.run(withCallID(ctx, call.ID), call.Args, h)
}

type callIDKey struct{}

func withCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callIDKey{}, id)
}

// CallID is the id of the running call, the same when the host repeats it: the
// idempotency key to hand on to a service that takes one.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callIDKey{}).(string)
	return id
}

// encodeResult encodes what a handler returned. A nil slice or map becomes an
// empty one, since the schema says array or object and not null.
func encodeResult(v reflect.Value) ([]byte, error) {
	fillNil(v)
	out, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, Errorf(Failed, "the result cannot be encoded: %v", err)
	}
	return out, nil
}

// fillNil walks what encoding/json would walk. v is addressable.
func fillNil(v reflect.Value) {
	if v.Type() == rawMessage || marshals(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fillNil(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				fillNil(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		fillElements(v)
	case reflect.Array:
		fillElements(v)
	case reflect.Map:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		fillValues(v)
	}
}

func fillElements(v reflect.Value) {
	if !holdsNil(v.Type().Elem()) {
		return
	}
	for i := range v.Len() {
		fillNil(v.Index(i))
	}
}

// fillValues replaces values one by one: a map's values are not addressable.
func fillValues(v reflect.Value) {
	if !holdsNil(v.Type().Elem()) {
		return
	}
	for _, k := range v.MapKeys() {
		e := reflect.New(v.Type().Elem()).Elem()
		e.Set(v.MapIndex(k))
		fillNil(e)
		v.SetMapIndex(k, e)
	}
}

// holdsNil is false for the element types that make up most results, so that a
// megabyte of numbers is not walked.
func holdsNil(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}
