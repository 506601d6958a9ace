package shellword

import (
	"os/exec"
	"testing"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "''",
		"/home/ada/.portcullis": "/home/ada/.portcullis",
		"/my files/it's":        `'/my files/it'\''s'`,
		"net.fetch:[::1]:80":    "'net.fetch:[::1]:80'",
		"net.fetch:*":           "'net.fetch:*'",
		"$HOME":                 "'$HOME'",
		"~":                     "'~'",
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

// A real shell reads back what was quoted.
func TestAShellReadsItBack(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh to ask")
	}
	for _, in := range []string{"", "a b", "it's", "`id`", "$(id)", "a\nb", "*", "[a]", "~", "!", "\\", "#x", "ä ö"} {
		out, err := exec.Command(sh, "-c", "printf %s "+Quote(in)).Output()
		if err != nil || string(out) != in {
			t.Errorf("sh reads %s as %q, want %q (%v)", Quote(in), out, in, err)
		}
	}
}
