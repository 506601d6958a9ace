package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	if served := serveRole(os.Getenv(roleVariable)); served {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	plan := plan{}
	flags.IntVar(&plan.rounds, "rounds", 9, "rounds; each runs every case once")
	flags.DurationVar(&plan.each, "each", 150*time.Millisecond, "how long one case runs in one round")
	suite := flags.Bool("suite", false, "run the benchmarks of every package first, and end with a line for each goal")
	shape := flags.String("shape", "", "the shape of the document, text or records; empty: both")
	if err := flags.Parse(args); err != nil {
		return err
	}
	shapes := []string{"text", "records"}
	if *shape != "" {
		shapes = []string{*shape}
	}
	var held []string
	known := measured{}
	if *suite {
		var err error
		if known, err = runSuite(ctx, out); err != nil {
			return err
		}
	}
	peers, stop, err := startAll(ctx)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprint(out, machine())
	for _, shape := range shapes {
		var tables []table
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
			t, err := plan.measure(ctx, peers, document(shape, size))
			if err != nil {
				return err
			}
			t.size, t.shape = size, shape
			tables = append(tables, t)
		}
		if err := report(out, tables); err != nil {
			return err
		}
		held = append(held, lines(tables)...)
		known.peers(tables)
	}
	fmt.Fprint(out, machine())
	if *suite {
		more, err := known.lines()
		if err != nil {
			return err
		}
		held = append(more, held...)
	}
	_, err = fmt.Fprintf(out, "\n%s\n", strings.Join(held, "\n"))
	return err
}
