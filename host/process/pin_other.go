//go:build !unix

package process

const openFlags = 0

const modesCount = false
