package plugintest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// SchemaCheck reports what is wrong with a JSON text under a JSON Schema.
type SchemaCheck func(schema, instance []byte) error

// Schemas replaces the check of arguments and results. Without it they are held
// to every keyword that the sdk derives from Go types, with the standard
// library alone; a schema of one's own (sdk.InputSchema, sdk.OutputSchema) that
// says more ends the test until it is given a validator which knows all of JSON
// Schema.
func (p *Plugin) Schemas(check SchemaCheck) *Plugin {
	p.check = check
	return p
}

// checkArgs is what the host does before a guest runs: arguments that the
// schema does not allow never reach the handler.
func (p *Plugin) checkArgs(t testing.TB, tool wire.Tool, args string) *sdk.Fault {
	t.Helper()
	if err := p.validate(t, "input schema of "+tool.Name, tool.InputSchema, []byte(args)); err != nil {
		return &sdk.Fault{Code: sdk.Invalid, Message: err.Error()}
	}
	return nil
}

// checkResult fails the test, since a host would call such a reply failed.
func (p *Plugin) checkResult(t testing.TB, tool wire.Tool, result []byte) {
	t.Helper()
	if err := p.validate(t, "output schema of "+tool.Name, tool.OutputSchema, result); err != nil {
		t.Fatalf("plugintest: the result of %s does not fit its output schema: %v\nresult: %s", tool.Name, err, result)
	}
}

func (p *Plugin) validate(t testing.TB, name string, schema, instance []byte) error {
	t.Helper()
	err := p.check(schema, instance)
	var unknown *unknownKeyword
	if errors.As(err, &unknown) {
		t.Fatalf("plugintest: the %s has %v, which is not checked here: give Plugin.Schemas a validator that knows it", name, unknown)
	}
	return err
}

// derived is the check of schemas that the sdk derives.
func derived(schema, instance []byte) error {
	s, err := decodeNumbers(schema)
	if err != nil {
		return &unknownKeyword{"a text that is not JSON"}
	}
	if err := readable(s); err != nil {
		return err
	}
	v, err := decodeNumbers(instance)
	if err != nil {
		return err
	}
	return fits("at /", s, v)
}

// decodeNumbers decodes one JSON value and keeps numbers as they are written.
func decodeNumbers(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}
