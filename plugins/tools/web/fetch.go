package main

import (
	"context"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

const (
	maxBody    = 4 << 20 // bytes of a response
	maxChars   = 100_000 // characters of one result
	maxLinks   = 100
	timeLimit  = 30 * time.Second
	acceptable = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/json;q=0.9, application/xml;q=0.8, */*;q=0.1"
)

// Formats of a page.
const (
	formatMarkdown = "markdown"
	formatText     = "text"
	formatHTML     = "html"
)

// FetchIn is a page and how to show it.
type FetchIn struct {
	URL      string `json:"url" desc:"Absolute http or https address." minLength:"8" maxLength:"8192"`
	Format   string `json:"format,omitempty" desc:"markdown keeps headings, lists, tables and links; text has none of that; html is the source. What is not HTML is given as it is." enum:"markdown|text|html" default:"markdown"`
	Start    int    `json:"start,omitempty" desc:"Character to begin at, from the next_start of an earlier call." minimum:"0"`
	MaxChars int    `json:"max_chars,omitempty" default:"20000" minimum:"100" maximum:"100000"`
	Links    bool   `json:"links,omitempty" desc:"Also list the links of the page, at most 100."`
	Whole    bool   `json:"whole,omitempty" desc:"Keep menus, header and footer of the page, which are left out otherwise."`
}

// FetchOut is a part of a page.
type FetchOut struct {
	URL         string `json:"url" desc:"The address that answered, after redirects."`
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	Title       string `json:"title,omitempty"`
	Start       int    `json:"start"`
	TotalChars  int    `json:"total_chars" desc:"Characters of the whole text."`
	Truncated   bool   `json:"truncated,omitempty" desc:"True when there is more after this part."`
	NextStart   int    `json:"next_start,omitempty"`
	Links       []Link `json:"links,omitempty"`
	Text        string `json:"text"`
}

// Link is one link of a page.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// Fetch gets a page and converts it. Every part of a long page fetches it anew,
// since a call keeps nothing; a page that changes in between shifts.
func Fetch(ctx context.Context, in FetchIn, h sdk.Host) (FetchOut, error) {
	address, err := checkURL(in.URL)
	if err != nil {
		return FetchOut{}, err
	}
	resp, err := h.Do(ctx, &sdk.Request{
		URL: address, Header: sdk.Header{"Accept": {acceptable}}, Timeout: timeLimit, MaxBody: maxBody,
	})
	if err != nil {
		return FetchOut{}, err
	}
	if err := checkStatus(resp); err != nil {
		return FetchOut{}, err
	}
	doc, err := decode(resp)
	if err != nil {
		return FetchOut{}, err
	}
	out := FetchOut{URL: resp.URL, Status: resp.Status, ContentType: doc.mediaType}
	text := doc.text
	if doc.html {
		if text, err = out.convert(in, doc.text); err != nil {
			return FetchOut{}, err
		}
	}
	return out, out.window(text, in.Start, in.MaxChars)
}

// checkURL refuses what is no web address, with the reason; which hosts may be
// reached is for the host to say. The fragment is for browsers and is not sent.
func checkURL(address string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return "", sdk.Errorf(sdk.Invalid, "url is not an address: %s", clip(address))
	case u.Scheme != "http" && u.Scheme != "https":
		return "", sdk.Errorf(sdk.Invalid, "url must begin with https:// or http://, and is %s", clip(address))
	case u.Host == "":
		return "", sdk.Errorf(sdk.Invalid, "url has no host: %s", clip(address))
	case u.User != nil:
		return "", sdk.Errorf(sdk.Invalid, "url has a user name or password in it; leave them out")
	case len(address) > sdk.MaxURL:
		return "", sdk.Errorf(sdk.Invalid, "url has %d bytes, at most %d are allowed", len(address), sdk.MaxURL)
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), nil
}

// checkStatus turns every status but success into a fault: an error page read
// as the page asked for misleads.
func checkStatus(resp *sdk.Response) error {
	code := sdk.Failed
	switch s := resp.Status; {
	case s >= 200 && s <= 299:
		return nil
	case s == 404 || s == 410:
		code = sdk.NotFound
	case s == 401 || s == 403 || s == 407 || s == 451:
		code = sdk.Denied
	case s == 408 || s == 504:
		code = sdk.Timeout
	case s == 429 || s >= 500 && s <= 599:
		code = sdk.Unavailable
	}
	if after := resp.Header.Get("Retry-After"); after != "" && code == sdk.Unavailable {
		return sdk.Errorf(code, "%s answered with status %d and asks to retry after %s", clip(resp.URL), resp.Status, clip(after))
	}
	return sdk.Errorf(code, "%s answered with status %d", clip(resp.URL), resp.Status)
}

// convert renders HTML as in asks and notes what else the page says. The source
// is given also of a page that cannot be parsed.
func (out *FetchOut) convert(in FetchIn, source string) (string, error) {
	p, err := parsePage(source, out.URL)
	if err != nil && in.Format == formatHTML {
		return source, nil
	}
	if err != nil {
		return "", err
	}
	out.Title = p.title()
	if in.Links {
		out.Links = p.links()
	}
	switch in.Format {
	case formatHTML:
		return source, nil
	case formatText:
		return p.text(in.Whole), nil
	case formatMarkdown:
		return p.markdown(in.Whole)
	}
	return "", sdk.Errorf(sdk.Invalid, "format %q is not markdown, text or html", clip(in.Format))
}

// window takes limit characters of text from start.
func (out *FetchOut) window(text string, start, limit int) error {
	limit = max(1, min(limit, maxChars))
	out.TotalChars = utf8.RuneCountInString(text)
	if start < 0 || start > out.TotalChars {
		return sdk.Errorf(sdk.Invalid, "start is %d, and the text has %d characters", start, out.TotalChars)
	}
	from := byteOf(text, start)
	rest := text[from:]
	out.Start, out.Text = start, rest[:byteOf(rest, limit)]
	if len(out.Text) < len(rest) {
		out.Truncated, out.NextStart = true, start+limit
	}
	return nil
}

// byteOf is where character n of s begins, or the length of s.
func byteOf(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// clip shortens what a message repeats.
func clip(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
