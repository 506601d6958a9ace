// Package task owns background tasks: work that outlives the turn that asked for it, and the runs of schedules.
//
//	queued -> running <-> blocked -> succeeded | failed | cancelled | lost
//
// A task is a row before it is anything else. It captures the owner of its session, as the session has it, when it is
// queued. A [Worker] claims it under a fence, runs it through the [Runner] of its kind, and beats its claim for as long as
// it runs. Its end is written under that claim, once, and only while the session still has the owner that was captured: the
// next turn of the session is told, exactly once (package turn).
//
// It refuses to do anything twice. A task whose worker is gone is lost, and nobody runs a lost one again. A run of a
// schedule has the instance (core, schedule, due time), of which there is one row at most, whichever process looks. At
// most one task is open for one write scope, and for all that lies in it. Cancelling is a durable request and may be repeated.
//
// It orders: tasks of a kind begin in the order they were queued, at most as many of each kind at once as the worker has places. Logs keep
// their ends, bounded in lines and bytes; an append reads nothing.
//
// After a crash the rows are there; [Queue.RecoverTasks] makes what the dead host ran lost, by its epoch and by expiry.
// Source: Host Runtime Contracts, PrincipalScope and TurnExecution ("detached work is a separately owned runtime task").
package task
