package abi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/internal/abi"
)

// Outside a guest there is no border to cross, and whoever tries is told what to
// use instead of reading a crash.
func TestCrossingOutsideAGuestSaysWhatToUse(t *testing.T) {
	for name, cross := range map[string]func(){
		"input_length":       func() { abi.Input() },
		"alloc":              func() { abi.SetOutput([]byte("x")) },
		"portcullis_now":     func() { abi.Now() },
		"portcullis_fs_read": func() { abi.FSRead(nil) },
	} {
		func() {
			defer func() {
				text := fmt.Sprint(recover())
				if !strings.Contains(text, " exists inside a guest only; in a test use sdk/plugintest") {
					t.Errorf("%s: panic is %s", name, text)
				}
			}()
			cross()
		}()
	}
}
