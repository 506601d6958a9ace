package wire_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func TestReplyHasExactlyOneMember(t *testing.T) {
	fault := &wire.Fault{Code: wire.CodeDenied, Message: "no"}
	for name, c := range map[string]struct {
		reply wire.Reply
		ok    bool
	}{
		"result":          {wire.Reply{Result: wire.RawJSON(`{}`)}, true},
		"fault":           {wire.Reply{Fault: fault}, true},
		"neither":         {wire.Reply{}, false},
		"both":            {wire.Reply{Result: wire.RawJSON(`{}`), Fault: fault}, false},
		"unknown code":    {wire.Reply{Fault: &wire.Fault{Code: "oops"}}, false},
		"message at most": {wire.Reply{Fault: &wire.Fault{Code: wire.CodeFailed, Message: strings.Repeat("x", wire.MaxFaultMessage)}}, true},
		"message beyond":  {wire.Reply{Fault: &wire.Fault{Code: wire.CodeFailed, Message: strings.Repeat("x", wire.MaxFaultMessage+1)}}, false},
	} {
		if err := c.reply.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFaultIsItsCodeAndItsFileError(t *testing.T) {
	for code, target := range map[wire.Code]error{
		wire.CodeNotFound: fs.ErrNotExist,
		wire.CodeExists:   fs.ErrExist,
		wire.CodeDenied:   fs.ErrPermission,
		wire.CodeInvalid:  fs.ErrInvalid,
	} {
		err := fmt.Errorf("read: %w", &wire.Fault{Code: code, Message: "words"})
		if !errors.Is(err, target) || !errors.Is(err, code) {
			t.Errorf("a fault %s is not %v and itself", code, target)
		}
		if errors.Is(err, wire.CodeTimeout) || errors.Is(err, fs.ErrClosed) {
			t.Errorf("a fault %s is also something else", code)
		}
	}
	if got := (&wire.Fault{Code: wire.CodeIO}).Error(); got != "io" {
		t.Errorf("a fault without words says %q", got)
	}
}
