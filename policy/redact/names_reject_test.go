package redact

import "testing"

// A name is turned away by its last letter only if no ending of it could be sensitive: each sensitive name must pass.
func TestSensitiveNamesPassTheQuickLook(t *testing.T) {
	for _, name := range []string{
		"password", "passwd", "passphrase", "passcode", "secret", "credential", "credentials", "apikey", "accessKey", "secretkey", "privateKey",
		"authtoken", "accessToken", "refresh_token", "idtoken", "sessiontoken", "bearertoken", "apitoken", "clientsecret", "Authorization", "cookie",
		"Set-Cookie", "connectionString", "secrets", "cookies", "db_pwd", "token", "api_key", "ssh-key", "connection_string", "connection.url",
		"connection_uri", "connection_dsn", "password_hash", "PASSWORD", "token_", "Password--", "api_KEY",
	} {
		if !Sensitive(name) {
			t.Errorf("%s is not sensitive", name)
		}
	}
}
