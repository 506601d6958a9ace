// Package app turns a command's flags and a home folder into the running parts that the command needs: the home
// itself, its lock, the store, the host.
//
// It owns where the home is, that it is the operator's alone (mode 0700), and that one process at a time runs turns in
// it. The lock is the operating system's, on a file of the home: a process that dies gives it up, and what the file
// says of its holder is for people only.
//
// It refuses a home that others can read, a home of an other user, and, for work that runs effects, a home that
// another process is running. Everything is opened as late and as little as a command allows: reading history opens
// the store alone.
//
// Order of opening a host: home, lock, store, host; closing goes the other way. Nothing of its own survives a crash
// but an empty lock.
package app
