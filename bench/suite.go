package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// measured is what the benchmarks of the packages reported: by name without "Benchmark" and the number of processors,
// then by unit.
type measured map[string]map[string]float64

// runSuite runs the benchmarks of every package, one package after the other, and shows what they print. One that
// fails is an error.
func runSuite(ctx context.Context, out io.Writer) (measured, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "-benchmem", "-timeout", "30m", "./...")
	cmd.Dir = ".."
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	m := measured{}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run the benchmarks of the packages: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = write.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fmt.Fprintln(out, lines.Text())
		m.add(lines.Text())
	}
	_ = read.CloseWithError(lines.Err())
	if err := <-ended; err != nil {
		return nil, fmt.Errorf("a benchmark of a package could not run: %w", err)
	}
	return m, lines.Err()
}

// resultLine is what package testing prints: the name, the runs, and values with their units.
var resultLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(\S.*)$`)

func (m measured) add(text string) {
	parts := resultLine.FindStringSubmatch(text)
	if parts == nil {
		return
	}
	fields := strings.Fields(parts[2])
	values := map[string]float64{}
	for i := 0; i+1 < len(fields); i += 2 {
		if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
			values[fields[i+1]] = v
		}
	}
	m[parts[1]] = values
}

// peers adds what the peers took for the text, which some goals are relative to.
func (m measured) peers(tables []table) {
	for _, t := range tables {
		for _, l := range t.lines {
			m["peers/"+t.shape+"/"+bytesText(t.size)+"/"+l.name] = map[string]float64{"us": float64(l.median.Nanoseconds()) / 1000}
		}
	}
}
