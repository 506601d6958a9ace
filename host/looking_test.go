package host

import (
	"reflect"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func TestWhoeverLooksSendsNothingThatChanges(t *testing.T) {
	rules := []wire.Egress{
		{Host: "a.example"},
		{Host: "b.example", Methods: []string{"POST", "GET", "DELETE", "HEAD"}},
		{Host: "c.example", Methods: []string{"POST"}},
	}
	got := looking(rules)
	want := []wire.Egress{{Host: "a.example"}, {Host: "b.example", Methods: []string{"GET", "HEAD"}}}
	if !reflect.DeepEqual(got, want) || len(rules[1].Methods) != 4 || rules[1].Methods[0] != "POST" {
		t.Errorf("%+v, of %+v", got, rules)
	}
}
