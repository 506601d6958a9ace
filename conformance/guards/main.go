// Package main proves that the tests would notice. For each guard of [table] it builds the guard's package with that one
// guard taken out, by an overlay that leaves the checkout alone, and runs the test that must then fail; without the
// overlay the same test must pass. It owns the table and no test of its own behaviour but that the table is current.
//
//	go run ./conformance/guards [-run REGEXP] [-part K/N] [-v]
//
// A guard whose removal no test notices, a text that is not in its file exactly once, and a broken build are failures.
// What runs without its guard runs in a process of its own, with a deadline and a bound on its memory. Nothing is left
// behind.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// run is 0 when every guard was missed, 1 when one was not, 2 for a wrong command line.
func run(args []string, out io.Writer) int {
	flags := flag.NewFlagSet("guards", flag.ContinueOnError)
	only := flags.String("run", "", "only guards whose name matches this `REGEXP`")
	part := flags.String("part", "0/1", "only every Nth guard, from the Kth on: `K/N`; K may be any number and is taken modulo N")
	verbose := flags.Bool("v", false, "show what the failing tests printed")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintf(out, "-run: %v\n", err)
		return 2
	}
	guards := slices.DeleteFunc(table(), func(g guard) bool { return !match.MatchString(g.name) })
	if guards, err = nth(guards, *part); err != nil {
		fmt.Fprintf(out, "-part: %v\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	begun := time.Now()
	p, err := newProof(out, *verbose)
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	defer p.close()
	missed := p.all(ctx, guards)
	fmt.Fprintf(out, "%d of %d guards are missed by a test when they are gone, in %s\n", missed, len(guards), time.Since(begun).Round(time.Second))
	if missed != len(guards) || len(guards) == 0 {
		return 1
	}
	return 0
}

// nth is every Nth guard from the Kth on, so that several runs can share the table.
func nth(guards []guard, part string) ([]guard, error) {
	var k, n uint64
	if _, err := fmt.Sscanf(part, "%d/%d", &k, &n); err != nil || n == 0 {
		return nil, fmt.Errorf("%q is not like 1/4", part)
	}
	var mine []guard
	for i, g := range guards {
		if uint64(i)%n == k%n {
			mine = append(mine, g)
		}
	}
	return mine, nil
}
