package redacttest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"mime/quotedprintable"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Encoding is one way to write a value. Encode may write more than the value around it, and the value more than once.
type Encoding struct {
	Name   string
	Encode func(value string) string
}

// Thirty are the encodings that every sink of the product is held to. A name with "both" stands for two texts, padded and
// unpadded.
func Thirty() []Encoding {
	return []Encoding{
		{"raw", func(s string) string { return s }},
		{"base64, both", padded(base64.StdEncoding, "")},
		{"base64 alignment 1, both", padded(base64.StdEncoding, "x")},
		{"base64 alignment 2, both", padded(base64.StdEncoding, "xx")},
		{"base64url, both", padded(base64.URLEncoding, "")},
		{"base64url alignment 1, both", padded(base64.URLEncoding, "x")},
		{"base64url alignment 2, both", padded(base64.URLEncoding, "xx")},
		{"base64 with newline", func(s string) string { return std(s + "\n") }},
		{"base64 in 76 columns", mime},
		{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
		{"hex upper", func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }},
		{"hex 0x", func(s string) string { return "0x" + hex.EncodeToString([]byte(s)) }},
		{"hex colons", each("%02x", ":")},
		{"percent upper", url.PathEscape},
		{"percent lower", percentLower},
		{"percent twice", func(s string) string { return url.QueryEscape(url.PathEscape(s)) }},
		{"percent full", each("%%%02X", "")},
		{"form", url.QueryEscape},
		{"json all escaped", jsonEscaped},
		{"go quoted", strconv.Quote},
		{"shell quoted", func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }},
		{"html", html.EscapeString},
		{"xml", func(s string) string { var b bytes.Buffer; _ = xml.EscapeText(&b, []byte(s)); return b.String() }},
		{"utf-16le", utf16Bytes(binary.LittleEndian)},
		{"utf-16be", utf16Bytes(binary.BigEndian)},
		{"quoted-printable", quotedPrintable},
		{"base64 twice, backwards", func(s string) string { return Backwards(std(std(s))) }},
		{"base64 twice", func(s string) string { return std(std("x" + s)) }},
		{"basic auth pair", func(s string) string { return std("user:" + s) }},
		{"jwt payload", jwt},
	}
}

// All are the thirty and more that package redact finds.
func All() []Encoding {
	return append(Thirty(), []Encoding{
		{"base64 of backwards", func(s string) string { return std(Backwards(std(s))) }},
		{"base64 in the middle", func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("x" + s + "y")) }},
		{"backwards", Backwards},
		{"hex after digit", func(s string) string { return "7" + hex.EncodeToString([]byte(s)) }},
		{"hex array", each("0x%02x", ", ")},
		{"hex dump", each("%02x", " ")},
		{"C escapes", each(`\x%02x`, "")},
		{"octal escapes", each(`\%03o`, "")},
		{"percent full x3", func(s string) string { return url.PathEscape(url.PathEscape(each("%%%02X", "")(s))) }},
		{"json", quoteJSON},
		{"json twice", func(s string) string { return quoteJSON(quoteJSON(s)) }},
		{"rust escapes", runes(`\u{%x}`)},
		{"python escapes", runes(`\U%08x`)},
		{"go quoted ascii", strconv.QuoteToASCII},
		{"shell quoted 2", func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }},
		{"shell escaped", shellEscaped},
		{"html decimal", runes("&#%d;")},
		{"html hex", runes("&#x%X;")},
		{"utf-16 base64", func(s string) string { return std(utf16Bytes(binary.LittleEndian)(s)) }},
		{"percent in base64", func(s string) string { return std(each("%%%02X", "")(s)) }},
		{"base64 in percent", func(s string) string { return each("%%%02X", "")(std(s)) }},
	}...)
}

func std(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// padded is both forms, with what stands before the value.
func padded(e *base64.Encoding, before string) func(string) string {
	return func(s string) string {
		return e.EncodeToString([]byte(before+s)) + " " + e.WithPadding(base64.NoPadding).EncodeToString([]byte(before+s))
	}
}

// each writes every byte in a format, with something between.
func each(format, between string) func(string) string {
	return func(s string) string {
		var all []string
		for i := range len(s) {
			all = append(all, fmt.Sprintf(format, s[i]))
		}
		return strings.Join(all, between)
	}
}

func runes(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
}

func utf16Bytes(order binary.AppendByteOrder) func(string) string {
	return func(s string) string {
		var out []byte
		for _, u := range utf16.Encode([]rune(s)) {
			out = order.AppendUint16(out, u)
		}
		return string(out)
	}
}

// mime is the body of a mail with the value somewhere in it.
func mime(s string) string {
	text := std(strings.Repeat("header line of a mail\n", 5) + s + strings.Repeat("\nmore text", 12))
	var lines []string
	for len(text) > 76 {
		lines, text = append(lines, text[:76]), text[76:]
	}
	return strings.Join(append(lines, text), "\r\n")
}

func percentLower(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c|0x20 >= 'a' && c|0x20 <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

func jsonEscaped(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04x`, u)
	}
	return b.String()
}

func quoteJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return string(text)
}

func shellEscaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c < 0x80 && c != '\n' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

func quotedPrintable(s string) string {
	var b bytes.Buffer
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(strings.Repeat("filler ", 9) + s + " end"))
	_ = w.Close()
	return b.String()
}

func jwt(s string) string {
	claims, err := json.Marshal(map[string]string{"sub": "1", "note": s})
	if err != nil {
		panic(err)
	}
	e := base64.RawURLEncoding
	return e.EncodeToString([]byte(`{"alg":"none"}`)) + "." + e.EncodeToString(claims) + "."
}

// Backwards is s from its last byte to its first.
func Backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}
