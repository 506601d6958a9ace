package redact

import (
	"testing"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// FuzzCopied holds views that copy what is inside their bounds against views that write every value: they are equal.
func FuzzCopied(f *testing.F) {
	f.Add([]byte(`{"items":[{"id":"a","n":1.5,"tags":["x","y"]},{"id":"b","n":2,"tags":[]}],"more":{"a":{"b":{"c":[[[1]]]}}}}`), uint16(300), uint16(40), uint8(3), uint8(4))
	f.Add([]byte(`["a long string that is cut somewhere in the middle of it, and then more","é",{"password":"hunter22hunter22"}]`), uint16(256), uint16(20), uint8(9), uint8(2))
	f.Add(listingOf(40), uint16(1500), uint16(200), uint8(30), uint8(9))
	f.Fuzz(func(t *testing.T, raw []byte, size, str uint16, items, deep uint8) {
		d, err := document.Parse(raw)
		if err != nil || len(raw) > 8<<10 {
			return
		}
		limit := Limit{MinBytes + int(size)%4096, 1 + int(str)%1024, 1 + int(items), 1 + int(deep)%MaxDepth}
		b := newBuilder(Set{}, len(raw))
		b.doc.Document = d
		b.document()
		for a := range audiences {
			fast := renderer{to: a, limit: limit, marks: b.marks, doc: b.doc}
			fast.json()
			slow := renderer{to: a, limit: limit, marks: b.marks, doc: b.doc}
			if !slow.value(d.Root()) {
				slow.exhausted(d.Root(), d.Root())
			}
			if whole := (&renderer{to: a, limit: limit, doc: b.doc}); whole.mayCopy() && whole.fits(d.Root()) && string(d.Bytes()) != string(slow.out) {
				t.Fatalf("%s view of %s within %+v, said to fit whole, is %s", a, raw, limit, slow.out)
			}
			if string(fast.out) != string(slow.out) || fast.cut != slow.cut {
				t.Fatalf("%s view of %s within %+v\ncopied  %s %+v\nwritten %s %+v", a, raw, limit, fast.out, fast.cut, slow.out, slow.cut)
			}
		}
	})
}

func listingOf(n int) []byte {
	out := []byte{'['}
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"id":"itm_0001","score":0.5,"tags":["gateway","rules"],"title":"how to configure the gateway"}`...)
	}
	return append(out, ']')
}
