// Package sdk is how a plugin is written in Go: an ordinary program whose
// handlers are ordinary functions.
//
//	func init() {
//		sdk.Register(sdk.Plugin{
//			ID: "calc", Version: "1.0.0", Summary: "Arithmetic.", License: "Apache-2.0",
//			Tools: []sdk.ToolSpec{sdk.Tool("calc.eval", "Evaluate an expression.", Eval, sdk.ReadOnly())},
//		})
//	}
//
//	func main() {}
//
//	func Eval(ctx context.Context, in EvalIn, h sdk.Host) (EvalOut, error) { … }
//
// The package owns registration, the schemas derived from Go types, the
// dispatch from a call to a handler, and [Host], through which a handler
// reaches the world. A call is handled in this order: decode the call, find the
// tool, decode the arguments strictly (an unknown member is refused), run the
// handler, encode the result. What is wrong with a plugin's own registration
// panics while the plugin is loaded, long before a call.
//
// A handler gets nothing that it did not ask for: each ability of [Host] needs
// a capability in the manifest, the linker drops the host functions that a
// plugin never calls, and the host refuses a binary that imports more than its
// manifest asks for. Variables of a plugin do not survive a call: each call
// starts from the state after package initialisation.
//
// The package imports little on purpose. A guest with it is about 2.5 MB, of
// which 1.8 MB are Go's runtime and package context; encoding/json and fmt would
// add 0.9 MB, net/http, even for its types only, 2.3 MB (see sdk/httpx). So the
// JSON codec, the schema deriver and the formatting of [Errorf] are our own.
package sdk
