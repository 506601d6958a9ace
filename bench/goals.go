package main

import (
	"fmt"
	"math"
	"strconv"
)

// goal is one figure that Portcullis holds itself to, beside the ratios of the effect path.
type goal struct {
	name  string
	unit  string
	most  float64 // 0: there is none
	least float64 // 0: there is none
	value func(m measured) float64
}

// of is one value that a benchmark reports; NaN when it did not.
func of(benchmark, unit string) func(measured) float64 {
	return func(m measured) float64 {
		if v, ok := m[benchmark][unit]; ok {
			return v
		}
		return math.NaN()
	}
}

// over is one value by another.
func over(a, b func(measured) float64) func(measured) float64 {
	return func(m measured) float64 { return a(m) / b(m) }
}

// less is one value without another.
func less(a, b func(measured) float64) func(measured) float64 {
	return func(m measured) float64 { return a(m) - b(m) }
}

// geometric is the mean of ratios.
func geometric(unit string, benchmarks ...string) func(measured) float64 {
	return func(m measured) float64 {
		product := 1.0
		for _, b := range benchmarks {
			product *= of(b, unit)(m)
		}
		return math.Pow(product, 1/float64(len(benchmarks)))
	}
}

// highest is the worst of several.
func highest(unit string, benchmarks ...string) func(measured) float64 {
	return func(m measured) float64 {
		worst := math.Inf(-1)
		for _, b := range benchmarks {
			worst = math.Max(worst, of(b, unit)(m))
		}
		return worst
	}
}

