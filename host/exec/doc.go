// Package exec owns the builtin tools that run programs of the machine for an agent: process.exec, which takes words,
// process.shell, which takes one text and which a core must switch on, and task.start, which queues what process.exec would
// run as a task of the session (package task). A task is planned anew when it begins, under what the core says then, and does
// not run unless the plan is word for word and file for file the one that was approved. It gets no secrets.
//
// It refuses, before anybody is asked: a program that the core does not list, that cannot be pinned ([process.Finder]) or
// that lies in the workspace; options that are code ([command.Judge]); a folder outside the workspace; a variable that changes
// what a program is. What passes becomes an [effect.Plan]: the words, the folder, the variables' names, the executable
// and every file that the words name, each with its digest. An allowance for the session covers exactly that, and there is
// none where the program runs others or other text. At the moment of use the files are compared again, and what has changed does
// not run.
//
// A program gets the environment of [command.Passed], what the core declares and the call sets, and the secrets that the gate bound
// for this call; no secret is ever a word. Both outputs are bounded in the result; a longer one is kept whole, with bound
// secrets taken out, in a private file of the home. The result of a program that ended is a success of the
// tool whatever its exit code: that is part of the result. One that had to be stopped is timed_out or cancelled only once
// everything it started is gone, and otherwise indeterminate.
//
// A program is not sandboxed. Nothing here survives a crash but those files.
package exec
