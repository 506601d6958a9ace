package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// params translates a valid request.
func (m *Model) params(req provider.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{
		Model:         req.Model,
		MaxTokens:     int64(req.MaxOutputTokens),
		System:        system(req),
		Messages:      messages(req.Messages),
		StopSequences: req.StopSequences,
	}
	if req.Temperature != nil {
		p.Temperature = sdk.Float(*req.Temperature)
	}
	if user := req.Metadata[provider.MetadataEndUser]; user != "" {
		p.Metadata.UserID = sdk.String(user)
	}
	if m.cfg.PromptCache {
		p.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name:        t.WireName,
			Description: sdk.String(t.Description),
			// The schema goes out as the host wrote it: the library's own struct would
			// reorder it and lose keywords it has no field for.
			InputSchema: param.Override[sdk.ToolInputSchemaParam](t.InputSchema),
		}})
	}
	return p
}

// system joins the system prompt and every system message, in order.
func system(req provider.Request) []sdk.TextBlockParam {
	var blocks []sdk.TextBlockParam
	if req.System != "" {
		blocks = append(blocks, sdk.TextBlockParam{Text: req.System})
	}
	for _, msg := range req.Messages {
		if msg.Role == provider.RoleSystem {
			blocks = append(blocks, sdk.TextBlockParam{Text: msg.Text()})
		}
	}
	return blocks
}

// messages translates the conversation, merging neighbours that end up with the
// same vendor role.
func messages(in []provider.Message) []sdk.MessageParam {
	loop := lastUser(in)
	var out []sdk.MessageParam
	for i, msg := range in {
		role := sdk.MessageParamRoleUser
		switch msg.Role {
		case provider.RoleSystem:
			continue
		case provider.RoleAssistant:
			role = sdk.MessageParamRoleAssistant
		}
		blocks := content(msg, i > loop)
		if len(blocks) == 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].Role == role {
			out[last].Content = append(out[last].Content, blocks...)
			continue
		}
		out = append(out, sdk.MessageParam{Role: role, Content: blocks})
	}
	return out
}

// lastUser returns the index of the last user message: what follows it is the
// tool loop now running.
func lastUser(in []provider.Message) int {
	for i := len(in) - 1; i >= 0; i-- {
		if in[i].Role == provider.RoleUser {
			return i
		}
	}
	return -1
}

func content(msg provider.Message, inLoop bool) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	for _, part := range msg.Parts {
		switch part.Kind {
		case provider.PartText:
			// The API refuses empty text blocks.
			if part.Text != "" {
				blocks = append(blocks, sdk.NewTextBlock(part.Text))
			}
		case provider.PartToolCall:
			args := part.Call.Arguments
			if args == nil {
				args = json.RawMessage("{}")
			}
			blocks = append(blocks, sdk.NewToolUseBlock(part.Call.ID, args, part.Call.Name))
		case provider.PartToolResult:
			blocks = append(blocks, result(part.Result))
		case provider.PartOpaque:
			if inLoop && part.Opaque.Source == string(provider.Anthropic) {
				blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](part.Opaque.Data))
			}
		}
	}
	return blocks
}

func result(r provider.ToolResult) sdk.ContentBlockParamUnion {
	block := sdk.ToolResultBlockParam{ToolUseID: r.CallID, IsError: sdk.Bool(r.IsError)}
	// The API refuses empty text blocks; a result without content is fine.
	if r.Content != "" {
		block.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Content}}}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &block}
}
