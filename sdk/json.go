package sdk

import (
	"errors"
	"reflect"
	"unsafe"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
)

// JSON reads and writes values of one type as a tool's arguments and results are
// read and written: for what a plugin keeps in [KV] or a file, without the 1.0 MB
// and the time of encoding/json. [JSONOf] makes it.
type JSON[T any] struct{ plan *codec.Plan }

// JSONOf makes the JSON of T, once, for a package variable. The types are those
// of a tool's In and Out, any of them at the top, and [Maps], [Times] and [Text]
// add to them. It panics for a type that has no JSON, as regexp.MustCompile does.
func JSONOf[T any](opts ...Option) JSON[T] {
	var t ToolSpec
	for _, o := range opts {
		o(&t)
	}
	plan, err := codec.Build(reflect.TypeFor[T](), t.extra)
	if err != nil {
		panic("sdk: JSONOf: " + err.Error())
	}
	return JSON[T]{plan}
}

// Encode writes v without white space; a nil slice or map is written empty. The
// error is a value that JSON does not have, such as NaN.
func (j JSON[T]) Encode(v T) ([]byte, error) {
	out, err := j.plan.Append(nil, unsafe.Pointer(&v))
	if err != nil {
		return nil, errors.New("sdk: encode: " + err.Error())
	}
	return out, nil
}

// Decode reads exactly one value. A member that T does not have or that comes
// twice is an error, as is text that is not UTF-8.
func (j JSON[T]) Decode(data []byte) (T, error) {
	var v T
	if err := j.plan.Decode(string(data), unsafe.Pointer(&v)); err != nil {
		return v, errors.New("sdk: decode: " + err.Error())
	}
	return v, nil
}
