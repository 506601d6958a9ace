package host

import (
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Who may decide is config.yaml's to say. A conversation does not decide about its own calls unless that names it.
func TestWhoMayDecide(t *testing.T) {
	talker := principal.Facts{PrincipalID: "principal:conversation:chat:ann", Authority: principal.Conversation}
	for name, c := range map[string]struct {
		named []string
		actor principal.Facts
		want  []string
	}{
		"nobody named, a conversation": {nil, talker, []string{authority.OperatorID}},
		"nobody named, the operator":   {nil, authority.OperatorFacts("x"), nil},
		"the operator":                 {[]string{"operator"}, talker, []string{authority.OperatorID}},
		"who asks":                     {[]string{"requester"}, talker, []string{talker.PrincipalID}},
		"somebody":                     {[]string{"principal:conversation:chat:bob"}, talker, []string{"principal:conversation:chat:bob"}},
		"somebody and who asks":        {[]string{"principal:conversation:chat:bob", "requester"}, talker, []string{"principal:conversation:chat:bob", talker.PrincipalID}},
	} {
		var h Host
		h.settings.Approval.Approvers = c.named
		if got := h.approvers(c.actor); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
