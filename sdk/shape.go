package sdk

import (
	"errors"
	"reflect"
	"unsafe"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// shape is what was derived from one type, once, while the plugin is loaded.
type shape struct {
	json     []byte // the schema
	plan     *codec.Plan
	defaults []defaultValue
}

// defaultValue is the value of one field when the caller leaves it out.
type defaultValue struct {
	offset uintptr
	plan   *codec.Plan
	json   string
}

func deriveInput(t reflect.Type, x codec.Extra) (shape, codec.Faults) { return deriveObject(t, x) }

func deriveOutput(t reflect.Type, x codec.Extra) (shape, codec.Faults) {
	s, faults := deriveObject(t, x)
	if len(s.defaults) > 0 {
		faults = append(faults, "type "+t.String()+": a default has no meaning in a result")
	}
	return s, faults
}

// deriveObject derives the schema of a whole input or result: an object, since
// models and MCP clients exchange nothing else, or json.RawMessage, whose
// schema an option gives. It walks on after a fault, so that all are told.
func deriveObject(t reflect.Type, x codec.Extra) (shape, codec.Faults) {
	plan, err := codec.Build(t, x)
	faults, _ := errors.AsType[codec.Faults](err)
	var d deriver
	s := d.derive(plan, 0)
	switch plan.Kind {
	case codec.RawText:
		s.types = []string{"object"}
	case codec.Struct, codec.Object, 0:
	default:
		faults = append(faults, "type "+t.String()+" is not a struct or a map with string keys: put it into a struct")
	}
	return shape{json: s.append(nil), plan: plan, defaults: d.defaults}, append(faults, d.faults...)
}

// setDefaults puts the defaults into the value at v. A call starts from a copy
// of it, so that what the caller gave wins.
func (s shape) setDefaults(v unsafe.Pointer) error {
	for _, d := range s.defaults {
		if err := d.plan.Decode(d.json, unsafe.Add(v, d.offset)); err != nil {
			return err
		}
	}
	return nil
}

// decode reads arguments over what is at v. Unknown members are refused even
// though the host has looked.
func (s shape) decode(args string, v unsafe.Pointer) error {
	if len(args) > wire.MaxCallBytes {
		return Errorf(Invalid, "the arguments have %d bytes, at most %d are allowed", len(args), wire.MaxCallBytes)
	}
	if err := s.plan.Decode(args, v); err != nil {
		return Errorf(Invalid, "the arguments do not fit: %v", err)
	}
	return nil
}

// encode appends a result. A nil slice or map is written empty, since the schema
// says array or object and not null.
func (s shape) encode(dst []byte, v unsafe.Pointer) ([]byte, error) {
	out, err := s.plan.Append(dst, v)
	if err != nil {
		return nil, Errorf(Failed, "the result cannot be encoded: %v", err)
	}
	return out, nil
}
