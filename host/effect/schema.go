package effect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is one compiled JSON Schema (draft 2020-12). It is safe for concurrent use; checks by the library take turns.
type Schema struct {
	of    *jsonschema.Schema
	plain *shape // nil where a keyword needs the library
	size  size

	mu    sync.Mutex // guards meter
	meter *meter
}

// maxSchemaBytes bounds a schema document; a tool with a larger one is not usable by a model anyway.
const maxSchemaBytes = 256 << 10

// noRemote refuses every reference out of the document: a schema must not make the host fetch anything.
type noRemote struct{}

func (noRemote) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s: a schema may only refer to itself", url)
}

// CompileSchema compiles a schema that refers to nothing outside itself. Formats are checked. What one check may cost
// is bounded by the size of the document, whatever the schema.
func CompileSchema(raw json.RawMessage) (*Schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("effect: schema has %d bytes, the limit is %d", len(raw), maxSchemaBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("effect: read schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noRemote{})
	c.AssertFormat()
	m := &meter{}
	c.UseRegexpEngine(m.pattern)
	const here = "portcullis:schema"
	if err := c.AddResource(here, doc); err != nil {
		return nil, fmt.Errorf("effect: add schema: %w", err)
	}
	s, err := c.Compile(here)
	if err != nil {
		return nil, fmt.Errorf("effect: compile schema: %w", err)
	}
	plain := plainly(s)
	size, err := m.attach(s)
	if err != nil {
		return nil, err
	}
	return &Schema{of: s, plain: plain, size: size, meter: m}, nil
}

// SchemaFault is why a document does not fit: the place and the rule, never the value.
type SchemaFault struct {
	At       string // JSON Pointer, "" for the whole document
	Sentence string
}

// maxFaults bounds what a person or a model is shown.
const maxFaults = 8

// Check returns why doc does not fit, or nothing when it does. doc must be valid JSON; a document that is not is one
// fault. Values never appear in a fault: an argument may hold what must not be shown.
func (s *Schema) Check(doc json.RawMessage) []SchemaFault {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return []SchemaFault{{"", "is not JSON"}}
	}
	if len(doc)*s.size.enum > maxLooks {
		return []SchemaFault{costly}
	}
	switch err = s.validate(value, min(checkMost, checkBase+checkPerByte*len(doc))); {
	case err == nil:
		return nil
	case errors.Is(err, errTooCostly):
		return []SchemaFault{costly}
	}
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return []SchemaFault{{"", "does not fit the schema"}}
	}
	return leaves(bad, nil)
}

// check is [Schema.Check] of a document that was read already. The plain keywords are held against the tokens as they
// lie; whatever these do not let through the library judges, and words.
func (s *Schema) check(doc *document.Document) []SchemaFault {
	if s.plain != nil && len(doc.Bytes())*s.size.all <= maxLooks && s.plain.fits(doc, doc.Root()) {
		return nil
	}
	return s.Check(doc.Bytes())
}

// costly is the fault of a document that its schema makes too dear to check.
var costly = SchemaFault{"", "takes too long to check against its schema"}

// validate asks the library, for at most so many visits.
func (s *Schema) validate(value any, visits int) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer tooCostly(&err)
	s.meter.left = visits
	return s.of.Validate(value)
}

func leaves(e *jsonschema.ValidationError, into []SchemaFault) []SchemaFault {
	if len(into) >= maxFaults {
		return into
	}
	if len(e.Causes) == 0 {
		return append(into, SchemaFault{pointer(e.InstanceLocation), sentence(e)})
	}
	for _, c := range e.Causes {
		into = leaves(c, into)
	}
	return into
}

func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}

// join renders faults as one line.
func join(faults []SchemaFault) string {
	var parts []string
	for _, f := range faults {
		at := f.At
		if at == "" {
			at = "/"
		}
		parts = append(parts, at+": "+f.Sentence)
	}
	return strings.Join(parts, "; ")
}

// sentence words one fault. The library's words are used for the rules whose words hold no instance value; for the
// rest the rule is named and the value is not.
func sentence(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Type, *kind.Required, *kind.AdditionalProperties, *kind.Enum, *kind.MinLength, *kind.MaxLength,
		*kind.MinItems, *kind.MaxItems, *kind.MinProperties, *kind.MaxProperties, *kind.Dependency, *kind.DependentRequired:
		return e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.Pattern:
		return "does not match the pattern " + k.Want
	default:
		return "breaks the rule " + strings.Join(e.ErrorKind.KeywordPath(), "/")
	}
}
