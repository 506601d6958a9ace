package app

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/redact/redacttest"
)

const logged = `q7Vd/9+xK"2&p<L'm%3Zt=hRw`

func hides(t testing.TB) func(context.Context) redact.Set {
	t.Helper()
	set, err := redact.Set{}.With(redact.NewSecret("KEPT", logged))
	if err != nil {
		t.Fatal(err)
	}
	return func(context.Context) redact.Set { return set }
}

// TestTheLogFindsASecretSplitAtEveryByte writes lines to what is below the logger, each in two writes that are parted at
// every byte of every encoding.
func TestTheLogFindsASecretSplitAtEveryByte(t *testing.T) {
	cases, good := 0, 0
	for _, e := range redacttest.Thirty() {
		planted, unplanted := e.Encode(logged), redacttest.Others(e.Encode, logged)
		for cut := range len(planted) + 1 {
			if strings.HasSuffix(planted[:cut], "\n") {
				continue // there an entry ends
			}
			var below bytes.Buffer
			w := &hidingWriter{below: &below, set: hides(t)}
			for _, part := range []string{"before " + planted[:cut], planted[cut:] + " after\n"} {
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			cases++
			got := below.String()
			if part := redacttest.Leak(got, planted, unplanted); part != "" || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after\n") || !strings.Contains(got, "<redacted:KEPT>") {
				t.Errorf("%s parted at %d: %q is shown in %q", e.Name, cut, part, got)
				continue
			}
			good++
		}
	}
	t.Logf("log: %d of %d splits", good, cases)
	if cases < 1500 {
		t.Errorf("only %d cases", cases)
	}
}

// TestTheLoggerOfTheProgramHides logs through the very logger that a command makes, in both formats.
func TestTheLoggerOfTheProgramHides(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		log := HostOptions{LogLevel: "info", LogJSON: asJSON, LogTo: &out}.logger(hides(t))
		for _, e := range redacttest.Thirty() {
			if strings.Contains(e.Encode(logged), "\n") && !asJSON {
				continue // the text format indents lines: the host hides values before they are laid out
			}
			log.Info("said "+e.Encode(logged), "value", e.Encode(logged), "n", 7)
		}
		log.Debug("not " + logged)
		log.Warn("odd", "password", "hunter22hunter22", "url", "https://ann:p4ssp4ss@h.example/?access_token=abc")
		text := out.String()
		for _, e := range redacttest.Thirty() {
			if part := redacttest.Leak(text, e.Encode(logged), redacttest.Others(e.Encode, logged)); part != "" {
				t.Errorf("json %v, %s: %q is shown", asJSON, e.Name, part)
			}
		}
		for _, gone := range []string{"hunter22", "p4ss", "=abc", "not "} {
			if strings.Contains(text, gone) {
				t.Errorf("json %v: %q is shown", asJSON, gone)
			}
		}
		if !asJSON {
			continue
		}
		for line := range strings.Lines(text) {
			var record map[string]any
			if err := json.Unmarshal([]byte(line), &record); err != nil || record["@level"] == nil {
				t.Errorf("not a record: %v in %s", err, line)
			}
		}
	}
}

func TestAnEntryThatDoesNotEndIsBounded(t *testing.T) {
	var below bytes.Buffer
	w := &hidingWriter{below: &below, set: hides(t)}
	for _, part := range []string{strings.Repeat("x", maxEntry/2), strings.Repeat("y", maxEntry/2), "z", "end\n", "next\n"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if len(w.part) > maxEntry {
			t.Errorf("%d bytes are held", len(w.part))
		}
	}
	if got := below.String(); got != redact.FailedText+"\nnext\n" {
		t.Errorf("%.200q", got)
	}
}

func TestLinesOfManyWritersStayWhole(t *testing.T) {
	var below bytes.Buffer
	log := HostOptions{LogLevel: "info", LogJSON: true, LogTo: &below}.logger(hides(t))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				log.Info("line", "value", logged)
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSpace(below.String()), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) || !strings.Contains(line, "<redacted:KEPT>") {
			t.Fatalf("%s", line)
		}
	}
	if len(lines) != 400 {
		t.Errorf("%d lines", len(lines))
	}
}
