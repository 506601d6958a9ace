package main

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

const (
	// maxShown bounds the text in one result, in bytes. With its quoting it fits
	// the 64 KiB that a host shows a model by default.
	maxShown  = 48 << 10
	maxScan   = 16 << 20  // bytes of one file that are looked at
	chunkSize = 256 << 10 // bytes of one read
	sniffSize = 8 << 10   // bytes that decide whether a file is binary
)

// ReadIn is a file and the lines to show.
type ReadIn struct {
	Path      string `json:"path" desc:"Path from the workspace, such as docs/readme.md." minLength:"1" maxLength:"1024"`
	StartLine int    `json:"start_line,omitempty" desc:"First line to show, from 1." default:"1" minimum:"1"`
	LineCount int    `json:"line_count,omitempty" desc:"How many lines to show." default:"500" minimum:"1" maximum:"5000"`
	Plain     bool   `json:"plain,omitempty" desc:"Show the text without line numbers."`
}

// ReadOut is a piece of a file. The text comes last, as in every result here: a
// host that cuts a long result cuts the end of it.
type ReadOut struct {
	Path        string `json:"path"`
	Bytes       int64  `json:"bytes" desc:"Size of the whole file."`
	StartLine   int    `json:"start_line"`
	EndLine     int    `json:"end_line" desc:"Last line shown; less than start_line when there is none."`
	TotalLines  int    `json:"total_lines"`
	Truncated   bool   `json:"truncated,omitempty" desc:"True when the file has lines after end_line, or the last one was cut."`
	NextLine    int    `json:"next_line,omitempty" desc:"Where to go on reading."`
	CRLF        bool   `json:"crlf,omitempty" desc:"The file ends lines with CR LF; files.edit takes plain line breaks for it all the same."`
	Binary      bool   `json:"binary,omitempty" desc:"The file is not text and is not shown."`
	InvalidUTF8 bool   `json:"invalid_utf8,omitempty" desc:"Bytes that are not UTF-8 are shown as U+FFFD; files.edit refuses the file."`
	Partial     bool   `json:"partial,omitempty" desc:"Only the first 16 MiB were looked at: total_lines is of those."`
	Text        string `json:"text" desc:"The lines; numbered as number, tab, line, unless plain was asked for."`
}

// Read shows lines of a text file. The file is read in chunks, so memory does
// not grow with it; after the lines wanted it is read on to count the rest.
func Read(ctx context.Context, in ReadIn, h sdk.Host) (ReadOut, error) {
	name, err := cleanFile(in.Path)
	if err != nil {
		return ReadOut{}, err
	}
	if in.StartLine < 1 || in.LineCount < 1 {
		return ReadOut{}, sdk.Errorf(sdk.Invalid, "start_line and line_count begin at 1")
	}
	info, err := h.Files().Stat(name)
	if err != nil {
		return ReadOut{}, err
	}
	if !info.Mode().IsRegular() {
		return ReadOut{}, sdk.Errorf(sdk.Invalid, "%s is no file; use files.list to look into a directory", name)
	}
	r := &lineReader{first: in.StartLine, last: in.StartLine + min(in.LineCount, 5000) - 1, numbered: !in.Plain, line: 1}
	out := ReadOut{Path: name, Bytes: info.Size(), StartLine: in.StartLine}
	if err := r.scan(ctx, h.Files(), name); err != nil {
		return ReadOut{}, err
	}
	if r.binary {
		out.Binary = true
		out.StartLine = 0
		return out, nil
	}
	return r.result(out)
}

// lineReader keeps the lines wanted and counts the others.
type lineReader struct {
	first, last int
	numbered    bool

	line    int  // number of the line that the next byte belongs to
	begun   bool // that line has a byte already
	text    []byte
	kept    int // length of text up to the end of the last whole line
	end     int // last line in text, 0 for none
	cut     bool
	crlf    bool
	binary  bool
	partial bool
}

func (r *lineReader) scan(ctx context.Context, files sdk.Files, name string) error {
	buf := make([]byte, chunkSize)
	for offset := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if offset >= maxScan {
			r.partial = true
			return nil
		}
		n, err := files.ReadRange(name, buf, offset)
		if err != nil {
			return err
		}
		if offset == 0 && bytes.IndexByte(buf[:min(n, sniffSize)], 0) >= 0 {
			r.binary = true
			return nil
		}
		r.feed(buf[:n])
		if n < len(buf) {
			return nil
		}
		offset += int64(n)
	}
}

func (r *lineReader) feed(data []byte) {
	for len(data) > 0 {
		piece := data
		i := bytes.IndexByte(data, '\n')
		if i >= 0 {
			piece = data[:i+1]
		}
		data = data[len(piece):]
		if r.line >= r.first && r.line <= r.last && !r.cut {
			r.keep(piece)
		}
		r.begun = true
		if i >= 0 {
			r.line++
			r.begun = false
		}
	}
}

// keep adds a piece of the current line. A line that does not fit is left for
// the next call, unless it is the first: then its beginning is shown.
func (r *lineReader) keep(piece []byte) {
	if !r.begun {
		r.kept = len(r.text)
		if r.numbered {
			r.text = append(strconv.AppendInt(r.text, int64(r.line), 10), '\t')
		}
	}
	room := maxShown - len(r.text)
	switch {
	case len(piece) <= room:
		r.text = append(r.text, piece...)
		r.end = r.line
	case r.kept == 0:
		r.text = append(r.text, wholeRunes(piece[:max(room, 0)])...)
		r.end, r.cut = r.line, true
	default:
		r.text = r.text[:r.kept]
		r.end, r.cut = r.line-1, true
	}
	if bytes.HasSuffix(r.text, []byte("\r\n")) {
		r.text = append(r.text[:len(r.text)-2], '\n')
		r.crlf = true
	}
}

func (r *lineReader) result(out ReadOut) (ReadOut, error) {
	out.TotalLines = r.line
	if !r.begun {
		out.TotalLines--
	}
	out.Partial = r.partial
	if out.StartLine > max(out.TotalLines, 1) {
		if r.partial {
			return ReadOut{}, sdk.Errorf(sdk.TooLarge, "line %d is beyond the first 16 MiB of %s, which is all that is looked at", out.StartLine, out.Path)
		}
		return ReadOut{}, sdk.Errorf(sdk.Invalid, "%s has %d lines, so there is no line %d", out.Path, out.TotalLines, out.StartLine)
	}
	out.EndLine, out.CRLF = r.end, r.crlf
	if out.EndLine < out.TotalLines || r.cut || r.partial {
		out.Truncated = true
		out.NextLine = out.EndLine + 1
	}
	out.InvalidUTF8 = !utf8.Valid(r.text)
	out.Text = strings.ToValidUTF8(string(r.text), "\uFFFD")
	return out, nil
}

// wholeRunes drops the beginning of a character that was cut at the end of b.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
