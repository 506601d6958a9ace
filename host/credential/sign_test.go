package credential_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/credential"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func signer(kind, algorithm, value string) *credential.Signer {
	bound := effect.Bound{}.With("KEY", value, time.Time{}).With("OTHER", "value-of-another-1", time.Time{})
	return credential.NewSigner([]wire.Signing{
		{Name: "answer", Secret: "KEY", Algorithm: algorithm, Key: kind, Reason: "r"},
		{Name: "unbound", Secret: "ABSENT", Algorithm: algorithm, Key: kind, Reason: "r"},
	}, bound)
}

// The vectors are the platforms' own: Slack, GitHub, Standard Webhooks; Teams' and the last one by openssl.
func TestSignaturesAreThoseOfThePlatforms(t *testing.T) {
	slack := "v0:1531420618:token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar" +
		"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
		"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	b64 := func(text string) string {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(raw)
	}
	for name, c := range map[string]struct{ kind, algorithm, secret, data, want string }{
		"slack":  {"", wire.HMACSHA256, "8f742231b10e8888abcd99yyyzzz85a5", slack, "a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
		"github": {wire.KeyText, wire.HMACSHA256, "It's a Secret to Everybody", "Hello, World!", "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
		"webhooks": {
			wire.KeyBase64, wire.HMACSHA256, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			`msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}`, b64("g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
		},
		"webhooks, 256 KiB": {
			wire.KeyBase64, wire.HMACSHA256, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330." + strings.Repeat("a", 262_144), b64("Mw4Pe2WgApuT7NSqnSq0PQPV9gbLdggCl9B865x5Xh0="),
		},
		"teams": {
			wire.KeyBase64, wire.HMACSHA256, "vqF0En+Z0ucuRTM/01o2GuhMH3hKKk/N2bOmlM31zaA=",
			`{"type":"message","id":"1485983408511","text":"hi"}`, b64("q45RbvIQQzrriYbMMQ3jJ77jta2Wq11X8Lq8T6fBHBQ="),
		},
		"url alphabet, no padding": {
			wire.KeyBase64, wire.HMACSHA256, "vqF0En-Z0ucuRTM_01o2GuhMH3hKKk_N2bOmlM31zaA",
			`{"type":"message","id":"1485983408511","text":"hi"}`, b64("q45RbvIQQzrriYbMMQ3jJ77jta2Wq11X8Lq8T6fBHBQ="),
		},
		"hex": { // RFC 4231 test case 3
			wire.KeyHex, wire.HMACSHA512, strings.Repeat("aa", 20), strings.Repeat("\xdd", 50),
			"fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb",
		},
	} {
		code, fault, err := signer(c.kind, c.algorithm, c.secret).Sign(t.Context(), "answer", []byte(c.data))
		if err != nil || fault != nil || hex.EncodeToString(code) != c.want {
			t.Errorf("%s: %x %v %v", name, code, fault, err)
		}
	}
}

// A signature is made with what the manifest declares and with nothing else.
func TestWhatIsNotSigned(t *testing.T) {
	for name, c := range map[string]struct {
		kind, algorithm, secret, asked string
		code                           wire.Code
		says                           string
	}{
		"another name":       {"", wire.HMACSHA256, strings.Repeat("key-", 8), "other", wire.CodeDenied, "declares no signing"},
		"the secret's name":  {"", wire.HMACSHA256, strings.Repeat("key-", 8), "KEY", wire.CodeDenied, "declares no signing"},
		"a secret not bound": {"", wire.HMACSHA256, strings.Repeat("key-", 8), "unbound", wire.CodeDenied, `add sdk.Needs("secret.bind:ABSENT")`},
		"another algorithm":  {"", "hmac-sha1", strings.Repeat("key-", 8), "answer", wire.CodeFailed, "does not know the algorithm"},
		"a short key":        {"", wire.HMACSHA256, "fifteen-bytes-1", "answer", wire.CodeFailed, "could be guessed"},
		"a short key inside": {wire.KeyHex, wire.HMACSHA256, strings.Repeat("ab", 15), "answer", wire.CodeFailed, "could be guessed"},
		"no base64":          {wire.KeyBase64, wire.HMACSHA256, "not base64 at all, is it?", "answer", wire.CodeFailed, "is not base64"},
		"no hex":             {wire.KeyHex, wire.HMACSHA256, strings.Repeat("xy", 20), "answer", wire.CodeFailed, "is not hex"},
		"another kind":       {"raw", wire.HMACSHA256, strings.Repeat("key-", 8), "answer", wire.CodeFailed, "is not raw"},
	} {
		code, fault, err := signer(c.kind, c.algorithm, c.secret).Sign(t.Context(), c.asked, []byte("text"))
		if err != nil || len(code) > 0 || fault == nil || fault.Code != c.code || !strings.Contains(fault.Message, c.says) {
			t.Errorf("%s: %x %v %v", name, code, fault, err)
		} else if strings.Contains(fault.Message, c.secret) {
			t.Errorf("%s: the fault shows the key: %v", name, fault)
		}
	}
}
