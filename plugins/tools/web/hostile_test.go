package main

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

// Pages made to be small and to become large. Each would take minutes or
// gigabytes without the bounds in tame.go.
func TestMarkdownStaysInProportion(t *testing.T) {
	const n = 10_000
	for name, source := range map[string]string{
		"deep lists":       strings.Repeat("<ul><li>", 120) + strings.Repeat("<li>x", n),
		"deep quotations":  strings.Repeat("<blockquote>", 400) + strings.Repeat("<p>x", n),
		"deep definitions": strings.Repeat("<dl><dd>", 120) + strings.Repeat("<p>x", n),
		"ragged table":     "<table><tr>" + strings.Repeat("<td>x", 1000) + strings.Repeat("<tr><td>x", n),
		"wide span":        "<table><tr><td colspan=1000>x" + strings.Repeat("<tr><td rowspan=65000 colspan=1000>x", n),
		"nested tables":    strings.Repeat("<table><tr><td>", 120) + strings.Repeat("<tr><td>x", n),
		"marks":            "<p>" + strings.Repeat("*_`[", n),
		"backticks":        "<pre>" + strings.Repeat("`", n),
		"links":            strings.Repeat("<a href=x>y", n),
		"empty":            strings.Repeat("<p>", n),
		"breaks":           strings.Repeat("<br>", n),
		"entities":         strings.Repeat("&lt;&#0;&bogus;", n),
	} {
		p, err := parsePage(source, "https://example.org/")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := p.markdown(false)
		if most := 30 * (len(source) + 1000); err != nil || len(text) > most || !utf8.ValidString(text) {
			t.Errorf("%s: %d bytes of HTML became %d of markdown, %v", name, len(source), len(text), err)
		}
		if strings.Contains(source, ">x") && strings.Count(text, "x") < n {
			t.Errorf("%s: of %d texts %d are left", name, n, strings.Count(text, "x"))
		}
	}
}

func TestPagesTooDeepOrTooManyTags(t *testing.T) {
	deep, many := strings.Repeat("<b>", 600), strings.Repeat("<p>", maxTags+1)
	if _, err := parsePage(deep, "https://example.org/"); !errors.Is(err, sdk.Invalid) || !strings.Contains(err.Error(), "format html") {
		t.Errorf("600 open elements gave %v", err)
	}
	if _, err := parsePage(many, "https://example.org/"); !errors.Is(err, sdk.TooLarge) || !strings.Contains(err.Error(), "format html") {
		t.Errorf("%d tags gave %v", maxTags+1, err)
	}
	p := serving(t, 200, "text/html", strings.Repeat("<p>x", maxRendered+1))
	refused(t, p, FetchIn{URL: "https://example.org/"}, sdk.TooLarge, "format text")
	if out := fetch(t, p, FetchIn{Format: "text"}); out.TotalChars < maxRendered {
		t.Errorf("as text it has %d characters", out.TotalChars)
	}
	for _, source := range []string{deep, many} {
		if out := fetch(t, serving(t, 200, "text/html", source), FetchIn{Format: "html", MaxChars: 100}); out.Text != source[:100] {
			t.Errorf("the source of it is %q", out.Text)
		}
	}
}

func TestLinksAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		b.WriteString(`<a href="/p` + strings.Repeat("1", i%200) + `#` + strings.Repeat("a", i) + `">` + strings.Repeat("long ", 100) + `</a>`)
	}
	b.WriteString(`<a href="mailto:a@b.c">m</a><a href="javascript:x()">j</a><a href=" ">e</a><a>n</a>`)
	p, err := parsePage(`<a href="mailto:a@b.c">m</a><a href="javascript:x()">j</a><a href="http://[">e</a><a>n</a>`+b.String(), "https://example.org/")
	if err != nil {
		t.Fatal(err)
	}
	links := p.links()
	seen := map[string]bool{}
	for _, l := range links {
		if !strings.HasPrefix(l.URL, "https://example.org/p") || seen[l.URL] || len(l.Text) > maxLinkText+4 {
			t.Errorf("link %+v", l)
		}
		seen[l.URL] = true
	}
	if len(links) != maxLinks {
		t.Errorf("there are %d links, want %d", len(links), maxLinks)
	}
}

// FuzzPage: no page makes the parser or a renderer panic, text is valid UTF-8
// and in proportion, and what a browser does not show does not come out.
func FuzzPage(f *testing.F) {
	f.Add("<p>x <b>y</b>")
	f.Add(article)
	f.Add("<table><td colspan=9><table><tr><td rowspan=3>a<td>b")
	f.Add("<ul><ol><li><blockquote><pre>\n x</pre>")
	f.Add("<svg><title>a</title><p><math><mi><base href='http://%'><a href='//x'>")
	f.Add("<template><p hidden><frameset><select><option>x")
	f.Fuzz(func(t *testing.T, source string) {
		source = strings.ToValidUTF8(source, "\uFFFD")
		if strings.Contains(source, "QQQ") {
			return // the marker of this test
		}
		for _, whole := range []bool{false, true} {
			p, err := parsePage("<!doctype html><body><script>QQQ</script><p hidden>QQQ</p>"+source, "https://example.org/a/b")
			if err != nil {
				return
			}
			p.title()
			p.links()
			text := p.text(whole)
			if p, err = parsePage("<!doctype html><body><script>QQQ</script><p hidden>QQQ</p>"+source, "https://example.org/a/b"); err != nil {
				t.Fatal(err)
			}
			markdown, err := p.markdown(whole)
			if err != nil {
				t.Fatal(err)
			}
			for _, out := range []string{text, markdown} {
				if !utf8.ValidString(out) || strings.Contains(out, "QQQ") || len(out) > 100*(len(source)+100) {
					t.Fatalf("%q became %q", source, out)
				}
			}
		}
	})
}
