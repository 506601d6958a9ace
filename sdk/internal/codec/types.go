package codec

import "reflect"

// The interfaces of encoding/json and encoding that say "I encode myself",
// without the packages.
type (
	jsonMarshaler   interface{ MarshalJSON() ([]byte, error) }
	jsonUnmarshaler interface{ UnmarshalJSON([]byte) error }
	textMarshaler   interface{ MarshalText() ([]byte, error) }
	textUnmarshaler interface{ UnmarshalText([]byte) error }
	zeroer          interface{ IsZero() bool }
)

// IsRaw reports a type of JSON text: [Raw], or json.RawMessage, which a guest
// that uses it brings along itself.
func IsRaw(t reflect.Type) bool {
	return t == reflect.TypeFor[Raw]() || named(t, "encoding/json", "RawMessage") || named(t, "encoding/json/jsontext", "Value")
}

// IsNumber reports json.Number.
func IsNumber(t reflect.Type) bool { return named(t, "encoding/json", "Number") }

func named(t reflect.Type, pkg, name string) bool { return t.Name() == name && t.PkgPath() == pkg }

// EncodesJSON reports a type that writes or reads its own JSON.
func EncodesJSON(t reflect.Type) bool {
	return has(t, reflect.TypeFor[jsonMarshaler]()) || has(t, reflect.TypeFor[jsonUnmarshaler]())
}

// EncodesText reports a type that writes or reads itself as text.
func EncodesText(t reflect.Type) bool {
	return has(t, reflect.TypeFor[textMarshaler]()) || has(t, reflect.TypeFor[textUnmarshaler]())
}

func hasIsZero(t reflect.Type) bool { return has(t, reflect.TypeFor[zeroer]()) }

// has reports methods of t or of a pointer to it. A type without a name has
// none, unless it embeds one that has.
func has(t, methods reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t.Name() == "" && t.Kind() != reflect.Struct {
		return false
	}
	return reflect.PointerTo(t).Implements(methods)
}
