package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// startExec is a process for each call: a small Go binary, and cat where there is one.
func startExec(ctx context.Context) ([]peer, func(), error) {
	dir, err := os.MkdirTemp("", "portcullis-bench-")
	if err != nil {
		return nil, nil, err
	}
	stop := func() { _ = os.RemoveAll(dir) }
	child := filepath.Join(dir, "child")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", child, "./child")
	if out, err := build.CombinedOutput(); err != nil {
		stop()
		return nil, nil, fmt.Errorf("build the child: %w: %s", err, out)
	}
	peers := []peer{{execGo, perCall(child)}}
	if cat, err := exec.LookPath("cat"); err == nil {
		peers = append(peers, peer{execCat, perCall(cat)})
	}
	return peers, stop, nil
}

func perCall(path string) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, doc []byte) ([]byte, error) {
		cmd := exec.CommandContext(ctx, path)
		cmd.Stdin = bytes.NewReader(doc)
		return cmd.Output()
	}
}
