package net

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// gap is where in a body a value goes: instead of bytes start to end.
type gap struct {
	start, end int
	write      func(value string) []byte
}

func (g gap) fill(body []byte, value string) []byte {
	out := append(make([]byte, 0, len(body)+len(value)), body[:g.start]...)
	return append(append(out, g.write(value)...), body[g.end:]...)
}

// inBody finds the place in a body. nil without a fault: the plugin does not use it in this request. A fault says why a
// placeholder that is there is not one.
func (s spot) inBody(x exchange) (*gap, string) {
	if len(x.body) == 0 {
		return nil, ""
	}
	kind, _, err := mime.ParseMediaType(strings.Join(x.header["Content-Type"], ", "))
	if err != nil {
		kind = ""
	}
	var at *gap
	switch isPointer := strings.HasPrefix(s.Field, "/"); {
	case isPointer && (kind == "application/json" || strings.HasSuffix(kind, "+json")):
		at, err = s.inJSON(x.body)
	case !isPointer && kind == "application/x-www-form-urlencoded":
		at, err = s.inForm(x.body)
	}
	switch {
	case err != nil:
		return nil, "the body cannot be read: " + err.Error()
	case at == nil && (bytes.Contains(x.body, []byte(s.Placeholder())) || bytes.Contains(bytes.ToUpper(x.body), []byte("%7B"+strings.ToUpper(s.Secret)+"%7D"))):
		return nil, s.Placeholder() + " stands in the body elsewhere than as the whole value of " + s.Field + ", which is its place in a body of the type that the field is for"
	}
	return at, ""
}

var (
	errNotJSON = errors.New("it is not strict JSON")
	errTwice   = errors.New("it has the field of a credential twice")
)

// inJSON finds the string that the pointer leads to, when it is the placeholder.
func (s spot) inJSON(body []byte) (*gap, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	var at *gap
	for {
		if dec.PeekKind() != '"' {
			_, err := dec.ReadToken()
			if errors.Is(err, io.EOF) {
				return at, nil
			}
			if err != nil {
				return nil, errNotJSON
			}
			continue
		}
		raw, err := dec.ReadValue()
		if err != nil {
			return nil, errNotJSON
		}
		in, n := dec.StackIndex(dec.StackDepth())
		if in == '{' && n%2 == 1 || string(dec.StackPointer()) != s.Field { // the name of a member, or another place
			continue
		}
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return nil, errNotJSON
		}
		if string(text) == s.Placeholder() {
			end := int(dec.InputOffset())
			at = &gap{end - len(raw), end, quoted}
		}
	}
}

// quoted is a value as a JSON string. Values are UTF-8 where they are read; what is not is replaced, and matches nothing.
func quoted(value string) []byte {
	out, err := jsontext.AppendQuote(nil, value)
	if err != nil {
		return []byte(`""`)
	}
	return out
}

// inForm finds the field's value, when it is the placeholder. A field that stands there twice is refused: servers do not
// agree on which counts.
func (s spot) inForm(body []byte) (*gap, error) {
	var at *gap
	seen := 0
	for _, p := range pairs(string(body)) {
		if p.name != s.Field {
			continue
		}
		if seen++; p.value == s.Placeholder() {
			at = &gap{p.start, p.end, func(value string) []byte { return []byte(url.QueryEscape(value)) }}
		}
	}
	if at != nil && seen > 1 {
		return nil, errTwice
	}
	return at, nil
}

// pair is one name and value of a form or query, decoded, and where its value stands.
type pair struct {
	name, value string
	start, end  int
}

// pairs splits as lenient servers do, at & and at ;. What cannot be decoded stands for itself.
func pairs(text string) []pair {
	var out []pair
	decode := func(s string) string {
		if d, err := url.QueryUnescape(s); err == nil {
			return d
		}
		return s
	}
	for at := 0; at <= len(text); {
		end := len(text)
		if i := strings.IndexAny(text[at:], "&;"); i >= 0 {
			end = at + i
		}
		name, value, has := strings.Cut(text[at:end], "=")
		start := end
		if has {
			start = at + len(name) + 1
		}
		out = append(out, pair{decode(name), decode(value), start, end})
		at = end + 1
	}
	return out
}
