package redact_test

import (
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

// A token that does not come whole is still one: cut off by a limit, wrapped at a line's end, or with something glued to
// it. What a person makes up in its place is none.
func TestATokenInPiecesIsStillOne(t *testing.T) {
	const (
		random20 = "q7Vd9xK2mR4tBw8ZcE1f"
		random35 = "SyQ7vd9xK2mR4tBw8ZcE1fHj6LpNs3UaYg0"
	)
	random93 := (random20 + random35 + random20 + random20)[:93]
	for name, c := range map[string]struct{ line, secret string }{
		"anthropic, whole":              {"key § is", "sk-ant-api03-" + random93 + "AA"},
		"anthropic, cut off":            {"key §… is", "sk-ant-api03-" + random93[:60]},
		"anthropic, cut off early":      {"key §", "sk-ant-api03-" + random20},
		"anthropic, wrapped":            {"key §\n is", "sk-ant-api03-" + random93[:66]},
		"anthropic, glued to more":      {"key § is", "sk-ant-api03-" + random93 + "AA_and_more"},
		"anthropic, another end":        {"key § is", "sk-ant-api03-" + random93 + "wQ"},
		"anthropic admin, cut off":      {"key § is", "sk-ant-admin01-" + random93[:60]},
		"google, whole":                 {"key § is", "AIza" + random35},
		"google, whole, another start":  {"key § is", "AIza" + random35[2:] + "xY"},
		"google, cut off":               {"key § is", "AIza" + random35[:24]},
		"google, glued to more":         {"key § is", "AIza" + random35 + "abcd123"},
		"telegram, cut off":             {"bot § is", "123456789:AAH" + random35[:28]},
		"telegram, glued to more":       {"bot § is", "123456789:AAH" + random35[:32] + "_x"},
		"gitlab, x behind a dash":       {"key § is", "glpat-" + random20[:18] + "-x"},
		"gitlab, a dash at the end":     {"key § is", "glpat-" + random20 + "-"},
		"openai, null behind a dash":    {"key § is", "sk-proj-" + random20 + "-null"},
		"anthropic, x behind a dash":    {"key § is", "sk-ant-new01-" + random20 + "-x"},
		"slack, two x behind a dash":    {"key § is", "xoxb-123456789012-" + random20 + "-xx"},
		"anthropic, whole and dash x":   {"key § is", "sk-ant-api03-" + random93[:91] + "-xAA"},
		"anthropic, cut off, line ends": {"§", "sk-ant-api03-" + random93[:40] + "-x"},
	} {
		t.Run(name, func(t *testing.T) {
			in := strings.Replace(c.line, "§", c.secret, 1)
			got := (redact.Set{}).Text(redact.ForOperator, in)
			if before, after, _ := strings.Cut(c.line, "§"); !strings.HasPrefix(got, before+"<redacted:") || !strings.HasSuffix(got, ">"+after) {
				t.Errorf("%s\nbecame\n%s", in, got)
			}
		})
	}
	for _, stays := range []string{
		"glpat-xxxxxxxxxxxx1-xxxxxxxxxxxx",
		"xoxb-123456789012-XXXXXXXXXX",
		"sk-ant-api03-abc123xyz-456def789ghij-klmnopqrstuvwx-3456yza789bcde-1234AA",
		"AIza" + random35[2:] + "xYabcd123", // no key that is given out begins so
		"12345678:the-name-of-a-thing-that-goes-on-for-44",
	} {
		if got := (redact.Set{}).Text(redact.ForOperator, stays); got != stays {
			t.Errorf("%s became %s", stays, got)
		}
	}
}
