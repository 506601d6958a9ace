package redact

import (
	"strings"
	"testing"
)

// A value that is a JSON key, or a part of one, is hidden like one that is a text; what stands behind the key is still there.
func TestAValueInAKeyIsHidden(t *testing.T) {
	const value = "q7Vd9xK2pLm3Zt"
	set, err := Set{}.With(NewSecret("KEPT", value))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{
		`{"` + value + `":"stays"}`, `{"begin-` + value + `-end":"stays"}`, `{"a":[{"x.` + value + `":{"y":"stays"}}]}`,
		`{"` + value[:5] + `\u0078` + value[6:] + `":"stays"}`,
	} {
		v, err := Build(set, DefaultBounds(), JSON([]byte(doc)))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []Audience{ForModel, ForOperator, ForEvent, ForDurable, ForDebug} {
			shown := v.View(a).String()
			if strings.Contains(shown, value) || !strings.Contains(shown, "stays") {
				t.Errorf("%s view of %s: %s", a, doc, shown)
			}
		}
	}
}
