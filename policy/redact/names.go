package redact

import "strings"

// Sensitive reports whether a field, option, header or variable of this name holds a secret. Case, and whether
// words are joined by "_", "-", "." or capitals, make no difference: apiKey, API_KEY and x-api-key are alike.
// Names that only speak about secrets stay visible: token_count, max_tokens, next_page_token, password_policy.
func Sensitive(name string) bool {
	if len(name) < 3 || len(name) > 128 {
		return false
	}
	if !endsLikeSecret(name[len(name)-1]) {
		return false
	}
	var buf [160]byte
	words := splitWords(buf[:0], name)
	last, rest := cutLast(words)
	before, _ := cutLast(rest)
	switch string(last) {
	case "password", "passwd", "passphrase", "passcode", "secret", "credential", "credentials", "apikey", "accesskey",
		"secretkey", "privatekey", "authtoken", "accesstoken", "refreshtoken", "idtoken", "sessiontoken", "bearertoken",
		"apitoken", "clientsecret", "authorization", "cookie", "setcookie", "connectionstring":
		return true
	case "secrets", "cookies":
		return len(rest) == 0
	case "pwd": // PWD alone is the working directory
		return len(rest) > 0
	case "token":
		return !tokenOfText(string(before))
	case "key":
		switch string(before) {
		case "api", "access", "private", "secret", "signing", "encryption", "master", "ssh", "account", "storage":
			return true
		}
	case "string", "url", "uri", "dsn":
		return string(before) == "connection"
	case "hash":
		return string(before) == "password"
	}
	return false
}

// endsLikeSecret reports the last letters of the words below, and bytes that words are joined by. Most names end here.
func endsLikeSecret(c byte) bool {
	switch c | 0x20 {
	case 'd', 'e', 't', 'l', 's', 'y', 'n', 'g', 'i', 'h':
		return true
	}
	return !isAlnum(c)
}

// tokenOfText reports words that make a token a position in a list, a piece of text or a mark of a page.
func tokenOfText(before string) bool {
	switch before {
	case "page", "next", "previous", "prev", "continuation", "continue", "sync", "cursor", "cancel", "cancellation",
		"eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop", "start", "end", "special", "first", "last", "per", "max", "public",
		"csrf", "xsrf": // of a form, good for nothing without its cookie
		return true
	}
	return false
}

// sensitiveQuery adds the names that hold a secret only in a URL's query.
func sensitiveQuery(name string) bool {
	switch strings.ToLower(name) {
	case "key", "code", "jwt", "sig", "signature", "session", "auth", "x-amz-signature", "x-amz-credential", "x-amz-security-token",
		"x-goog-signature", "x-goog-credential":
		return true
	}
	return Sensitive(name)
}

// splitWords writes name in lower case with one "_" between its words.
func splitWords(out []byte, name string) []byte {
	for i := range len(name) {
		c := name[i]
		upper := 'A' <= c && c <= 'Z'
		switch {
		case !isAlnum(c):
			c = '_'
		case upper && i > 0 && camelBorder(name, i):
			out = append(out, '_')
		}
		if upper {
			c |= 0x20
		}
		if c != '_' || len(out) > 0 && out[len(out)-1] != '_' {
			out = append(out, c)
		}
	}
	for len(out) > 0 && out[len(out)-1] == '_' {
		out = out[:len(out)-1]
	}
	return out
}

// camelBorder reports a new word at a capital: after a small letter or digit (apiKey), or before a small letter
// after another capital (APIKey).
func camelBorder(name string, i int) bool {
	before := name[i-1]
	if 'a' <= before && before <= 'z' || isDigit(before) {
		return true
	}
	return 'A' <= before && before <= 'Z' && i+1 < len(name) && 'a' <= name[i+1] && name[i+1] <= 'z'
}

func cutLast(words []byte) (last, rest []byte) {
	for i := len(words) - 1; i >= 0; i-- {
		if words[i] == '_' {
			return words[i+1:], words[:i]
		}
	}
	return words, nil
}
