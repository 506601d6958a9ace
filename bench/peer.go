package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// peer is one way to run the echo. call is one call; it returns the document that came back.
type peer struct {
	name string
	call func(ctx context.Context, doc []byte) ([]byte, error)
}

// The names that ratios are made of.
const (
	ours      = "Portcullis, whole effect path"
	rawWazero = "wazero alone, reused instance (W)"
	goPlugin  = "hashicorp/go-plugin, gRPC process"
	mcpStdio  = "MCP go-sdk, stdio process"
	execGo    = "exec per call, Go binary"
	execCat   = "exec per call, cat"
	extismHot = "extism/go-sdk, reused plugin"
	extismNew = "extism/go-sdk, instance per call"
	validate  = "encoding/json.Valid (V)"
	strictly  = "jsontext strict validation (S)"
)

// roleVariable makes this binary serve instead of measure: the peers that keep a process get this one.
const roleVariable = "PORTCULLIS_BENCH_ROLE"

func serveRole(role string) bool {
	switch role {
	case "grpc":
		serveGRPC()
	case "mcp":
		serveMCP()
	default:
		return false
	}
	return true
}

// self is the command of this binary in a role.
func self(role string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	return cmd, nil
}

// startAll starts every peer. What it returns ends them.
func startAll(ctx context.Context) (peers []peer, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for _, start := range []func(context.Context) ([]peer, func(), error){
		startOurs, startRaw, startGoPlugin, startMCP, startExec, startExtism, startNative,
	} {
		some, end, err := start(ctx)
		if err != nil {
			stop()
			return nil, nil, err
		}
		peers, stops = append(peers, some...), append(stops, end)
	}
	return peers, stop, nil
}

// guest reads one of the sandbox's fixtures.
func guest(name string) ([]byte, error) {
	wasm, err := os.ReadFile(filepath.Join("..", "host", "sandbox", "testdata", name))
	if err != nil {
		return nil, fmt.Errorf("run this in the folder bench of the repository: %w", err)
	}
	return wasm, nil
}

var errNotEchoed = errors.New("the document did not come back")
