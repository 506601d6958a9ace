// Package main breaks off in every way that Go shows a stack for: one export for each. What a build leaves out of
// Go's tables is not missed in what these print.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

func main() {}

type shape interface{ area(n int) int }

type square struct{ sides []int }

// area is reached through a wrapper that the compiler makes for the pointer.
func (s square) area(n int) int { return s.sides[n] }

func inlined(s shape, n int) int { return s.area(n) + 1 }

//go:wasmexport index
func index() int32 { return int32(inlined(&square{[]int{1}}, len(os.Args)+7)) }

//go:wasmexport nilPointer
func nilPointer() int32 {
	var s *square
	return int32(inlined(s, 0))
}

//go:wasmexport nilMap
func nilMap() int32 {
	var m map[string]int
	m[fmt.Sprint(len(os.Args))] = 1
	return 0
}

//go:wasmexport unhashable
func unhashable() int32 {
	m := map[any]int{1: 1, "2": 2}
	return int32(m[[]int{len(os.Args)}])
}

//go:wasmexport incomparable
func incomparable() int32 {
	m := map[any]int{}
	for i := range 100 {
		m[i] = i
	}
	m[struct{ v any }{func() {}}] = 1
	return 0
}

//go:wasmexport divide
func divide() int32 { return int32(7 / (len(os.Args) / 100)) }

//go:wasmexport assertion
func assertion() int32 {
	var v any = shape(&square{})
	return int32(len(v.(fmt.Stringer).String()))
}

//go:wasmexport inCallback
func inCallback() int32 {
	slices.SortFunc([]int{3, 1, 2}, func(a, b int) int { panic(errors.New("from the callback")) })
	return 0
}

//go:wasmexport again
func again() int32 {
	defer func() { panic(fmt.Sprint("after ", recover())) }()
	return index()
}

//go:wasmexport whileDeferred
func whileDeferred() int32 {
	defer func() { nilMap() }()
	return divide()
}

//go:wasmexport elsewhere
func elsewhere() int32 {
	done := make(chan bool)
	go func() { defer close(done); index() }()
	<-done
	return 0
}

//go:wasmexport closed
func closed() int32 {
	c := make(chan int)
	close(c)
	close(c)
	return 0
}

//go:wasmexport asleep
func asleep() int32 {
	<-make(chan int)
	return 0
}

// overflow ends in a fault that shows the runtime's own functions too.
//
//go:wasmexport overflow
func overflow() int32 {
	debug.SetMaxStack(1 << 16)
	return deeper(1)
}

func deeper(n int32) int32 { return deeper(n+1) + 1 }

// told goes on: it prints what a program sees of its stack, and of faults that it recovers from.
//
//go:wasmexport told
func told() int32 {
	func() {
		defer recovered()
		index()
	}()
	func() {
		defer square.recovers(square{})
		defer recovered()
		defer func() {
			callers(0)
			recovered()
		}()
		nilMap()
	}()
	slices.SortFunc([]int{1, 2}, func(a, b int) int { callers(1); return 0 })
	fmt.Fprintf(os.Stderr, "%s", debug.Stack())
	gone := make(chan bool)
	go func() {
		defer close(gone)
		defer callers(0)
		runtime.Goexit()
	}()
	<-gone
	return 0
}

func (s square) recovers() { fmt.Fprintln(os.Stderr, "recovers:", recover()) }

func recovered() {
	if r := recover(); r != nil {
		fmt.Fprintln(os.Stderr, "recovered:", r)
	}
	func() { fmt.Fprintln(os.Stderr, "too deep:", recover()) }()
}

func callers(skip int) {
	_, file, line, _ := runtime.Caller(skip)
	fmt.Fprintln(os.Stderr, "caller:", file, line)
	all := make([]uintptr, 50)
	frames := runtime.CallersFrames(all[:runtime.Callers(skip, all)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Fprintln(os.Stderr, f.Function, f.File, f.Line)
	}
}
