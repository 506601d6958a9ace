package sandbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// scribe signs by writing down what it was asked for.
type scribe struct {
	names []string
	fault *wire.Fault
	err   error
}

func (s *scribe) Sign(_ context.Context, name string, data []byte) ([]byte, *wire.Fault, error) {
	s.names = append(s.names, name)
	return []byte("code of " + string(data[:min(len(data), 8)])), s.fault, s.err
}

// signs makes one host call of a session.
func signs(t *testing.T, s *sandbox.Session, header string, data []byte) (*wire.Fault, string) {
	t.Helper()
	in, err := wire.EncodeFrame([]byte(header), data)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Serve(t.Context(), wire.ImportSign, in)
	if err != nil {
		t.Fatal(err)
	}
	head, body, err := wire.SplitFrame(out)
	if err != nil {
		t.Fatal(err)
	}
	var reply wire.SignReply
	if err := json.Unmarshal(head, &reply); err != nil {
		t.Fatal(err)
	}
	return reply.Fault, string(body)
}

func signing(opt sandbox.CallOptions) *sandbox.Session {
	return sandbox.NewSession(sandbox.LimitsOf(wire.Limits{}), opt, time.Now, rand.Reader)
}

func TestSigningIsThePorts(t *testing.T) {
	port := &scribe{}
	may := sandbox.CallOptions{Abilities: sandbox.MaySign, Sign: port}
	if fault, got := signs(t, signing(may), `{"name":"answer"}`, []byte("text")); fault != nil || got != "code of text" {
		t.Errorf("%v %q", fault, got)
	}
	for name, c := range map[string]struct {
		opt    sandbox.CallOptions
		header string
		size   int
		code   wire.Code
	}{
		"not let":       {sandbox.CallOptions{Sign: port, Abilities: ^sandbox.MaySign}, `{"name":"answer"}`, 4, wire.CodeDenied},
		"no port":       {sandbox.CallOptions{Abilities: sandbox.MaySign}, `{"name":"answer"}`, 4, wire.CodeUnavailable},
		"no name":       {may, `{"name":""}`, 4, wire.CodeInvalid},
		"another shape": {may, `{"name":"answer","algorithm":"hmac-sha512"}`, 4, wire.CodeInvalid},
		"too long":      {may, `{"name":"answer"}`, wire.MaxSignBytes + 1, wire.CodeTooLarge},
	} {
		before := len(port.names)
		fault, got := signs(t, signing(c.opt), c.header, bytes.Repeat([]byte("x"), c.size))
		if fault == nil || fault.Code != c.code || got != "" || len(port.names) != before {
			t.Errorf("%s: %v %q", name, fault, got)
		}
	}
	port.err = errors.New("the key is hunter2hunter2")
	if fault, _ := signs(t, signing(may), `{"name":"answer"}`, nil); fault == nil || fault.Code != wire.CodeIO || strings.Contains(fault.Message, "hunter2") {
		t.Errorf("%v", fault)
	}
	port.err, port.fault = nil, &wire.Fault{Code: "odd", Message: "no"}
	if fault, _ := signs(t, signing(may), `{"name":"answer"}`, nil); fault == nil || fault.Code != wire.CodeFailed {
		t.Errorf("%v", fault)
	}
}

func TestACallHasABoundedAmountSigned(t *testing.T) {
	s := signing(sandbox.CallOptions{Abilities: sandbox.MaySign, Sign: &scribe{}})
	data := make([]byte, wire.MaxSignBytes)
	for i := range 16 {
		if fault, _ := signs(t, s, `{"name":"answer"}`, data); fault != nil {
			t.Fatalf("the %d. MiB: %v", i+1, fault)
		}
	}
	if fault, _ := signs(t, s, `{"name":"answer"}`, []byte("x")); fault == nil || fault.Code != wire.CodeTooLarge {
		t.Errorf("one byte more: %v", fault)
	}
}
