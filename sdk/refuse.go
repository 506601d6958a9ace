//go:build !wasip1

package sdk

// refuse ends a test, or whatever program this is, with the mistakes.
func refuse(err error) { panic(err.Error()) }
