package scripted_test

import (
	"os"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/scripted"
)

// The script in the documentation is a script, and plays as the text says.
func TestTheDocumentedScriptPlays(t *testing.T) {
	page, err := os.ReadFile("../../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("docs/providers.md holds no yaml block")
	}
	script, err := scripted.Parse("calculator.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m := script.Model()
	talk := []provider.Message{provider.User("what is 6*7?")}
	resp, err := m.Generate(t.Context(), request(talk...), nil)
	if err != nil {
		t.Fatal(err)
	}
	denied := provider.ToolResults(provider.ToolResult{CallID: "call_1", Content: "the core does not list kv", Status: "denied", IsError: true})
	u := unmet(t, second(m.Generate(t.Context(), request(talk[0], resp.Message(), denied), nil)))
	if shown := strings.Join(strings.Fields(string(page)), " "); !strings.Contains(shown, u.Error()) {
		t.Errorf("the documented message differs from the real one:\n%s", u)
	}
}
