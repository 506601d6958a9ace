package sdk

import (
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

func deriveOutput(t reflect.Type, x codec.Extra) (*shape, codec.Faults) {
	s, faults := deriveObject(t, x)
	if len(s.defaults) > 0 {
		faults = append(faults, "type "+t.String()+": a default has no meaning in a result")
	}
	return s, faults
}

// deriveObject derives the schema of a whole input or result: an object, since
// models and MCP clients exchange nothing else, or json.RawMessage, whose
// schema an option gives. It walks on after a fault, so that all are told.
func deriveObject(t reflect.Type, x codec.Extra) (*shape, codec.Faults) {
	plan, err := codec.Build(t, x)
	faults, _ := err.(codec.Faults)
	var d deriver
	s := d.derive(plan, 0)
	switch plan.Kind {
	case codec.RawText:
		s.types = []string{"object"}
	case codec.Struct, codec.Object, 0:
	default:
		faults = append(faults, "type "+t.String()+" is not a struct or a map with string keys: put it into a struct")
	}
	return &shape{json: s.append(nil), plan: plan, defaults: d.defaults}, append(faults, d.faults...)
}

// decode reads arguments into what is at v, which is zero. Unknown members are
// refused even though the host has looked. Defaults, which are literals that fit,
// come first, so that what the caller gave wins.
func (s *shape) decode(args string, v unsafe.Pointer) error {
	if len(args) > wire.MaxCallBytes {
		return fault(Invalid, "the text of the arguments"+tooMany(len(args), wire.MaxCallBytes))
	}
	for _, d := range s.defaults {
		if err := d.plan.Decode(d.json, unsafe.Add(v, d.offset)); err != nil {
			return err
		}
	}
	if err := s.plan.Decode(args, v); err != nil {
		return fault(Invalid, "the arguments do not fit: "+err.Error())
	}
	return nil
}

// encode appends a result. A nil slice or map is written empty, since the schema
// says array or object and not null.
func (s *shape) encode(dst []byte, v unsafe.Pointer) ([]byte, error) {
	out, err := s.plan.Append(dst, v)
	if err != nil {
		return nil, fault(Failed, "the result cannot be encoded: "+err.Error())
	}
	return out, nil
}
