package command

import (
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// What is shown to be typed is what makes the plugin work: a grant without a port would not open one that the manifest
// names.
func TestGrantLinesNameThePort(t *testing.T) {
	m := &manifest.Manifest{
		ID: "web", Capabilities: []wire.Capability{{Name: wire.CapNetFetch}},
		Egress: []wire.Egress{{Host: "a.example"}, {Host: "b.example", Port: 8443}, {Host: "*.c.example"}},
	}
	want := []string{"portcullis plugin grant web net.fetch:a.example", "portcullis plugin grant web net.fetch:b.example:8443"}
	if got := grantLines(m, capability.Snapshot{}, ""); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for want, e := range map[string]wire.Egress{
		"a.example GET HEAD":                m.Egress[0],
		"b.example:8443 POST PUT below /v1": {Host: "b.example", Port: 8443, Methods: []string{"POST", "PUT"}, PathPrefix: "/v1"},
	} {
		if got := places(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAGrantThatIsNotAskedForAnyMoreIsNamedWithWhatTakesItBack(t *testing.T) {
	granted, err := capability.ParseSnapshot("net.fetch:a.example", "net.fetch:*", "kv")
	if err != nil {
		t.Fatal(err)
	}
	m := &manifest.Manifest{ID: "web", Capabilities: []wire.Capability{{Name: "kv"}}}
	want := []string{"portcullis plugin revoke web 'net.fetch:*'", "portcullis plugin revoke web net.fetch:a.example"}
	if got := revokeLines(m, granted); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
