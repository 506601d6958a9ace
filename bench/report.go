package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// ratio is one that the effect path is held to, at one size.
type ratio struct {
	size int
	text string
	// most is the longest time that the goal allows, from the times of the same table.
	most func(t table) time.Duration
}

// ratios are those that Portcullis holds itself to.
func ratios() []ratio {
	return []ratio{
		{1 << 10, "<= W + 25 us", func(t table) time.Duration { return t.of(rawWazero) + 25*time.Microsecond }},
		{1 << 10, "<= 1/8 of go-plugin gRPC", func(t table) time.Duration { return t.of(goPlugin) / 8 }},
		{1 << 10, "<= 1/25 of MCP stdio", func(t table) time.Duration { return t.of(mcpStdio) / 25 }},
		{64 << 10, "<= W + 4 V (encoding/json.Valid)", func(t table) time.Duration { return t.of(rawWazero) + 4*t.of(validate) }},
		{64 << 10, "<= W + 4 S (jsontext, strict)", func(t table) time.Duration { return t.of(rawWazero) + 4*t.of(strictly) }},
		{1 << 20, "<= 1/10 of MCP stdio", func(t table) time.Duration { return t.of(mcpStdio) / 10 }},
		{1 << 20, "<= go-plugin gRPC", func(t table) time.Duration { return t.of(goPlugin) }},
	}
}

// report prints the tables of one shape and the goals against them.
func report(out io.Writer, tables []table) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### echo of one document (%s): median of one call, in brackets the best round\n\n| |", tables[0].shape)
	for _, t := range tables {
		fmt.Fprintf(&b, " %s | of ours |", bytesText(t.size))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|---|", len(tables)) + "\n")
	for i, l := range tables[0].lines {
		fmt.Fprintf(&b, "| %s |", l.name)
		for _, t := range tables {
			fmt.Fprintf(&b, " %s (%s) | %s |", short(t.lines[i].median), short(t.lines[i].min), times(t.lines[i].median, t.of(ours)))
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n| size | goal | allowed | measured | of allowed | |\n|---|---|---|---|---|---|\n")
	for _, g := range ratios() {
		for _, t := range tables {
			if t.size == g.size {
				got, most := t.of(ours), g.most(t)
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", bytesText(g.size), g.text, short(most), short(got), times(got, most), verdict(got <= most))
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// lines are the ratios of one shape, each on a line.
func lines(tables []table) []string {
	var out []string
	for _, g := range ratios() {
		for _, t := range tables {
			if t.size == g.size {
				got, most := t.of(ours), g.most(t)
				out = append(out, fmt.Sprintf("effect path, %s, %s: %s (%s, here %s) %s", t.shape, bytesText(g.size), short(got), g.text, short(most), word(got <= most)))
			}
		}
	}
	return out
}

func verdict(held bool) string {
	if held {
		return "held"
	}
	return "MISSED"
}

func times(a, b time.Duration) string { return fmt.Sprintf("%.2fx", float64(a)/float64(max(b, 1))) }

func bytesText(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// short is a time with three figures.
func short(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g us", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	}
	return d.Round(time.Millisecond).String()
}

// machine describes where and under what load this runs, as far as it can be told.
func machine() string {
	load := "load unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 2 {
			load = "load " + strings.Join(fields[:3], " ")
		}
	}
	return fmt.Sprintf("\n%s/%s, %d CPUs, %s, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), load)
}
