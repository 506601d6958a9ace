package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// codec is what was derived from one type.
type codec struct {
	json     json.RawMessage // the schema
	defaults []defaultValue
}

// defaultValue is the value of one field when the caller leaves it out.
type defaultValue struct {
	index []int
	json  json.RawMessage
}

func deriveInput(t reflect.Type) (codec, error) {
	return deriveObject(t)
}

func deriveOutput(t reflect.Type) (codec, error) {
	c, err := deriveObject(t)
	if err == nil && len(c.defaults) > 0 {
		return c, fmt.Errorf("type %s: a default has no meaning in a result", t)
	}
	return c, err
}

// deriveObject derives the schema of a whole input or result: an object, since
// models and MCP clients exchange nothing else, or json.RawMessage, whose
// schema an option gives.
func deriveObject(t reflect.Type) (codec, error) {
	var d deriver
	s, err := d.derive(t)
	if err != nil {
		return codec{json: json.RawMessage("{}")}, err
	}
	if s.Type != "object" && t != rawMessage {
		return codec{json: json.RawMessage("{}")}, fmt.Errorf("type %s is not a struct or a map with string keys: put it into a struct", t)
	}
	if t == rawMessage {
		s.Type = "object"
	}
	raw, err := json.Marshal(s)
	return codec{json: raw, defaults: d.defaults}, err
}

// decode sets v, an In, from arguments: defaults first, so that what the caller
// gave wins. Unknown members are refused even though the host has looked.
func (c codec) decode(args []byte, v reflect.Value) error {
	for _, d := range c.defaults {
		if err := json.Unmarshal(d.json, v.FieldByIndex(d.index).Addr().Interface()); err != nil {
			return Errorf(Failed, "default of %s: %v", v.Type().FieldByIndex(d.index).Name, err)
		}
	}
	if err := wire.Decode(args, wire.MaxCallBytes, v.Addr().Interface()); err != nil {
		return Errorf(Invalid, "the arguments do not fit: %s", strings.TrimPrefix(err.Error(), "wire: decode: json: "))
	}
	return nil
}
