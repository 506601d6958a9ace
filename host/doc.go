// Package host is the façade: it joins the engines into one running host and owns their order of life.
//
// [Open] reads the home's configuration, ends what an earlier host left running, and makes the gate; [Host.Run] runs
// turns, [Host.Call] single effects; [Host.Close] ends operator authority first, then cancels what runs and waits for
// it, then frees the sandbox. Everything costly (the sandbox, a plugin's code, a model's client) is made when first
// needed. Only this package decides what runs beside what.
//
// It refuses to run a core whose files do not decode, whose plugins are missing or changed, or whose approval rules
// cannot be reached. After a crash the next Open of the same home recovers: it replays nothing.
package host
