package sdk

import (
	"errors"
	"reflect"
	"time"
	"unsafe"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
)

// The options below let In and Out of a tool have types that not every guest
// should carry the code of. Registration says which one is missing.

// Maps lets In and Out have maps with keys K and values V, at any depth and in
// what an any of Out holds. Maps of strings, booleans, 64-bit numbers (int among
// them) and any need no option.
func Maps[K ~string, V any]() Option {
	return func(t *ToolSpec) { t.extra.Maps = append(t.extra.Maps, codec.MapOf[K, V]()) }
}

// Times lets In and Out have time.Time, as RFC 3339 text. It adds 0.09 MB.
func Times() Option {
	return func(t *ToolSpec) {
		c := textType[time.Time]()
		c.Format = "date-time"
		c.Zero = func(p unsafe.Pointer) bool { return (*time.Time)(p).IsZero() }
		t.extra.Customs = append(t.extra.Customs, c)
	}
}

// Text lets In and Out have the type T, which has the methods of
// encoding.TextMarshaler and, for an input, encoding.TextUnmarshaler: in JSON it
// is a string.
func Text[T any]() Option {
	return func(t *ToolSpec) { t.extra.Customs = append(t.extra.Customs, textType[T]()) }
}

func textType[T any]() codec.Custom {
	return codec.Custom{
		Type: reflect.TypeFor[T](),
		Append: func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			m, ok := any((*T)(p)).(interface{ MarshalText() ([]byte, error) })
			if !ok {
				return dst, errors.New("type " + reflect.TypeFor[T]().String() + " has no method MarshalText")
			}
			text, err := m.MarshalText()
			if err != nil {
				return dst, err
			}
			return codec.AppendString(dst, string(text)), nil
		},
		Text: func(p unsafe.Pointer, text string) error {
			m, ok := any((*T)(p)).(interface{ UnmarshalText([]byte) error })
			if !ok {
				return errors.New("type " + reflect.TypeFor[T]().String() + " has no method UnmarshalText")
			}
			return m.UnmarshalText([]byte(text))
		},
	}
}
