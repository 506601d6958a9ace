package redact_test

import (
	"os"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

// TestOrdinaryTextStaysAsItIs reads lines of prose, code, configuration and logs that speak about secrets and hold
// none. Each must come out unchanged, alone and all together.
func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	raw, err := os.ReadFile("testdata/ordinary.txt")
	if err != nil {
		t.Fatal(err)
	}
	set := known(t, values()["plain"])
	for line := range strings.Lines(string(raw)) {
		if got := set.Text(redact.ForOperator, line); got != line {
			t.Errorf("%s\nbecame\n%s", line, got)
		}
	}
	if v := build(t, set, redact.Text(string(raw))); v.Durable.String() != string(raw) || len(v.Found) != 0 {
		t.Errorf("found %v", v.Found)
	}
}

// TestTextGivesAwaySecrets has one line for each way in which free text holds a secret. § stands for the secret, and
// the line must come out with exactly that replaced.
func TestTextGivesAwaySecrets(t *testing.T) {
	const (
		alnum36  = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
		dashed35 = "AbCdEfGhIjKlMnOpQrStUvWxYz-_0123456"
	)
	for name, c := range map[string]struct{ line, secret, mark string }{
		"url password":         {"clone https://ann:§@git.example/x.git now", "p4ss", "url_password"},
		"url password only":    {"redis://:§@cache.example:6379/0", "hunter2", "url_password"},
		"url token as user":    {"https://§@github.com/a/b", "a1b2c3d4e5f6", "url_userinfo"},
		"url password with @":  {"https://ann:§@host.example/", "p@ss:w0rd", "url_password"},
		"url query":            {"GET https://h.example/x?page=1&access_token=§&y=2", "abc", "access_token"},
		"url query, signature": {"https://b.example/o?X-Amz-Signature=§", "0a1b2c3d4e5f", "X-Amz-Signature"},
		"url fragment":         {"https://app.example/cb#id_token=§&state=1", "abcd", "id_token"},
		"url code":             {"https://app.example/cb?code=§", "4/0AX4XfWh", "code"},
		"bearer header":        {"> Authorization: Bearer §", "abcdef0123456789", "Authorization"},
		"lower-case header":    {"authorization: token §", "abcdef0123456789", "authorization"},
		"basic header":         {"curl -H 'Authorization: Basic §' https://h.example", "dXNlcjpwYXNz", "Authorization"},
		"digest header":        {"Authorization: Digest §", "username=ann,response=0123456789abcdef", "Authorization"},
		"raw authorization":    {"Authorization: §", "abcdef0123456789", "Authorization"},
		"proxy header":         {"Proxy-Authorization: Basic §", "dXNlcjpwYXNz", "Proxy-Authorization"},
		"bearer alone":         {"sent Bearer § to it", "abcdef0123456789", "bearer"},
		"basic alone":          {"sent basic § to it", "dXNlcjpwYXNz", "basic"},
		"cookie":               {"Cookie: §", "sid=abc; theme=dark", "Cookie"},
		"set-cookie":           {"Set-Cookie: §", "sid=abc; Path=/; HttpOnly", "Set-Cookie"},
		"api key header":       {"X-Api-Key: §", "abcdef0123456789", "X-Api-Key"},
		"quoted header":        {`{"X-Auth-Token": "§"}`, "ab", "X-Auth-Token"},
		"option":               {"tool --token § --verbose", "zz11yy22", "token"},
		"option with equals":   {"tool --api-key=§ --verbose", "zz11yy22", "api-key"},
		"option in quotes":     {`tool --password "§" -v`, "two words", "password"},
		"environment":          {"DB_PASSWORD=§", "letmein", "DB_PASSWORD"},
		"export":               {"export AWS_SECRET_ACCESS_KEY=§", "wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY"},
		"grep with line":       {"6:API_KEY=§", "sesame", "API_KEY"},
		"env in quotes":        {`SECRET="§"`, "letmein", "SECRET"},
		"dsn":                  {"host=db user=ann password=§ sslmode=off", "hunter2x", "password"},
		"yaml":                 {"  password:   §", "hunter2x", "password"},
		"yaml in quotes":       {"  client_secret: '§'", "letmein", "client_secret"},
		"json in text":         {`log {"user":"ann","password":"§","n":1}`, "any thing", "password"},
		"json escaped":         {`log "{\"password\":\"§\"}"`, "letmein", "password"},
		"escaped line end":     {`"out":"done\ntoken=§"`, "hunter2x", "token"},
		"ini with spaces":      {"secret_key = §", "hunter2x", "secret_key"},
		"go assignment":        {`apiKey := "§"`, "letmein", "apiKey"},
		"ruby hash":            {`:password => "§",`, "letmein", "password"},
		"python index":         {`os.environ["API_TOKEN"] = "§"`, "letmein", "API_TOKEN"},
		"github":               {"using § here", "ghp_" + alnum36, "github_token"},
		"github app":           {"(§)", "ghs_" + alnum36, "github_token"},
		"github fine":          {"using §.", "github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsT", "github_token"},
		"gitlab":               {"using §", "glpat-aB1cD2eF3gH4iJ5kL6mN", "gitlab_token"},
		"aws key id":           {"id §,", "AKIAQYLPMN5HH2QWERTZ", "aws_access_key_id"},
		"aws session id":       {"id §,", "ASIAQYLPMN5HH2QWERTZ", "aws_access_key_id"},
		"slack":                {"§", "xoxb-123456789012-abcdefABCDEF", "slack_token"},
		"slack app":            {"§", "xapp-1-A0123456789-abcdef", "slack_token"},
		"anthropic":            {"key §", "sk-ant-api03-" + strings.Repeat("aB1", 31) + "AA", "anthropic_key"},
		"anthropic, other":     {"key §", "sk-ant-new01-aB1cD2eF3gH4iJ5kL6mN7oP8", "anthropic_key"},
		"openai":               {"key §", "sk-" + alnum36, "openai_key"},
		"openai project":       {"key §", "sk-proj-aB1cD2eF3gH4_iJ5kL6mN-7oP8", "openai_key"},
		"stripe":               {"key §", "sk_live_4eC39HqLyjWDarjtT1zd", "stripe_key"},
		"google":               {"key=§;", "AIza" + dashed35, "google_api_key"},
		"npm":                  {"§", "npm_" + alnum36, "npm_token"},
		"notion":               {"§", "ntn_" + alnum36 + "aB1cD2eF3g", "notion_token"},
		"1password":            {"§", "ops_eyJ" + strings.Repeat("aB1", 34), "onepassword_token"},
		"hugging face":         {"§", "hf_" + alnum36, "huggingface_token"},
		"telegram":             {"bot § started", "123456789:" + dashed35, "telegram_token"},
		"telegram in a path":   {"https://api.telegram.org/bot§/getMe", "123456789:" + dashed35, "telegram_token"},
		"age":                  {"§", "AGE-SECRET-KEY-1" + strings.Repeat("QPZRY9X8GF", 5) + "2TVDW0S3", "age_secret_key"},
		"jwt":                  {"got § ok", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U", "jwt"},
		"private key":          {"k: §\nnext", "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----", "private_key"},
		"private key, escaped": {`"k": "§"`, `-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqh\n-----END PRIVATE KEY-----`, "private_key"},
		"private key, cut off": {"§", "-----BEGIN OPENSSH PRIVATE KEY-----\n" + strings.Repeat("b3BlbnNzaC1rZXktdjEAAAAA", 3), "private_key"},
		"pgp key":              {"§", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----", "private_key"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(c.line, "§") {
				t.Fatal("the line has no place for the secret")
			}
			in := strings.ReplaceAll(c.line, "§", c.secret)
			want := strings.ReplaceAll(c.line, "§", "<redacted:"+c.mark+">")
			if got := (redact.Set{}).Text(redact.ForOperator, in); got != want {
				t.Errorf("%s\nbecame\n%s\nwant\n%s", in, got, want)
			}
			v := build(t, redact.Set{}, jsonOf(t, map[string]any{"line": in}))
			for _, a := range everyone {
				if strings.Contains(inside(t, v.View(a)), c.secret) {
					t.Errorf("as JSON the %s view shows it: %s", a, v.View(a))
				}
			}
		})
	}
}
