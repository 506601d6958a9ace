package main

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/b3abf3ee/portcullis/sdk"
)

// document is a response as text.
type document struct {
	mediaType string // without parameters, in lower case
	html      bool
	text      string // valid UTF-8
}

// decode refuses what is not text by its type, then by its bytes, and turns the
// rest into UTF-8.
func decode(resp *sdk.Response) (document, error) {
	header := resp.Header.Get("Content-Type")
	doc := document{mediaType: mediaType(header)}
	if doc.mediaType == "" {
		doc.mediaType = sniff(resp.Body)
	}
	doc.html = doc.mediaType == "text/html" || doc.mediaType == "application/xhtml+xml"
	if !doc.html && !isText(doc.mediaType) {
		return document{}, sdk.Errorf(sdk.Invalid, "%s is %s (%d bytes), which is not text; only HTML, text, JSON and XML are read", clip(resp.URL), clip(doc.mediaType), len(resp.Body))
	}
	text, err := toUTF8(resp.Body, header, doc.html)
	if err != nil || strings.Contains(text, "\x00") {
		return document{}, sdk.Errorf(sdk.Invalid, "%s says that it is %s and is not text", clip(resp.URL), clip(doc.mediaType))
	}
	doc.text = text
	return doc, nil
}

// mediaType takes the type from a header; one that is malformed after the type
// still has it.
func mediaType(header string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil {
		kind, _, _ = strings.Cut(header, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	return kind
}

// sniff is for a response without a type.
func sniff(body []byte) string {
	start := bytes.ToLower(bytes.TrimLeft(body[:min(len(body), 512)], " \t\r\n\xef\xbb\xbf"))
	switch {
	case bytes.IndexByte(body, 0) >= 0:
		return "application/octet-stream"
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		return "text/html"
	}
	return "text/plain"
}

// isText names the types that are text without saying so.
func isText(mediaType string) bool {
	top, sub, _ := strings.Cut(mediaType, "/")
	if top == "text" {
		return true
	}
	if top != "application" {
		return strings.HasSuffix(sub, "+xml") // image/svg+xml, which is source and no picture here
	}
	switch sub {
	case "json", "xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "x-ndjson", "ndjson", "jsonlines", "graphql", "sql", "x-sh", "x-www-form-urlencoded":
		return true
	}
	return strings.HasSuffix(sub, "+json") || strings.HasSuffix(sub, "+xml") || strings.HasSuffix(sub, "+yaml")
}

// toUTF8 decodes as a browser would: byte order mark, header, meta element, and
// without any of these UTF-8 if it is that, else Windows-1252. JSON and the like
// come without a charset and are UTF-8.
func toUTF8(body []byte, header string, html bool) (string, error) {
	hint := body
	if !html {
		hint = body[:min(len(body), 4)] // a byte order mark, and no meta element
	}
	encoding, _, certain := charset.DetermineEncoding(hint[:min(len(hint), 1024)], header)
	if !certain && utf8.Valid(body) {
		return string(body), nil
	}
	decoded, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return "", err
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(decoded, []byte("\xef\xbb\xbf"))), "\uFFFD"), nil
}
