//go:build wasip1

package sdk

import (
	"context"

	"github.com/b3abf3ee/portcullis/sdk/internal/abi"
)

//go:wasmexport portcullis_describe
func exportDescribe() int32 {
	p := Registered()
	if p == nil {
		return fail(notRegistered)
	}
	out, err := p.Describe()
	return answer(out, err)
}

//go:wasmexport portcullis_invoke
func exportInvoke() int32 {
	p := Registered()
	if p == nil {
		return fail(notRegistered)
	}
	// The host keeps the deadline and stops the guest from outside; there is
	// nothing in here that could cancel a context.
	out, err := p.Invoke(context.Background(), abi.Input(), p.host(imports{}))
	return answer(out, err)
}

//go:wasmexport portcullis_reconcile
func exportReconcile() int32 {
	p := Registered()
	if p == nil {
		return fail(notRegistered)
	}
	out, err := p.Reconcile(context.Background(), abi.Input(), p.host(imports{}))
	return answer(out, err)
}

const notRegistered = "sdk: no plugin is registered: call sdk.Register from an init function"

func answer(out []byte, err error) int32 {
	if err != nil {
		return fail(err.Error())
	}
	abi.SetOutput(out)
	return 0
}

func fail(text string) int32 {
	abi.SetError(text)
	return 1
}
