package provider

import (
	"fmt"
	"regexp"
)

// The pattern both vendors document for a function name (Anthropic Messages
// "tools[].name", OpenAI Chat Completions "tools[].function.name"): the
// narrower of the two.
var wireName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Validate reports why no vendor could answer r, as a bad_request [*Error], or
// nil. It is pure, and every model applies it before anything is sent, so the
// offline model refuses what a vendor would refuse.
func (r Request) Validate() error {
	if err := validateSettings(r); err != nil {
		return err
	}
	if err := validateTools(r.Tools); err != nil {
		return err
	}
	return validateConversation(r.Messages)
}

func validateSettings(r Request) error {
	switch t := r.Temperature; {
	case r.MaxOutputTokens < 0:
		return badRequest("max output tokens is %d: it must not be negative", r.MaxOutputTokens)
	case t != nil && !(*t >= 0 && *t <= 2):
		return badRequest("temperature is %v: it must be between 0 and 2", *t)
	}
	for i, s := range r.StopSequences {
		if s == "" {
			return badRequest("stop sequence %d is empty", i)
		}
	}
	return nil
}

func validateTools(tools []ToolDefinition) error {
	seen := make(map[string]string, len(tools))
	for _, t := range tools {
		if !wireName.MatchString(t.WireName) {
			return badRequest("tool %q has wire name %q: it must match %s", t.Name, t.WireName, wireName)
		}
		if other, taken := seen[t.WireName]; taken {
			return badRequest("tools %q and %q share the wire name %q", other, t.Name, t.WireName)
		}
		seen[t.WireName] = t.Name
		if fault := objectFault(t.InputSchema); fault != "" {
			return badRequest("tool %q: its input schema is not a JSON object: %s", t.Name, fault)
		}
	}
	return nil
}

// validateConversation keeps the causal rule both vendors enforce: every tool
// call of an assistant message is answered, exactly once, before anyone else speaks.
func validateConversation(messages []Message) error {
	if len(messages) == 0 {
		return badRequest("the conversation is empty")
	}
	var owed map[string]bool
	for i, m := range messages {
		if err := validateMessage(i, m); err != nil {
			return err
		}
		if m.Role != RoleTool && len(owed) > 0 {
			return badRequest("message %d (%s) comes before the results of %d tool call(s)", i, m.Role, len(owed))
		}
		switch m.Role {
		case RoleAssistant:
			owed = make(map[string]bool)
			for _, p := range m.Parts {
				if p.Kind != PartToolCall {
					continue
				}
				if p.Call.ID == "" || owed[p.Call.ID] {
					return badRequest("message %d: tool call id %q is empty or used twice", i, p.Call.ID)
				}
				owed[p.Call.ID] = true
			}
		case RoleTool:
			for _, p := range m.Parts {
				if !owed[p.Result.CallID] {
					return badRequest("message %d answers tool call %q, which the assistant message before it does not hold or which is answered already", i, p.Result.CallID)
				}
				delete(owed, p.Result.CallID)
			}
		}
	}
	if len(owed) > 0 {
		return badRequest("the conversation ends before the results of %d tool call(s)", len(owed))
	}
	if last := messages[len(messages)-1].Role; last != RoleUser && last != RoleTool {
		return badRequest("the conversation ends with a %s message: the model has nothing to answer", last)
	}
	return nil
}

func validateMessage(i int, m Message) error {
	if len(m.Parts) == 0 {
		return badRequest("message %d (%s) has no parts", i, m.Role)
	}
	text := false
	for j, p := range m.Parts {
		if !mayHold(m.Role, p.Kind) {
			return badRequest("message %d part %d: a %q message cannot hold a %q part", i, j, m.Role, p.Kind)
		}
		if p.Kind == PartToolCall && p.Call.Name == "" {
			return badRequest("message %d part %d: the tool call has no name", i, j)
		}
		text = text || (p.Kind == PartText && p.Text != "")
	}
	if !text && (m.Role == RoleUser || m.Role == RoleSystem) {
		return badRequest("message %d (%s) is empty text", i, m.Role)
	}
	return nil
}

func mayHold(r Role, k PartKind) bool {
	switch r {
	case RoleSystem, RoleUser:
		return k == PartText
	case RoleAssistant:
		return k == PartText || k == PartToolCall || k == PartOpaque
	case RoleTool:
		return k == PartToolResult
	default:
		return false
	}
}

func badRequest(format string, args ...any) *Error {
	return &Error{Kind: KindBadRequest, Sentence: fmt.Sprintf(format, args...)}
}