// goals are in the order of docs/performance.md.
func goals() []goal {
	const plain, stops = "metered/plain", "interrupt/plain"
	work := []string{"Meter/go/json", "Meter/go/sha256", "Meter/go/sort", "Meter/go/regexp", "Meter/go/fib"}
	all := append([]string{"Meter/go/spin", "Meter/wat/fib", "Meter/wat/spin"}, work...)
	warmGRPC := of("peers/text/1 KiB/"+goPlugin, "us")
	return []goal{
		{"metering, geometric mean of a Go guest", "x of plain", 1.25, 0, geometric(plain, work...)},
		{"metering, JSON", "x of plain", 1.35, 0, of("Meter/go/json", plain)},
		{"metering, worst", "x of plain", 2.2, 0, highest(plain, all...)},
		{"the engine's own interruption, JSON, over metering", "x", 0, 1, over(of("Meter/go/json", stops), of("Meter/go/json", plain))},
		{"stop behind the deadline, p99, worst guest", "ms", 5, 0, highest("late-p99-ms", "Stop/loop", "Stop/tree", "Stop/fill", "Stop/clock_loop", "Stop/yield_loop")},
		{"fresh state, Go guest, p50", "us", 350, 0, of("Fresh/go/1KiB", "p50-us")},
		{"fresh state, Go guest, p99", "us", 1000, 0, of("Fresh/go/1KiB", "p99-us")},
		{"fresh state, small guest, p50", "us", 30, 0, of("Fresh/small/1KiB", "p50-us")},
		{"fresh state, small guest, p99", "us", 150, 0, of("Fresh/small/1KiB", "p99-us")},
		{"fresh state, Go guest, less a warm gRPC call", "us", 150, 0, less(of("Fresh/go/1KiB", "p50-us"), warmGRPC)},
		{"fresh state against Extism, 1 KiB", "x", 0, 20, of("FreshAgainstExtism/1KiB", "extism/ours")},
		{"fresh state against Extism, JSON 1 KiB, over the guest's own compute", "x", 0, 20, of("FreshAgainstExtism/json1KiB", "extism/ours-over-compute")},
		{"fresh state against Extism, JSON 1 KiB, the guest's compute counted on both sides", "x", 0, 20, of("FreshAgainstExtism/json1KiB", "extism/ours")},
		{"two cores over one, small guest", "x", 0, 1.3, of("FreshOnTwoCores/small", "two/one-best")},
		{"two cores over one, Go guest", "x", 0, 1.3, of("FreshOnTwoCores/go", "two/one-best")},
		{"beside spinning guests, p99 of a call over a quiet host's", "x", 10, 0, over(of("Beside/metered", "call-p99-ms"), of("Beside/quiet", "call-p99-ms"))},
		{"beside spinning guests, p99 of a call", "ms", 60, 0, of("Beside/metered", "call-p99-ms")},
		{"beside spinning guests, longest collection over a quiet host's", "x", 10, 0, over(of("Beside/metered", "gc-max-ms"), of("Beside/quiet", "gc-max-ms"))},
		{"beside spinning guests, longest collection", "ms", 60, 0, of("Beside/metered", "gc-max-ms")},
		{"runaway recursion, stack", "MiB", 190, 0, of("Recursion/metered", "MiB/op")},
		{"20 Go plugins, ready", "ms", 250, 0, of("TwentyGoPlugins", "ms-ready")},
		{"20 Go plugins, ready, over reading and hashing the files", "x", 2, 0, of("TwentyGoPlugins", "x-ready-over-reading")},
		{"20 Go plugins, ready, memory", "MB", 60, 0, of("TwentyGoPlugins", "MB-ready")},
		{"first call of a Go plugin over its cached compile", "x", 1.5, 0, of("TwentyGoPlugins", "x-first-call-over-cached-compile")},
		{"a loaded Go plugin", "MB", 20, 0, of("TwentyGoPlugins", "MB-a-plugin")},
		{"20 Go plugins, 4 hot", "MB", 150, 0, of("TwentyGoPlugins", "MB-4-hot")},
		{"evicted, given back", "%", 0, 95, of("TwentyGoPlugins", "%-back")},
		{"turns, 1 session, over a quarter of the disk's flushes", "x", 0, 0.6, of("Turns/1", "of-floor")},
		{"turns, 16 sessions, over a quarter of the disk's flushes", "x", 0, 1.8, of("Turns/16", "of-floor")},
		{"turns, 64 sessions, over a quarter of the disk's flushes", "x", 0, 3.5, of("Turns/64", "of-floor")},
		{"turns, 16 sessions, p99", "ms", 50, 0, of("Turns/16", "p99-ms")},
		{"a prompt after 100,000 messages over one after 100", "x", 1.5, 0, over(of("Prepare/100000", "ns/op"), of("Prepare/100", "ns/op"))},
		{"host start, 10,000 sessions", "ms", 1000, 0, of("Start", "ms-ready")},
		{"idle Go instance", "KiB", 150, 0, of("IdleInstance/go", "idle-KiB")},
		{"typed call of package sdk, 1 KiB", "us", 120, 0, of("TypedCall", "guest-us/call")},
		{"minimal Go tool", "MB", 2.2, 0, of("ColdCompile", "MB")},
		{"minimal Go tool, cold compile", "ms", 1300, 0, func(m measured) float64 { return of("ColdCompile", "ns/op")(m) / 1e6 }},
	}
}

// lines are the goals, each on a line. A goal without a figure is an error: its benchmark has not run.
func (m measured) lines() ([]string, error) {
	var out []string
	for _, g := range goals() {
		got := g.value(m)
		if math.IsNaN(got) || math.IsInf(got, 0) {
			return nil, fmt.Errorf("%s: no benchmark reported it", g.name)
		}
		bound, ok := "<= "+figure(g.most), got <= g.most
		if g.least > 0 {
			bound, ok = ">= "+figure(g.least), got >= g.least
		}
		out = append(out, fmt.Sprintf("%s: %s %s (%s) %s", g.name, figure(got), g.unit, bound, word(ok)))
	}
	return out, nil
}

func word(held bool) string {
	if held {
		return "ok"
	}
	return "missed"
}

// figure has three digits that count.
func figure(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
