// Package process owns the programs that the host runs: it starts them, holds them to bounds, and ends them with
// everything they started.
//
// A [Command] is a pinned executable, its words and its whole environment; there is no shell, no search and nothing
// inherited. [Engine.Run] runs one to its end; [Engine.Start] gives a handle on one that stays, with its streams.
//
// On Linux each program has a keeper: this very program started again ([Keep]), which adopts whatever the program leaves
// behind, and only that, so that nothing here waits for children of others in the host's process. In order: the keeper
// compares the pinned files once more, starts the program in a session of its own through the descriptor that was
// hashed, and reports its end; then what is left is given [Limits.Linger] to end by itself, asked to (SIGTERM), and after
// [Limits.Grace] killed, until the kernel says that there is no descendant left. That word and no other is [Ended.Clean]. What cannot be
// confirmed within [Limits.Cleanup] is said to be so. The keeper signals only children that it has not waited for yet, whose
// numbers cannot belong to anybody else; a number that is looked up otherwise is compared with its start time first.
//
// A host that dies, however it dies, takes its programs along: the keeper's control pipe ends. A program that kills its
// keeper is not confirmed to be gone. Elsewhere there is no keeper: the process group is ended and confirmed, and what
// left the group is not seen. See docs/threat-model.md; none of this is a sandbox.
//
// After a crash of the machine nothing is left but the files of [Artifacts].
package process
