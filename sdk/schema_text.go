package sdk

import "github.com/b3abf3ee/portcullis/sdk/internal/codec"

// append writes the schema as JSON. Members come in this order, so the same type
// gives the same bytes.
func (s *schema) append(dst []byte) []byte {
	w := schemaWriter{dst}
	w.list("type", quoteAll(s.types), len(s.types) == 1)
	w.text("description", s.description)
	w.text("format", s.format)
	w.text("contentEncoding", s.contentEncoding)
	w.list("enum", s.enum, false)
	w.raw("default", s.deflt)
	w.raw("minimum", s.minimum)
	w.raw("maximum", s.maximum)
	w.raw("minLength", s.minLength)
	w.raw("maxLength", s.maxLength)
	w.text("pattern", s.pattern)
	w.raw("minItems", s.minItems)
	w.raw("maxItems", s.maxItems)
	w.schema("items", s.items)
	if len(s.properties) > 0 {
		inner := schemaWriter{}
		for _, p := range s.properties {
			inner.schema(p.name, p.schema)
		}
		w.raw("properties", string(inner.bytes()))
	}
	w.list("required", quoteAll(s.required), false)
	if s.closed {
		w.raw("additionalProperties", "false")
	}
	w.schema("additionalProperties", s.values)
	if len(s.anyOf) > 0 {
		all := make([]string, 0, len(s.anyOf))
		for _, a := range s.anyOf {
			all = append(all, string(a.append(nil)))
		}
		w.list("anyOf", all, false)
	}
	return w.bytes()
}

// schemaWriter writes one object; a member without a value is left out.
type schemaWriter struct{ out []byte }

func (w *schemaWriter) raw(name, json string) {
	if json == "" {
		return
	}
	c := byte(',')
	if len(w.out) == 0 {
		c = '{'
	}
	w.out = append(codec.AppendString(append(w.out, c), name), ':')
	w.out = append(w.out, json...)
}

func (w *schemaWriter) text(name, v string) {
	if v != "" {
		w.raw(name, quote(v))
	}
}

func (w *schemaWriter) schema(name string, s *schema) {
	if s != nil {
		w.raw(name, string(s.append(nil)))
	}
}

// list writes JSON values as an array, or the only one by itself when alone.
func (w *schemaWriter) list(name string, values []string, alone bool) {
	if len(values) == 0 {
		return
	}
	if alone {
		w.raw(name, values[0])
		return
	}
	out := "["
	for i, v := range values {
		if i > 0 {
			out += ","
		}
		out += v
	}
	w.raw(name, out+"]")
}

func (w *schemaWriter) bytes() []byte {
	if len(w.out) == 0 {
		return []byte("{}")
	}
	return append(w.out, '}')
}

func quote(s string) string { return string(codec.AppendString(nil, s)) }

func quoteAll(all []string) []string {
	out := make([]string, 0, len(all))
	for _, s := range all {
		out = append(out, quote(s))
	}
	return out
}
