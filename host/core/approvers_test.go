package core

import (
	"slices"
	"strings"
	"testing"
)

func TestApproversAreRead(t *testing.T) {
	read := func(line string) (HostConfig, error) {
		return decodeHost([]byte("schema_version: 1\napproval:\n  approvers: " + line + "\n"))
	}
	got, err := read(`[operator, requester, "principal:conversation:chat:ann"]`)
	if want := []string{"operator", "requester", "principal:conversation:chat:ann"}; err != nil || !slices.Equal(got.Approval.Approvers, want) {
		t.Fatalf("%v, %v", got.Approval.Approvers, err)
	}
	for line, want := range map[string]string{
		`[]`:                          "names nobody",
		`[ann]`:                       "is not operator, requester or the id of a principal",
		`["principal:chat"]`:          "is not operator, requester or the id of a principal",
		`["principal:chat:an\u202e"]`: "is not operator",
		`["other:chat:ann"]`:          "is not operator",
		`[operator, operator]`:        "is listed twice",
		`operator`:                    "a list",
		"[" + strings.Repeat("operator, ", 32) + "operator]": "at most 32",
	} {
		_, err := read(line)
		faults := Faults(err)
		if len(faults) == 0 || !strings.Contains(faults[0].Sentence, want) || faults[0].Line != 3 {
			t.Errorf("%s: %+v, want %q", line, faults, want)
		}
	}
	_, err = decodeAgent("cores/a/agent.yaml", []byte("schema_version: 1\nagent: {id: a}\nmodel: {provider: scripted, script: s.yaml}\napproval:\n  approvers: [requester]\n"))
	if faults := Faults(err); len(faults) != 1 || !strings.Contains(faults[0].Sentence, "put approval.approvers into config.yaml") {
		t.Errorf("in a core: %+v", faults)
	}
}
