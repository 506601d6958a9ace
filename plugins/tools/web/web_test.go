package main

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// serving is a plugin whose network answers every path with one response.
func serving(t *testing.T, status int, contentType, body string) *plugintest.Plugin {
	t.Helper()
	return plugintest.New(t).HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Accept") != acceptable {
			t.Errorf("the request is %s, Accept %q", r.Method, r.Header.Get("Accept"))
		}
		w.Header()["Content-Type"] = []string{contentType}
		if contentType == "" {
			w.Header()["Content-Type"] = nil // none, instead of what net/http would guess
		}
		w.WriteHeader(status)
		if body == "" {
			return // a 304 may not have one
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Error(err)
		}
	}))
}

func fetch(t *testing.T, p *plugintest.Plugin, in FetchIn) FetchOut {
	t.Helper()
	in.URL = "https://example.org/dir/page"
	return plugintest.Call[FetchOut](t, p, "web.fetch", in)
}

func refused(t *testing.T, p *plugintest.Plugin, in FetchIn, code sdk.Code, says string) {
	t.Helper()
	f := p.Fault(t, "web.fetch", encode(t, in))
	if f.Code != code || !strings.Contains(f.Message, says) {
		t.Errorf("%s gave %s %q, want %s with %q", encode(t, in), f.Code, f.Message, code, says)
	}
}

const article = `<!doctype html><html><head><title>
 A  page </title><style>p{}</style><base href="/base/"></head><body>
<nav><a href="/menu">Menu</a></nav>
<main><h1>Heading</h1><p>Some <b>bold</b> text with a <a href="sub?a=1#x">link</a> and snake_case.</p>
<ul><li>one</li><li>two<ul><li>deep</li></ul></li></ul>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<pre>x  =  1
y</pre><script>alert(1)</script><!-- note --><p hidden>ignore this</p><p style="display: none">and this</p>
<p>Filler that makes this long enough to be taken for the content: Lorem ipsum dolor sit amet, consetetur sadipscing elitr.</p></main>
<footer>Imprint</footer></body></html>`

func TestMarkdown(t *testing.T) {
	out := fetch(t, serving(t, 200, "text/html; charset=utf-8", article), FetchIn{Links: true})
	want := "# Heading\n\nSome **bold** text with a [link](https://example.org/base/sub?a=1#x) and snake_case.\n\n" +
		"- one\n- two\n  \n  - deep\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx  =  1\ny\n```\n\n" +
		"Filler that makes this long enough to be taken for the content: Lorem ipsum dolor sit amet, consetetur sadipscing elitr."
	if out.Text != want {
		t.Errorf("got\n%s\nwant\n%s", out.Text, want)
	}
	if out.Title != "A page" || out.URL != "https://example.org/dir/page" || out.ContentType != "text/html" || out.TotalChars != utf8.RuneCountInString(want) || out.Truncated {
		t.Errorf("got %+v", out)
	}
	links := []Link{{"Menu", "https://example.org/menu"}, {"link", "https://example.org/base/sub?a=1"}}
	if !reflect.DeepEqual(out.Links, links) {
		t.Errorf("links are %+v, want %+v", out.Links, links)
	}
}

func TestTextAndSource(t *testing.T) {
	p := serving(t, 200, "text/html", article)
	out := fetch(t, p, FetchIn{Format: "text"})
	want := "Heading\n\nSome bold text with a link and snake_case.\n\n- one\n- two\n\n- deep\n\na\tb\n1\t2\n\nx  =  1\ny\n\nFiller that"
	if !strings.HasPrefix(out.Text, want) || out.Title != "A page" {
		t.Errorf("got\n%q\nwant it to begin\n%q", out.Text, want)
	}
	if out := fetch(t, p, FetchIn{Format: "html"}); out.Text != article || out.Title != "A page" {
		t.Errorf("the source is %q", out.Text)
	}
	whole := fetch(t, p, FetchIn{Format: "text", Whole: true}).Text
	for _, word := range []string{"Menu", "Imprint", "Heading"} {
		if !strings.Contains(whole, word) {
			t.Errorf("the whole page is without %s: %q", word, whole)
		}
	}
	for _, word := range []string{"alert", "ignore", "and this", "note"} {
		if strings.Contains(whole, word) {
			t.Errorf("the whole page has %s, which a browser does not show: %q", word, whole)
		}
	}
}

