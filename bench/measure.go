package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// plan is how long is measured.
type plan struct {
	rounds int
	each   time.Duration
}

// table is what one document cost each peer.
type table struct {
	shape string
	size  int
	lines []line
}

// line is one peer's time for one call over the rounds.
type line struct {
	name        string
	median, min time.Duration
}

// of is the median of a peer, 0 when it did not run.
func (t table) of(name string) time.Duration {
	for _, l := range t.lines {
		if l.name == name {
			return l.median
		}
	}
	return 0
}

// measure runs every peer once a round, so that what else the machine does falls on all of them alike.
func (p plan) measure(ctx context.Context, peers []peer, doc []byte) (table, error) {
	counts := make([]int, len(peers))
	for i, one := range peers {
		got, err := one.call(ctx, doc)
		if err == nil && !same(got, doc) {
			err = errNotEchoed
		}
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", one.name, err)
		}
		took, err := timed(ctx, one, doc, 3)
		if err != nil {
			return table{}, err
		}
		counts[i] = int(max(1, min(p.each/max(took, 1), 100_000)))
	}
	times := make([][]time.Duration, len(peers))
	for range p.rounds {
		for i, one := range peers {
			took, err := timed(ctx, one, doc, counts[i])
			if err != nil {
				return table{}, err
			}
			times[i] = append(times[i], took)
		}
	}
	var t table
	for i, one := range peers {
		slices.Sort(times[i])
		t.lines = append(t.lines, line{one.name, times[i][len(times[i])/2], times[i][0]})
	}
	return t, nil
}

// timed is the mean time of n calls.
func timed(ctx context.Context, one peer, doc []byte, n int) (time.Duration, error) {
	began := time.Now()
	for range n {
		if _, err := one.call(ctx, doc); err != nil {
			return 0, fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return time.Since(began) / time.Duration(n), nil
}
