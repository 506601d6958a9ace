package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/go-json-experiment/json/jsontext"
)

// BenchmarkParseStrict is one reading of each shape of result, beside the verdict alone of jsontext.
func BenchmarkParseStrict(b *testing.B) {
	records := []byte(`{"items":[`)
	for i := 0; len(records) < 64<<10; i++ {
		records = fmt.Appendf(records, `{"id":"itm_%08d","score":%d.5,"tags":["gateway","rules"],"title":"Result %d: how to configure the gateway"},`, i, i%100, i)
	}
	records = append(records[:len(records)-1], `]}`...)
	text := []byte(`{"text":"` + strings.Repeat("The gateway reads its rules once, at start. ", 64<<10/44) + `"}`)
	for name, doc := range map[string][]byte{"records": records, "text": text} {
		b.Run(name+"/document", func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := document.ParseStrict(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/jsontext", func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if !jsontext.Value(doc).IsValid() {
					b.Fatal("not valid")
				}
			}
		})
	}
}
