package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// decodeArguments turns the argument text of a tool call into a strict JSON
// object. Empty text is the empty object: both vendors send none for a tool
// without parameters. The fault, in our words, is empty when the text is good.
func decodeArguments(text string) (json.RawMessage, string) {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}"), ""
	}
	if fault := objectFault([]byte(text)); fault != "" {
		return nil, fault
	}
	return json.RawMessage(strings.TrimSpace(text)), ""
}

// objectFault says why raw is not one JSON object by RFC 8259 with unique names
// and valid UTF-8 (the rules of I-JSON, RFC 7493, that the effect gate relies
// on), or returns "". It never quotes raw: that text is the model's.
func objectFault(raw []byte) string {
	value := jsontext.Value(slices.Clone(raw))
	if !value.IsValid(jsontext.AllowDuplicateNames(true)) {
		return "not valid JSON" + position(value)
	}
	if !value.IsValid() {
		return "a name appears twice in one object" + position(value)
	}
	if value.Kind() != '{' {
		return "not a JSON object"
	}
	return ""
}

// position finds the byte at which a strict reader gives up.
func position(value jsontext.Value) string {
	var at *jsontext.SyntacticError
	if err := value.Compact(); errors.As(err, &at) {
		return fmt.Sprintf(" (byte %d)", at.ByteOffset)
	}
	return ""
}
