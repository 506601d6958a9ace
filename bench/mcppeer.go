package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveMCP is a server of one typed tool, as the SDK's own examples write one.
func serveMCP() {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, echoed, error) {
		return nil, in, nil
	})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// startMCP is a server process that is kept, called over its standard input and output.
func startMCP(ctx context.Context) ([]peer, func(), error) {
	cmd, err := self("mcp")
	if err != nil {
		return nil, nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, nil, err
	}
	call := func(ctx context.Context, doc []byte) ([]byte, error) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: json.RawMessage(doc)})
		if err != nil {
			return nil, err
		}
		if res.IsError || len(res.Content) != 1 {
			return nil, errNotEchoed
		}
		text, ok := res.Content[0].(*mcp.TextContent)
		if !ok {
			return nil, errNotEchoed
		}
		return []byte(text.Text), nil
	}
	return []peer{{mcpStdio, call}}, func() { _ = session.Close() }, nil
}
