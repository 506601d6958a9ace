package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep objects and arrays may nest.
const maxDepth = 64

// SyntaxError says that bytes are not a manifest.
type SyntaxError struct {
	Line, Column int // 1-based; 0 when the whole input is at fault
	Path         string
	Problem      string
}

// Error gives the place, the path when there is one, and the problem.
func (e *SyntaxError) Error() string {
	s := "manifest: "
	if e.Line > 0 {
		s += fmt.Sprintf("line %d column %d: ", e.Line, e.Column)
	}
	if e.Path != "" {
		s += e.Path + ": "
	}
	return s + e.Problem
}

// decodeStrict reads one JSON value of at most limit bytes into v. Beyond what
// encoding/json refuses it refuses bytes that are not UTF-8, deep nesting, an
// object with the same member twice, and a member whose name differs in case
// from the one v has (encoding/json would take it).
func decodeStrict(data []byte, limit int, v any) error {
	if len(data) > limit {
		return &SyntaxError{Problem: fmt.Sprintf("%d bytes, at most %d are allowed", len(data), limit)}
	}
	if !utf8.Valid(data) {
		return &SyntaxError{Problem: "not UTF-8"}
	}
	s := scanner{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	s.dec.UseNumber()
	if err := s.value(shapeOf(reflect.TypeOf(v)), "", 0); err != nil {
		return s.place(err)
	}
	if _, err := s.dec.Token(); !errors.Is(err, io.EOF) {
		return s.place(&SyntaxError{Problem: "something follows the value"})
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return decodeFault(data, dec, err)
	}
	return nil
}

// scanner walks the tokens once, before anything is built from them.
type scanner struct {
	data []byte
	dec  *json.Decoder
}

// shape is what a path may contain: the type to expect, or nil for anything.
type shape struct{ t reflect.Type }

func shapeOf(t reflect.Type) shape {
	for t != nil && (t.Kind() == reflect.Pointer) {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return shape{}
	}
	return shape{t}
}

// member finds the shape of one member by its exact name.
func (s shape) member(name string) (shape, bool) {
	if s.t == nil || s.t.Kind() != reflect.Struct {
		return shape{}, true
	}
	for f := range s.t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return shapeOf(f.Type), true
		}
	}
	return shape{}, false
}

func (s shape) element() shape {
	if s.t == nil || s.t.Kind() != reflect.Slice {
		return shape{}
	}
	return shapeOf(s.t.Elem())
}

func (s *scanner) value(sh shape, path string, depth int) error {
	tok, err := s.dec.Token()
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return &SyntaxError{Path: path, Problem: fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	switch tok {
	case json.Delim('{'):
		err = s.object(sh, path, depth)
	case json.Delim('['):
		for i := 0; err == nil && s.dec.More(); i++ {
			err = s.value(sh.element(), fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
	default:
		if tok == nil && sh.t != nil {
			return &SyntaxError{Path: path, Problem: "null is not allowed here"}
		}
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.dec.Token() // the closing bracket, which More has seen
	return err
}

func (s *scanner) object(sh shape, path string, depth int) error {
	seen := map[string]bool{}
	for s.dec.More() {
		tok, err := s.dec.Token()
		if err != nil {
			return err
		}
		name, ok := tok.(string)
		if !ok {
			return &SyntaxError{Path: path, Problem: "member name is not a string"}
		}
		at := join(path, name)
		if seen[name] {
			return &SyntaxError{Path: at, Problem: "given twice"}
		}
		seen[name] = true
		next, known := sh.member(name)
		if !known {
			return &SyntaxError{Path: at, Problem: "unknown member"}
		}
		if err := s.value(next, at, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// place adds line and column of where the scanner stands.
func (s *scanner) place(err error) error {
	var se *SyntaxError
	offset := s.dec.InputOffset()
	if !errors.As(err, &se) {
		se = &SyntaxError{Problem: plain(err)}
		var js *json.SyntaxError
		if errors.As(err, &js) {
			offset = js.Offset
		}
	}
	se.Line, se.Column = lineColumn(s.data, offset)
	return se
}

// decodeFault turns an error of encoding/json into ours.
func decodeFault(data []byte, dec *json.Decoder, err error) error {
	se := &SyntaxError{Problem: plain(err)}
	offset := dec.InputOffset()
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		se.Path, se.Problem, offset = te.Field, "a "+te.Value+" does not fit here", te.Offset
	}
	se.Line, se.Column = lineColumn(data, offset)
	return se
}

func plain(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "ends too early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func lineColumn(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset, 0), int64(len(data)))]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, len(before) - bytes.LastIndexByte(before, '\n')
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
