//go:build unix

package process

import "syscall"

// openFlags keep an open from following a link that came meanwhile, and from waiting.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_CLOEXEC

// modesCount says that file modes say who may write.
const modesCount = true
