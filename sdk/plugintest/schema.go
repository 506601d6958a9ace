package plugintest

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// checkArgs is what the host does before a guest runs: arguments that the
// schema does not allow never reach the handler.
func checkArgs(t testing.TB, tool wire.Tool, args string) *sdk.Fault {
	t.Helper()
	if err := validate(t, tool.Name+" input", string(tool.InputSchema), args); err != nil {
		return &sdk.Fault{Code: sdk.Invalid, Message: err.Error()}
	}
	return nil
}

// checkResult fails the test, since a host would call such a reply failed.
func checkResult(t testing.TB, tool wire.Tool, result []byte) {
	t.Helper()
	if err := validate(t, tool.Name+" output", string(tool.OutputSchema), string(result)); err != nil {
		t.Fatalf("plugintest: the result of %s does not fit its output schema: %v\nresult: %s", tool.Name, err, result)
	}
}

func validate(t testing.TB, name, schema, instance string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatalf("plugintest: %s schema is not JSON: %v", name, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	const url = "plugin:schema"
	if err := c.AddResource(url, doc); err != nil {
		t.Fatalf("plugintest: %s schema: %v", name, err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		t.Fatalf("plugintest: %s schema: %v", name, err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(instance))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}
