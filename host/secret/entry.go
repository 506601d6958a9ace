package secret

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Entry is what may be told of one secret: everything but its value.
type Entry struct {
	Name    Name
	From    Ref // where the value is; zero when it lies in the file itself
	Set     time.Time
	Rotated time.Time // zero: never
	Expires time.Time // zero: never
}

// kept is an entry with its value, behind a function so that no printing reaches it.
type kept struct {
	Entry
	value func() string
}

func (e Entry) expired(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// Bounds of the file.
const (
	MaxFile    = 1 << 20 // bytes of secrets.age, and of what is in it
	MaxEntries = 200     // so that all of them, and what else is known, fit into one redact.Set
)

// onDisk is the decrypted content of secrets.age. Times are milliseconds UTC.
type onDisk struct {
	Version int                    `json:"version"`
	Secrets map[string]entryOnDisk `json:"secrets"`
}

type entryOnDisk struct {
	Value   string `json:"value,omitempty"`
	From    string `json:"from,omitempty"`
	Set     int64  `json:"set_at"`
	Rotated int64  `json:"rotated_at,omitempty"`
	Expires int64  `json:"expires_at,omitempty"`
}

func (e kept) onDisk() entryOnDisk {
	return entryOnDisk{e.value(), e.From.String(), millis(e.Set), millis(e.Rotated), millis(e.Expires)}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// decode reads the content strictly. Its errors name entries and never repeat content.
func decode(data []byte) (map[Name]kept, error) {
	var d onDisk
	if len(data) > MaxFile {
		return nil, errTooLarge
	}
	if err := json.Unmarshal(data, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("the content is not what this program writes") //nolint:errorlint // err repeats content
	}
	if d.Version != 1 {
		return nil, fmt.Errorf("the content has version %d, this program reads version 1", d.Version)
	}
	if len(d.Secrets) > MaxEntries {
		return nil, fmt.Errorf("there are %d entries, at most %d are read", len(d.Secrets), MaxEntries)
	}
	all := make(map[Name]kept, len(d.Secrets))
	for text, e := range d.Secrets {
		name, err := ParseName(text)
		if err != nil {
			return nil, err
		}
		from, ok := ParseRef(e.From)
		if e.From != "" && (!ok || from.Source == FromVault) || (e.From == "") == (e.Value == "") || e.Set <= 0 {
			return nil, fmt.Errorf("the entry %s is not one this program writes", name)
		}
		value := e.Value
		all[name] = kept{Entry{name, from, moment(e.Set), moment(e.Rotated), moment(e.Expires)}, func() string { return value }}
	}
	return all, nil
}

func encode(all map[Name]kept) ([]byte, error) {
	d := onDisk{1, make(map[string]entryOnDisk, len(all))}
	for name, e := range all {
		d.Secrets[string(name)] = e.onDisk()
	}
	data, err := json.Marshal(d, json.Deterministic(true))
	if err == nil && len(data) > MaxFile {
		err = errTooLarge
	}
	return data, err
}

// usable says whether a value could be hidden wherever it turns up; one that could not is not kept.
func usable(name Name, value string) error {
	if why := redact.NewSecret(string(name), value).Check(); why != "" {
		return &redact.RefusedError{Name: string(name), Reason: why}
	}
	return nil
}
