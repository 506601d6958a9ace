// Package command owns what can be said of a program's command line and environment before it runs: which words of it
// are code for the program to run, which programs run other programs, and which variables change what a program is.
//
// [Judge] takes the words and returns findings; [RefusedVariable] takes a name. The tables behind them are data with a
// note where each row comes from. Nothing is inferred from the text of a script or a shell line: a program that takes
// one is found by its name, and what it was told to run is a person's to read.
//
// The tables err to the strict side: a short option counts wherever its letter stands in a cluster, a long one also when
// abbreviated, and behind a program that runs others every further word is judged as if it were the program. They can
// not be complete, and a program that they do not know is not a harmless one. They decide whether an allowance may be
// remembered and what is refused outright, never that something runs without being asked about.
//
// No I/O, no clock. Nothing survives a crash.
package command
