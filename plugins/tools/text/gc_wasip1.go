package main

import "runtime/debug"

// A call of this plugin begins with fresh memory and ends soon, so collecting
// garbage early is lost time. The collector comes when half of the plugin's
// memory is used.
func init() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(maxMemory / 2)
}
