package plugintest

import (
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func TestDecodeIsStrictAndBounded(t *testing.T) {
	for name, c := range map[string]struct {
		in string
		ok bool
	}{
		"plain":          {`{"code":"denied","message":"x"}`, true},
		"space around":   {" {\"code\":\"denied\"}\n", true},
		"unknown member": {`{"code":"denied","extra":1}`, false},
		"second value":   {`{"code":"denied"}{}`, false},
		"rest":           {`{"code":"denied"}x`, false},
		"not JSON":       {`code`, false},
		"empty":          {``, false},
		"too long":       {`{"message":"` + strings.Repeat("x", 64) + `"}`, false},
	} {
		var f wire.Fault
		if err := strict([]byte(c.in), 64, &f); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
