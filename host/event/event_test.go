package event_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/event"
)

func TestCleanBoundsARecordAndKeepsItsOrder(t *testing.T) {
	r := event.Record{Kind: event.TurnStarted, At: time.Date(2026, 1, 1, 1, 0, 0, 1_234_567, time.FixedZone("x", 3600))}
	for i := range event.MaxFields + 5 {
		r.Fields = append(r.Fields, event.F(fmt.Sprintf("f%02d", i), strings.Repeat("é", event.MaxFieldBytes)))
	}
	got := event.Clean(r)
	if len(got.Fields) != event.MaxFields || got.Fields[0].Name != "f00" || got.Fields[31].Name != "f31" {
		t.Fatalf("kept %d fields, first %q", len(got.Fields), got.Fields[0].Name)
	}
	for _, f := range got.Fields {
		if len(f.Value) > event.MaxFieldBytes || !utf8.ValidString(f.Value) || !strings.HasSuffix(f.Value, "…") {
			t.Fatalf("field %s is %d bytes, valid=%v", f.Name, len(f.Value), utf8.ValidString(f.Value))
		}
	}
	if want := time.Date(2026, 1, 1, 0, 0, 0, 1_000_000, time.UTC); got.At != want {
		t.Fatalf("At = %v, want %v", got.At, want)
	}
	if len(r.Fields) != event.MaxFields+5 || len(r.Fields[0].Value) != 2*event.MaxFieldBytes {
		t.Fatal("Clean changed its argument")
	}
}

func TestKindsHasEveryKindOnce(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var written []event.Kind
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Kind" {
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			written = append(written, event.Kind(name))
		}
		return true
	})
	if len(written) == 0 || !slices.Equal(event.Kinds(), written) {
		t.Errorf("the constants are\n%v\nand Kinds says\n%v", written, event.Kinds())
	}
}
