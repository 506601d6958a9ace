package main

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

// Bounds of the store and of one note. Lengths are bytes. The host's store has
// room for 64 KiB a key and 4 MiB in all; a body of this size fits a key also when
// every character of it needs a backslash.
const (
	maxNotes = 500
	maxTitle = 200
	maxBody  = 24 << 10
	maxTags  = 16
	maxTag   = 40
	maxID    = 48
)

// note is what one key holds.
type note struct {
	Title     string   `json:"title"`
	Body      string   `json:"body"`
	Tags      []string `json:"tags"` // sorted, lower case, each once
	CreatedMS int64    `json:"created_ms"`
	UpdatedMS int64    `json:"updated_ms"`
	// Call is the call that wrote this version, so that the same call repeated
	// after a crash knows its own work.
	Call string `json:"call,omitempty"`
}

// noteJSON is how a note is stored.
var noteJSON = sdk.JSONOf[note]()

// keyPrefix leaves room for keys of other kinds.
const keyPrefix = "note/"

// fetch reads a note. A note that is being deleted has an empty value, and is
// as good as gone.
func fetch(kv sdk.KV, id string) (note, int64, error) {
	if !validID(id) {
		return note{}, 0, sdk.Errorf(sdk.Invalid, "%q is no id of a note; notes.find gives ids", clip(id))
	}
	value, version, err := kv.Get(keyPrefix + id)
	if err != nil {
		return note{}, 0, err
	}
	if len(value) == 0 {
		return note{}, 0, sdk.Errorf(sdk.NotFound, "there is no note %s", id)
	}
	n, err := decode(value)
	if err != nil {
		return note{}, 0, sdk.Errorf(sdk.Failed, "note %s is damaged and cannot be read: %v", id, err)
	}
	return n, version, nil
}

// decode reads a stored value as the bounded thing that was written.
func decode(value []byte) (note, error) {
	n, err := noteJSON.Decode(value)
	if err != nil {
		return note{}, err
	}
	return n, n.check()
}

// check refuses a note past the bounds.
func (n note) check() error {
	switch {
	case strings.TrimSpace(n.Title) == "":
		return sdk.Errorf(sdk.Invalid, "title is empty; say in a few words what the note is about")
	case len(n.Title) > maxTitle || strings.ContainsFunc(n.Title, unicode.IsControl):
		return sdk.Errorf(sdk.Invalid, "title is one line of at most %d bytes", maxTitle)
	case len(n.Body) > maxBody:
		return sdk.Errorf(sdk.TooLarge, "body has %d bytes, at most %d are allowed", len(n.Body), maxBody)
	case len(n.Tags) > maxTags:
		return sdk.Errorf(sdk.Invalid, "there are %d tags, at most %d are allowed", len(n.Tags), maxTags)
	}
	for _, t := range n.Tags {
		if !validTag(t) {
			return sdk.Errorf(sdk.Invalid, "tag %q is not one word of at most %d bytes", clip(t), maxTag)
		}
	}
	return nil
}

// revision names one state of one note, as the version that tools show. The
// store counts from 1 again for a key that was removed, so the count alone could
// name a later note of the same id: the time when the note was made is in it.
func (n note) revision(version int64) string {
	return strconv.FormatInt(version, 10) + "-" + strconv.FormatInt(n.CreatedMS, 36)
}

// same reports whether two notes say the same.
func (n note) same(m note) bool {
	return n.Title == m.Title && n.Body == m.Body && slices.Equal(n.Tags, m.Tags)
}

// normalTags makes tags comparable: lower case, sorted, each once.
func normalTags(tags []string) []string {
	out := make([]string, len(tags))
	for i, t := range tags {
		out[i] = normalTag(t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func normalTag(t string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(t), "#"))
}

func validTag(t string) bool {
	return t != "" && len(t) <= maxTag && !strings.ContainsFunc(t, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-_./:+", r)
	})
}

// newID makes an id of a title: the letters and digits of ASCII in lower case,
// dashes between words. A title without any makes "note".
func newID(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(title) {
		if ('a' > r || r > 'z') && ('0' > r || r > '9') {
			gap = b.Len() > 0
			continue
		}
		if b.Len() >= maxID-len("x-1000") {
			break
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "note"
	}
	return b.String()
}

func validID(id string) bool {
	return id != "" && len(id) <= maxID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// clip shortens what a message repeats.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
