//go:build !wasip1

package sdk

import "fmt"

// sprintf is never called. [Errorf] names it so that go vet, which follows calls
// to package fmt, checks the verbs of whoever calls Errorf.
func sprintf(text string, args ...any) string { return fmt.Sprintf(text, args...) }
