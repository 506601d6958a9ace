package process

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// Streams are what a program that runs in the foreground reads and writes. Writers must take everything: a program waits
// for a writer that does not. A nil writer takes everything to nowhere.
type Streams struct {
	Stdin          []byte
	Stdout, Stderr io.Writer
	Broken         <-chan struct{} // may be nil; closed when the output cannot be kept: the program is stopped
}

// Run runs a program to its end. When ctx ends it is stopped, with everything it started, and Run returns after that: look
// at ctx for why, and at [Ended.Clean] for whether it is certain. The error is as of [Engine.Start]; otherwise the program
// started.
func (e *Engine) Run(ctx context.Context, cmd Command, s Streams) (Ended, error) {
	c, err := e.Start(ctx, cmd)
	if err != nil {
		return Ended{}, err
	}
	defer c.Release()
	var work sync.WaitGroup
	work.Go(func() {
		_, _ = io.Copy(c.stdin, bytes.NewReader(s.Stdin)) // a program need not read all of it
		_ = c.stdin.Close()
	})
	work.Go(func() { drain(c.stdout, s.Stdout) })
	work.Go(func() { drain(c.stderr, s.Stderr) })
	stopped := false
	select {
	case <-c.Done():
	case <-ctx.Done():
		stopped = true
	case <-s.Broken:
		stopped = true
	}
	if stopped {
		c.Stop()
	}
	<-c.Done()
	_ = c.stdin.Close() // a writer that waits for a reader comes back
	if !c.Ended().Clean {
		c.Release() // what is left may hold the other ends
	}
	work.Wait()
	end := c.Ended()
	end.Stopped = stopped
	return end, nil
}

// drain reads a stream to its end, whatever becomes of what was read.
func drain(from io.Reader, to io.Writer) {
	if to == nil {
		to = io.Discard
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		_, _ = to.Write(buf[:n]) // see [Streams]
		if err != nil {
			return
		}
	}
}
