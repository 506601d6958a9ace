package principal_test

import (
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/principal"
)

func TestRefusedErrorNamesWhoAndWhy(t *testing.T) {
	for want, err := range map[string]*principal.RefusedError{
		"nobody may not use this store (nobody)":    {Why: principal.RefusedNobody},
		"p:1 may not use this store (not_operator)": {Principal: "p:1", Why: principal.RefusedOperator},
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}