func TestWhatIsTheContent(t *testing.T) {
	long := strings.Repeat("word ", 60)
	for name, c := range map[string]struct{ body, has, hasNot string }{
		"without main menus go":    {"<nav>Menu</nav><p>" + long + "</p><aside>Ad</aside>", "word", "Menu"},
		"one article":              {"<p>Before</p><article>" + long + "</article>", "word", "Before"},
		"two articles":             {"<article>First " + long + "</article><article>Second</article>", "Second", "none"},
		"an empty main":            {"<main></main><p>Other " + long + "</p>", "Other", "none"},
		"nothing but a menu":       {"<nav>Menu</nav>", "Menu", "none"},
		"a role":                   {"<div role=navigation>Menu</div><p>" + long, "word", "Menu"},
		"an article in an article": {"<p>Before</p><article>" + long + "<article>Comment</article></article>", "Comment", "Before"},
		"no elements at all":       {"just text", "just text", "none"},
		"a picture in the page":    {`<p>` + long + `<img alt="Chart" src="data:image/png;base64,AAAA">`, "word", "base64"},
		"an absolute link":         {`<p>` + long + `<a href="https://a.example/">ok</a>`, "[ok](https://a.example/)", "none"},
	} {
		out := fetch(t, serving(t, 200, "text/html", c.body), FetchIn{})
		if !strings.Contains(out.Text, c.has) || strings.Contains(out.Text, c.hasNot) {
			t.Errorf("%s: want %q and not %q in %q", name, c.has, c.hasNot, out.Text)
		}
	}
}

func TestOtherTypes(t *testing.T) {
	for _, c := range []struct{ contentType, body, want, is string }{
		{"application/json", `{"a":"é"}`, `{"a":"é"}`, "application/json"},
		{"application/ld+json; charset=UTF-8", `[]`, `[]`, "application/ld+json"},
		{"application/rss+xml", "<rss/>", "<rss/>", "application/rss+xml"},
		{"TEXT/Plain", "<b>as it is</b>", "<b>as it is</b>", "text/plain"},
		{"text/plain; charset", "x", "x", "text/plain"},
		{"", "<!DOCTYPE html><p>x", "x", "text/html"},
		{"", "  <HTML><p>x", "x", "text/html"},
		{"", "words", "words", "text/plain"},
		{"", "", "", "text/plain"},
	} {
		out := fetch(t, serving(t, 200, c.contentType, c.body), FetchIn{})
		if out.Text != c.want || out.ContentType != c.is {
			t.Errorf("%q with %q gave %q as %s", c.contentType, c.body, out.Text, out.ContentType)
		}
	}
	for _, c := range []struct{ contentType, body, says string }{
		{"image/png", "\x89PNG", "image/png (4 bytes), which is not text"},
		{"application/pdf", "%PDF", "application/pdf"},
		{"application/octet-stream", "text", "octet-stream"},
		{"text/html", "<p>\x00\x01", "is not text"},
		{"text/plain", "MZ\x90\x00", "is not text"},
		{"", "\x7fELF\x00", "application/octet-stream"},
	} {
		refused(t, serving(t, 200, c.contentType, c.body), FetchIn{URL: "https://example.org/"}, sdk.Invalid, c.says)
	}
}

func TestCharsets(t *testing.T) {
	for _, c := range []struct{ contentType, body, want string }{
		{"text/html", "<p>café", "café"}, // UTF-8 that nobody announced
		{"text/html", "<p>caf\xe9", "café"},
		{"text/html; charset=ISO-8859-1", "<p>caf\xe9 \x80", "café €"}, // the label means Windows-1252
		{"text/html; charset=utf-8", "<p>caf\xe9", "caf\uFFFD"},
		{"text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"},
		{"text/html; charset=utf-8", "<meta charset=windows-1251><p>é", "é"}, // the header wins
		{"text/html; charset=Shift_JIS", "<p>\x93\xfa\x96\x7b", "日本"},
		{"text/html; charset=nonsense", "<p>é", "é"},
		{"text/plain", "\xef\xbb\xbfmark", "mark"},
		{"text/plain; charset=utf-16le", "a\x00\xe9\x00", "aé"},
		{"text/plain", "caf\xe9", "café"},
		{"application/json", `"<meta charset=windows-1251> é"`, `"<meta charset=windows-1251> é"`},
	} {
		out := fetch(t, serving(t, 200, c.contentType, c.body), FetchIn{})
		if out.Text != c.want {
			t.Errorf("%s with %q gave %q, want %q", c.contentType, c.body, out.Text, c.want)
		}
	}
}

