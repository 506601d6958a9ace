package redact_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

// listing is a JSON result of about size bytes, like the answer of a search: names, prose, numbers, paths, URLs.
func listing(size int) []byte {
	type item struct {
		ID      string   `json:"id"`
		Title   string   `json:"title"`
		Body    string   `json:"body"`
		URL     string   `json:"url"`
		Score   float64  `json:"score"`
		Tags    []string `json:"tags"`
		Updated string   `json:"updated_at"`
	}
	var items []item
	for n := 0; n < size; {
		i := len(items)
		one := item{
			fmt.Sprintf("itm_%026d", i), fmt.Sprintf("Result %d: how to configure the gateway", i),
			"The gateway reads its rules once, at start.\nA rule that can never decide is an error; see \"rules\" in the manual.",
			fmt.Sprintf("https://docs.example.com/manual/section-%d?page=%d#top", i, i), 0.25 + float64(i),
			[]string{"gateway", "rules", "manual"},
			"2026-01-02T03:04:05Z",
		}
		raw, _ := json.Marshal(one)
		n += len(raw)
		items = append(items, one)
	}
	raw, _ := json.Marshal(items)
	return raw
}

func secrets(t testing.TB, n int) redact.Set {
	t.Helper()
	var all []redact.Secret
	for i := range n {
		all = append(all, redact.NewSecret(
			fmt.Sprintf("SECRET_%d", i),
			fmt.Sprintf("S%dq/Zr+%d-%s", i, i*7919, strings.Repeat(fmt.Sprintf("k%dV", i*31), 6)),
		))
	}
	set, err := redact.Set{}.With(all...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func BenchmarkBuildJSON64K(b *testing.B) {
	raw := listing(64 << 10)
	set := secrets(b, 16)
	bounds := redact.DefaultBounds()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if v, err := redact.Build(set, bounds, redact.JSON(raw)); err != nil || v.Failed {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildText64K(b *testing.B) {
	raw := string(listing(64 << 10))
	set := secrets(b, 16)
	bounds := redact.DefaultBounds()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if v, err := redact.Build(set, bounds, redact.Text(raw)); err != nil || v.Failed {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuildSource64K is what a tool that reads files gives: one text in a document.
func BenchmarkBuildSource64K(b *testing.B) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"reflect/value.go", "net/http/server.go", "html/template/escape_test.go"} {
		b.Run(name, func(b *testing.B) {
			text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", filepath.FromSlash(name)))
			if err != nil {
				b.Fatal(err)
			}
			raw, err := json.Marshal(map[string]string{"text": string(text[:min(64<<10, len(text))])})
			if err != nil {
				b.Fatal(err)
			}
			set, bounds := secrets(b, 16), redact.DefaultBounds()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if v, err := redact.Build(set, bounds, redact.JSON(raw)); err != nil || v.Failed {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSetWith16(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		secrets(b, 16)
	}
}
