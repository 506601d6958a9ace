// Package codec is the JSON of a guest: a table built once per Go type, and
// small functions that read and write values by it.
//
// It owns the shape a type has in JSON (field names, offsets, what may be left
// out) and the bytes in both directions. It exists because encoding/json is
// reflection at every value: in a guest that is fifteen times slower than
// outside and 1.5 MB more to load. Package reflect is used while a table is
// built and to allocate; it is never asked for a method, since a reachable
// reflect.Value.Interface or Set alone links 120 kB.
//
// Reading is strict, as the host's reader is: a name that is not in the type or
// comes twice is refused, letter case counts, text is valid UTF-8, a number fits
// or is refused, and nothing follows the value. [MaxDepth] bounds nesting; the
// caller bounds the bytes. Where encoding/json is lenient in a way that changes
// no value it is followed: null leaves a plain field as it is, and base64 may
// have line breaks in it. Writing gives what encoding/json gives, except that a
// nil slice or map is written empty, and < > & as they are.
//
// A type outside the table is refused when the table is built, never at a call
// (but for what an any holds), with all that is wrong with it: a [Custom] or a [MapOf] adds one, written by generics and not by reflection.
//
// Memory is only reached through typed pointers from reflect.New, so the
// collector sees all of it. Text that was read shares the input's memory. A
// [Plan] is immutable once built; any number of goroutines may use it, and there
// is nothing to survive a crash.
package codec
