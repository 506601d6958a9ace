package codec

import (
	"reflect"
	"unsafe"
)

// MaxDepth bounds the nesting of what is read and written, as encoding/json does.
const MaxDepth = 10_000

// Raw is JSON text that is kept as it is: json.RawMessage without encoding/json.
type Raw []byte

// Kind is how the table treats a value.
type Kind uint8

// The kinds. The zero Kind is of a type with a fault, in a table that [Build]
// refuses.
const (
	Bool Kind = iota + 1
	Int
	Uint
	Float
	String
	Number // json.Number
	Bytes  // base64
	RawText
	Any
	Pointer
	Slice
	Array
	Object
	Struct
	Other // a Custom
)

// Plan is the table of one type. [Build] makes it; nobody changes it after.
type Plan struct {
	Kind   Kind
	Type   reflect.Type
	Elem   *Plan // of a Pointer, Slice, Array or Object
	Len    int   // of an Array
	Fields []Field
	size   uintptr // bytes of a value
	custom *Custom
	table  *Map
	extra  Extra // of the outermost one: for what an any in it holds
}

// Field is one member of a Struct. Members of embedded structs stand among those
// of the outer one, which is why an offset is enough.
type Field struct {
	Name   string
	Tag    reflect.StructTag
	Offset uintptr
	Plan   *Plan
	quoted string // "name": as it is written
	omit   omit
	in     reflect.Type // and its name in Go
	name   string
}

// Optional reports a member that may be left out.
func (f *Field) Optional() bool { return f.omit != 0 }

// omit says when a member is left out.
type omit uint8

const (
	omitEmpty omit = 1 << iota
	omitZero
)

// Format is the format of an Other's text.
func (p *Plan) Format() string { return p.custom.Format }

// Custom adds a type that the table does not know.
type Custom struct {
	Type reflect.Type
	// Append writes the value at p as JSON.
	Append func(dst []byte, p unsafe.Pointer) ([]byte, error)
	// Text sets the value at p from the content of a JSON string.
	Text func(p unsafe.Pointer, text string) error
	// Format is the word of JSON Schema for the text, or "".
	Format string
	// Zero reports the value that omitzero leaves out; nil when reflect decides.
	Zero func(p unsafe.Pointer) bool
}

// Extra is what a table may use beyond the kinds it knows.
type Extra struct {
	Customs []Custom
	Maps    []Map
}

func (x Extra) custom(t reflect.Type) *Custom {
	for i := range x.Customs {
		if x.Customs[i].Type == t {
			return &x.Customs[i]
		}
	}
	return nil
}

// Knows reports whether t itself, which encodes itself, is among the customs.
func (x Extra) Knows(t reflect.Type) bool { return x.custom(t) != nil }
