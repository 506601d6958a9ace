package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// Raw is one result as an adapter gave it: JSON or text. Nothing of it may be kept or shown but through [Build].
type Raw struct {
	data []byte
	json bool
	read document.Document // of data, where it was read already
}

// JSON is a raw result that is one JSON text.
func JSON(data []byte) Raw { return Raw{data: data, json: true} }

// Document is a raw result that is one JSON text and was read already. Its text must not change.
func Document(read document.Document) Raw { return Raw{read.Bytes(), true, read} }

// Text is a raw result that is free text; it need not be UTF-8.
func Text(data string) Raw { return Raw{data: []byte(data)} }

// View is what one audience sees. The zero View is empty text.
type View struct {
	body []byte
	json bool
	cut  Cut
}

// String is the view: a JSON text when the result was JSON, else text. It is valid UTF-8.
func (v View) String() string { return string(v.body) }

// JSON is the view as a JSON value: a view that is text becomes a JSON string. It is the caller's own.
func (v View) JSON() json.RawMessage {
	if v.json {
		return slices.Clone(v.body)
	}
	return append(appendQuoted([]byte{'"'}, v.body, false), '"')
}

// Shared is [View.JSON] without a copy of a view that is JSON already: other views may be the same bytes, which must not
// be changed.
func (v View) Shared() json.RawMessage {
	if v.json {
		return v.body
	}
	return v.JSON()
}

// IsJSON reports whether String is a JSON text.
func (v View) IsJSON() bool { return v.json }

// Cut is what the view's bounds left out.
func (v View) Cut() Cut { return v.cut }

// Views are the five views of one result. They are independent values.
type Views struct {
	Model, Operator, Event, Durable, Debug View
	// Found says what was removed, by name and source, most first; it holds no values.
	Found []Found
	// Failed means that redaction failed and every view is the fixed failure.
	Failed bool

	set       Set
	harvested []Secret // what was discovered
}

// Found counts the removals of one name.
type Found struct {
	Name   string
	Source Source
	Count  int
}

// Set is the Set that the views were built with and the values that were discovered in this result. Passing it to
// the next Build of the turn keeps a secret that one tool showed out of every later result.
func (v Views) Set() Set {
	if len(v.harvested) == 0 {
		return v.set
	}
	fit := slices.DeleteFunc(slices.Clone(v.harvested), func(s Secret) bool { return s.Check() != "" })
	s, err := v.set.With(fit[:min(len(fit), MaxSecrets-v.set.Len())]...)
	if err != nil { // every one was checked and there is room
		return v.set
	}
	return s
}

// View returns the view of an audience.
func (v Views) View(a Audience) View {
	if a >= audiences {
		return v.Model
	}
	return [audiences]View{v.Model, v.Operator, v.Event, v.Durable, v.Debug}[a]
}

// FailedText is the fixed failure that every view is when redaction failed.
const FailedText = "[" + Sentinel + ":redaction-failed] The host could not redact this result, so nothing of it is shown."

// Failed are the views of a result that could not be redacted.
func Failed() Views {
	v := View{body: []byte(FailedText)}
	return Views{Model: v, Operator: v, Event: v, Durable: v, Debug: v, Failed: true}
}

// errInternal stands for a panic of the redactor, whose own text could hold what was to be removed.
var errInternal = errors.New("redact: internal fault")

// Build makes the five views of raw. On an error the views are [Failed]: bounds that cannot be kept, a result of
// more than [MaxRaw] bytes, one that is said to be JSON and is not, one that is encoded in so many ways that it
// cannot be searched, or a fault of the redactor itself. The error never holds anything of the result.
//
// Fields with sensitive names are opaque with everything in them, unless that is only names of values of set. What they, headers, URLs, options, assignments and
// known token shapes give away is then removed everywhere in the result, as are the values of set, in every
// encoding that this package knows.
func Build(set Set, bounds Bounds, raw Raw) (views Views, err error) {
	return BuildFor(set, bounds, raw, ForModel, ForOperator, ForEvent, ForDurable, ForDebug)
}

// BuildFor is [Build] for those of the audiences that will be asked for; the views of the others are empty text. All of
// the result is searched whoever it is for.
func BuildFor(set Set, bounds Bounds, raw Raw, wanted ...Audience) (views Views, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			views, err = Failed(), errInternal
			if fault == errEffort { // the very value that find panics with
				err = fmt.Errorf("redact: %w", errEffort)
			}
		}
	}()
	if err := bounds.check(); err != nil {
		return Failed(), err
	}
	if len(raw.data) > MaxRaw {
		return Failed(), fmt.Errorf("redact: the result has %d bytes, at most %d can be redacted", len(raw.data), MaxRaw)
	}
	b := newBuilder(set, len(raw.data))
	var spans []span
	if raw.json {
		if b.doc.Document = raw.read; raw.read.Len() == 0 {
			if b.doc.Document, err = document.Parse(raw.data); err != nil {
				return Failed(), errNotJSON
			}
		}
		b.document()
	} else {
		spans = b.text(raw.data)
	}
	var all [audiences]View
	var whole []byte // the result as it stands, for every view that shows it so
	hides := len(spans)+len(b.doc.whole)+len(b.doc.spans) > 0
	for at, a := range wanted {
		if like := slices.IndexFunc(wanted[:at], func(o Audience) bool { return bounds.alike(o, a) }); like >= 0 && !hides {
			all[a] = all[wanted[like]]
			continue
		}
		r := renderer{to: a, limit: bounds.limit(a), marks: b.marks, doc: b.doc}
		if raw.json && r.mayCopy() && r.fits(b.doc.Root()) {
			if whole == nil {
				whole = bytes.Clone(b.doc.Bytes())
			}
			all[a] = View{whole, true, Cut{}}
			continue
		}
		r.out = make([]byte, 0, min(r.limit.Bytes, len(raw.data)+len(raw.data)/8+64))
		if raw.json {
			r.json()
		} else {
			r.text(raw.data, spans)
		}
		all[a] = View{r.out, raw.json, r.cut}
	}
	return Views{
		Model: all[ForModel], Operator: all[ForOperator], Event: all[ForEvent], Durable: all[ForDurable], Debug: all[ForDebug],
		Found: b.found(spans), set: set, harvested: b.harvested,
	}, nil
}

// found counts what the views do not show.
func (b *builder) found(spans []span) []Found {
	if len(spans)+len(b.doc.whole)+len(b.doc.spans) == 0 {
		return nil
	}
	counts := map[mark]int{}
	add := func(i int) { counts[mark{name: b.marks[i].name, source: b.marks[i].source}]++ }
	for _, s := range spans {
		add(s.mark)
	}
	for _, mark := range b.doc.whole {
		add(mark)
	}
	for _, spans := range b.doc.spans {
		for _, s := range spans {
			add(s.mark)
		}
	}
	var all []Found
	for m, n := range counts {
		all = append(all, Found{m.name, m.source, n})
	}
	slices.SortFunc(all, func(x, y Found) int {
		return cmp.Or(y.Count-x.Count, cmp.Compare(x.Name, y.Name), cmp.Compare(x.Source, y.Source))
	})
	return all[:min(len(all), 100)]
}
