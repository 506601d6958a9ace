package shellword

import "testing"

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "''",
		"/srv/ada/.portcullis": "/srv/ada/.portcullis",
		"/my files/it's":       `'/my files/it'\''s'`,
		"net.fetch:[::1]:80":   "'net.fetch:[::1]:80'",
		"net.fetch:*":          "'net.fetch:*'",
		"$HOME":                "'$HOME'",
		"~":                    "'~'",
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}
