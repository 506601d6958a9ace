// Package plugintest runs a plugin's tools in an ordinary go test, without wasm
// and without a host.
//
//	func TestEval(t *testing.T) {
//		p := plugintest.New(t)
//		out := p.Call(t, "calc.eval", `{"expression":"1+1"}`)
//		…
//	}
//
// It is the host a test needs: files, keys and time in memory, HTTP answered by
// an http.Handler, logs and progress kept for reading. It goes the whole way
// that a call in wasm goes: arguments are validated against the tool's schema,
// the call is encoded and dispatched by the sdk's own code, every host function
// is a frame there and a frame back, and the result is validated against the
// schema. In the same order as the host it refuses what the tool has not listed
// in sdk.Needs, what the manifest's egress does not list, and what passes a
// size of package wire.
//
// It needs the standard library and the sdk, so that `portcullis plugin new`
// can put it beside the sdk in a plugin's vendor folder. Schemas are therefore
// checked by code of its own, which knows what the sdk derives from Go types and
// ends the test at anything else (see [Plugin.Schemas]).
//
// What it does not have is policy, approval and metering; those belong to the
// host. A [Plugin] is for one test and not for several goroutines.
package plugintest
