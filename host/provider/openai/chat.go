package openai

import (
	"math"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// chat translates a valid request.
func (m *Model) chat(req provider.Request) sdk.ChatCompletionRequest {
	chat := sdk.ChatCompletionRequest{
		Model:           req.Model,
		Messages:        messages(req),
		Tools:           tools(req.Tools),
		Stop:            req.StopSequences,
		User:            req.Metadata[provider.MetadataEndUser],
		ReasoningEffort: m.cfg.ReasoningEffort,
		StreamOptions:   &sdk.StreamOptions{IncludeUsage: true},
	}
	if m.wantsCompletionTokens(req.Model) {
		chat.MaxCompletionTokens = req.MaxOutputTokens
	} else {
		//lint:ignore SA1019 servers that only speak the older member are why this branch is here
		chat.MaxTokens = req.MaxOutputTokens
	}
	if t := req.Temperature; t != nil {
		// The library leaves out a zero; the smallest number above it means the same.
		chat.Temperature = max(float32(*t), math.SmallestNonzeroFloat32)
	}
	return chat
}

// wantsCompletionTokens chooses between the two spellings of the output limit:
// OpenAI's newer models refuse max_tokens, many compatible servers know nothing else.
func (m *Model) wantsCompletionTokens(model string) bool {
	if m.cfg.BaseURL == DefaultBaseURL {
		return true
	}
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

func messages(req provider.Request) []sdk.ChatCompletionMessage {
	var out []sdk.ChatCompletionMessage
	if req.System != "" {
		out = append(out, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleSystem, Content: req.System})
	}
	for _, msg := range req.Messages {
		switch msg.Role {
		case provider.RoleSystem:
			out = append(out, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleSystem, Content: msg.Text()})
		case provider.RoleUser:
			out = append(out, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleUser, Content: msg.Text()})
		case provider.RoleAssistant:
			m := sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleAssistant, Content: msg.Text(), ToolCalls: calls(msg)}
			if m.Content != "" || len(m.ToolCalls) > 0 {
				out = append(out, m)
			}
		case provider.RoleTool:
			out = append(out, results(msg)...)
		}
	}
	return out
}

func calls(msg provider.Message) []sdk.ToolCall {
	var out []sdk.ToolCall
	for _, c := range msg.Calls() {
		args := string(c.Arguments)
		if args == "" {
			args = "{}"
		}
		out = append(out, sdk.ToolCall{
			ID: c.ID, Type: sdk.ToolTypeFunction,
			Function: sdk.FunctionCall{Name: c.Name, Arguments: args},
		})
	}
	return out
}

// results gives every tool result a message of its own, as the interface wants.
func results(msg provider.Message) []sdk.ChatCompletionMessage {
	var out []sdk.ChatCompletionMessage
	for _, part := range msg.Parts {
		content := part.Result.Content
		if content == "" {
			// The library drops an empty content member and servers refuse the message.
			content = "(no output)"
		}
		out = append(out, sdk.ChatCompletionMessage{
			Role: sdk.ChatMessageRoleTool, ToolCallID: part.Result.CallID, Content: content,
		})
	}
	return out
}

func tools(defs []provider.ToolDefinition) []sdk.Tool {
	var out []sdk.Tool
	for _, d := range defs {
		out = append(out, sdk.Tool{Type: sdk.ToolTypeFunction, Function: &sdk.FunctionDefinition{
			Name: d.WireName, Description: d.Description, Parameters: d.InputSchema,
		}})
	}
	return out
}
