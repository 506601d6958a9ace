package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if serveRole(os.Getenv(roleVariable)) {
		return
	}
	os.Exit(m.Run())
}

// Every peer gives back the document of each shape: what is timed is the same work.
func TestEveryPeerEchoes(t *testing.T) {
	peers, stop, err := startAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, shape := range []string{"text", "records"} {
		doc := document(shape, 4<<10)
		for _, one := range peers {
			got, err := one.call(t.Context(), doc)
			if err != nil || !same(got, doc) {
				t.Errorf("%s, %s: %v, %d of %d bytes came back", one.name, shape, err, len(got), len(doc))
			}
		}
	}
	table, err := plan{rounds: 1, each: 1}.measure(t.Context(), peers, document("text", 1<<10))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range table.lines {
		if l.median <= 0 {
			t.Errorf("%s took no time", l.name)
		}
	}
}

// A peer that gives back something else is an error, not a fast peer.
func TestMeasureRefusesAPeerThatDoesNotEcho(t *testing.T) {
	liar := peer{"liar", func(context.Context, []byte) ([]byte, error) { return []byte(`{"text":"no"}`), nil }}
	if _, err := (plan{rounds: 1, each: 1}).measure(t.Context(), []peer{liar}, document("text", 256)); !errors.Is(err, errNotEchoed) {
		t.Errorf("error %v", err)
	}
}

func TestReportSaysWhatIsMissed(t *testing.T) {
	tables := []table{{shape: "text", size: 1 << 10, lines: []line{
		{ours, 30 * time.Microsecond, 1}, {rawWazero, time.Microsecond, 1}, {goPlugin, 400 * time.Microsecond, 1}, {mcpStdio, 700 * time.Microsecond, 1},
	}}}
	var out bytes.Buffer
	if err := report(&out, tables); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 1 KiB | <= W + 25 us | 26 us | 30 us | 1.15x | MISSED |",
		"| 1 KiB | <= 1/8 of go-plugin gRPC | 50 us | 30 us | 0.60x | held |",
		"| 1 KiB | <= 1/25 of MCP stdio | 28 us | 30 us | 1.07x | MISSED |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %s in\n%s", want, out.String())
		}
	}
}

// Every goal has a line with its verdict, and one that no benchmark reported is an error.
func TestGoalsHaveVerdicts(t *testing.T) {
	m := measured{}
	if _, err := m.lines(); err == nil {
		t.Error("nothing was measured, and no goal says so")
	}
	for _, text := range []string{
		"BenchmarkMeter/go/json-2 \t 10\t 79 ns/op\t 4.2 interrupt/plain\t 1.4 metered/plain",
		"BenchmarkFreshOnTwoCores/small-2   693  1689177 ns/op  1.499 two/one  1.553 two/one-best",
		"ok  \tpkg\t1.2s", "geometric mean: 1.09",
	} {
		m.add(text)
	}
	if got := m["Meter/go/json"]; len(m) != 2 || got["metered/plain"] != 1.4 || got["ns/op"] != 79 {
		t.Errorf("read %v", m)
	}
	for _, g := range goals() {
		held := map[string]bool{"metering, JSON": false, "two cores over one, small guest": true}
		want, ok := held[g.name]
		if !ok {
			continue
		}
		got := g.value(m)
		if (g.most > 0 && got <= g.most || g.least > 0 && got >= g.least) != want {
			t.Errorf("%s: %v, want held %v", g.name, got, want)
		}
	}
}