func TestStatusIsAFault(t *testing.T) {
	for status, code := range map[int]sdk.Code{
		404: sdk.NotFound, 410: sdk.NotFound, 401: sdk.Denied, 403: sdk.Denied, 408: sdk.Timeout, 504: sdk.Timeout,
		429: sdk.Unavailable, 500: sdk.Unavailable, 503: sdk.Unavailable, 400: sdk.Failed, 304: sdk.Failed, 418: sdk.Failed,
	} {
		body := "<p>page"
		if status == http.StatusNotModified {
			body = ""
		}
		refused(t, serving(t, status, "text/html", body), FetchIn{URL: "https://example.org/"}, code, "answered with status "+encode(t, status))
	}
	if out := fetch(t, serving(t, 203, "text/plain", "x"), FetchIn{}); out.Status != 203 {
		t.Errorf("status 203 gave %+v", out)
	}
	p := plugintest.New(t).HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	refused(t, p, FetchIn{URL: "https://example.org/"}, sdk.Unavailable, "retry after 120")
}

func TestURLs(t *testing.T) {
	p := serving(t, 200, "text/plain", "x")
	for address, says := range map[string]string{
		"ftp://example.org/":       "https://",
		"file:///etc/passwd":       "https://",
		"javascript:alert(1)":      "https://",
		"example.org/page":         "https://",
		"https://":                 "host",
		"https:///path":            "host",
		"https://u:p@example.org/": "user name",
		"http://[::1":              "not an address",
		"http://a b/":              "not an address",
		"https://example.org/\x7f": "not an address",
	} {
		refused(t, p, FetchIn{URL: address}, sdk.Invalid, says)
	}
	if _, err := checkURL("https://example.org/" + strings.Repeat("x", wire.MaxURL)); err == nil {
		t.Error("a URL past the bound was accepted")
	}
	if got, err := checkURL(" https://example.org/a?b#frag "); err != nil || got != "https://example.org/a?b" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTheHostDecidesWhere(t *testing.T) {
	p := plugintest.New(t).Fail(wire.ImportHTTP, "http://169.254.169.254/", sdk.Denied, "the address is not public")
	refused(t, p, FetchIn{URL: "http://169.254.169.254/"}, sdk.Denied, "the address is not public")
	p = serving(t, 200, "text/plain", strings.Repeat("x", maxBody+1))
	refused(t, p, FetchIn{URL: "https://example.org/"}, sdk.TooLarge, "4194304")
	moved := plugintest.New(t).HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new/", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		if _, err := io.WriteString(w, `<a href="x">x</a>`); err != nil {
			t.Error(err)
		}
	}))
	out := plugintest.Call[FetchOut](t, moved, "web.fetch", FetchIn{URL: "https://example.org/old"})
	if out.URL != "https://example.org/new/" || out.Text != "[x](https://example.org/new/x)" {
		t.Errorf("after a redirect: %+v", out)
	}
}

func TestPartsMakeTheWhole(t *testing.T) {
	text := strings.Repeat("日本語 text\n", 100)
	p := serving(t, 200, "text/plain; charset=utf-8", text)
	var got strings.Builder
	start, parts := 0, 0
	for {
		out := fetch(t, p, FetchIn{Start: start, MaxChars: 300})
		if utf8.RuneCountInString(out.Text) > 300 || out.TotalChars != 900 || out.Start != start {
			t.Fatalf("part at %d: %d characters of %d", start, utf8.RuneCountInString(out.Text), out.TotalChars)
		}
		got.WriteString(out.Text)
		parts++
		if !out.Truncated {
			break
		}
		start = out.NextStart
	}
	if got.String() != text || parts != 3 {
		t.Errorf("%d parts gave %d bytes of %d", parts, got.Len(), len(text))
	}
	refused(t, p, FetchIn{URL: "https://example.org/", Start: 901}, sdk.Invalid, "900 characters")
	if out := fetch(t, p, FetchIn{Start: 900}); out.Text != "" || out.Truncated {
		t.Errorf("at the end: %+v", out)
	}
}

func TestWindowCutsAtCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		runes := []rune(text)
		start := rapid.IntRange(0, len(runes)).Draw(t, "start")
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		var out FetchOut
		if err := out.window(text, start, limit); err != nil {
			t.Fatal(err)
		}
		end := min(start+limit, len(runes))
		if want := string(runes[start:end]); out.Text != want || out.Truncated != (end < len(runes)) {
			t.Fatalf("window(%q, %d, %d) = %+v, want %q", text, start, limit, out, want)
		}
	})
}
