package redact

import "bytes"

// tokenShape is one well-known form of a token: what it begins with, which bytes follow, and how many at least.
type tokenShape struct {
	name   string
	prefix string
	body   func(byte) bool
	least  int
	mixed  bool   // the body must have a letter and a digit, as random text nearly always has
	whole  int    // the published length of the body; 0: none is published
	tail   string // what a whole body ends with
	only   bool   // a body of another length than the published one is no token
}

// shapes is the list. It is short on purpose: every entry is a published prefix that ordinary text does not have.
// Where a length is published, a body of another one, cut off or with something glued to it, is a token when it looks
// random; the first form with the prefix of a text decides.
// Sources: the token formats published by GitHub, GitLab, AWS, Slack, Anthropic, OpenAI, Stripe, Google, npm,
// Notion, 1Password, Hugging Face and age.
func shapes(first byte) []tokenShape {
	switch first {
	case 'A':
		return []tokenShape{
			{"aws_access_key_id", "AKIA", isBase32, 16, false, 0, "", false},
			{"aws_access_key_id", "ASIA", isBase32, 16, false, 0, "", false},
			{"google_api_key", "AIzaSy", isURLSafe, 18, true, 33, "", false},
			{"google_api_key", "AIza", isURLSafe, 35, true, 35, "", true}, // as published, but those that are given out begin with the above
			{"age_secret_key", "AGE-SECRET-KEY-1", isAlnum, 50, true, 0, "", false},
		}
	case 'g':
		return []tokenShape{
			{"github_token", "ghp_", isAlnum, 30, true, 0, "", false},
			{"github_token", "gho_", isAlnum, 30, true, 0, "", false},
			{"github_token", "ghu_", isAlnum, 30, true, 0, "", false},
			{"github_token", "ghs_", isAlnum, 30, true, 0, "", false},
			{"github_token", "ghr_", isAlnum, 30, true, 0, "", false},
			{"github_token", "github_pat_", isURLSafe, 22, true, 0, "", false},
			{"gitlab_token", "glpat-", isURLSafe, 20, true, 0, "", false},
		}
	case 'h':
		return []tokenShape{{"huggingface_token", "hf_", isAlnum, 30, true, 0, "", false}}
	case 'n':
		return []tokenShape{
			{"npm_token", "npm_", isAlnum, 36, true, 0, "", false},
			{"notion_token", "ntn_", isAlnum, 40, true, 0, "", false},
		}
	case 'o':
		return []tokenShape{{"onepassword_token", "ops_eyJ", isURLSafe, 100, true, 0, "", false}}
	case 'r':
		return []tokenShape{{"stripe_key", "rk_live_", isAlnum, 16, true, 0, "", false}}
	case 's':
		return []tokenShape{
			{"anthropic_key", "sk-ant-api03-", isURLSafe, 20, true, 95, "AA", false},
			{"anthropic_key", "sk-ant-admin01-", isURLSafe, 20, true, 95, "AA", false},
			{"anthropic_key", "sk-ant-", isURLSafe, 20, true, 0, "", false},
			{"openai_key", "sk-proj-", isURLSafe, 20, true, 0, "", false},
			{"openai_key", "sk-svcacct-", isURLSafe, 20, true, 0, "", false},
			{"openai_key", "sk-", isAlnum, 32, true, 0, "", false},
			{"stripe_key", "sk_live_", isAlnum, 16, true, 0, "", false},
		}
	case 'x':
		return []tokenShape{
			{"slack_token", "xoxb-", isURLSafe, 20, true, 0, "", false},
			{"slack_token", "xoxp-", isURLSafe, 20, true, 0, "", false},
			{"slack_token", "xoxa-", isURLSafe, 10, true, 0, "", false},
			{"slack_token", "xoxe-", isURLSafe, 20, true, 0, "", false},
			{"slack_token", "xoxs-", isURLSafe, 20, true, 0, "", false},
			{"slack_token", "xapp-", isURLSafe, 10, true, 0, "", false},
		}
	}
	return nil
}

func isBase32(c byte) bool  { return 'A' <= c && c <= 'Z' || '2' <= c && c <= '7' }
func isURLSafe(c byte) bool { return isAlnum(c) || c == '_' || c == '-' }

// shapeAt returns the length of the token that text begins with, and its name; 0 for none. The caller has made sure
// that no letter or digit stands before it.
func shapeAt(text []byte) (int, string) {
	switch c := text[0]; {
	case c == 'e':
		return jwtAt(text), "jwt"
	case c == '-':
		return pemAt(text), "private_key"
	}
	switch string(text[:min(len(text), 2)]) { // almost every word of a text ends here
	case "AK", "AS", "AI", "AG", "gh", "gi", "gl", "hf", "np", "nt", "op", "rk", "sk", "xo", "xa":
		return listedAt(text)
	}
	return 0, ""
}

func listedAt(text []byte) (int, string) {
	for _, s := range shapes(text[0]) {
		body, ok := bytes.CutPrefix(text, []byte(s.prefix))
		if !ok {
			continue
		}
		body = body[:span0(body, s.body)]
		n := len(s.prefix) + len(body)
		if len(body) >= s.least && (!s.mixed || mixed(body)) && (s.asPublished(body) || !s.only && irregular(body)) &&
			!placeholder(string(body)) && !standsIn(body) && !published(string(text[:n])) {
			return n, s.name
		}
		return 0, ""
	}
	return 0, ""
}

// asPublished reports the length and the end that the form is published with.
func (s tokenShape) asPublished(body []byte) bool {
	return s.whole == 0 || len(body) == s.whole && bytes.HasSuffix(body, []byte(s.tail))
}

// standsIn reports a token in parts whose last one, where the random one would be, is a placeholder. A short one says
// nothing: a random body may have a dash anywhere.
func standsIn(body []byte) bool {
	part := body[bytes.LastIndexByte(body, '-')+1:]
	return len(part) >= 8 && placeholder(string(part))
}

// irregular reports that an eighth and more is upper case, and as much lower: of twenty random bytes of base64 fewer
// than one in a hundred miss it, and of longer ones hardly any. What a person makes up is nearly all of one case.
func irregular(s []byte) bool {
	upper, lower := 0, 0
	for _, c := range s {
		switch {
		case 'A' <= c && c <= 'Z':
			upper++
		case 'a' <= c && c <= 'z':
			lower++
		}
	}
	return 8*min(upper, lower) >= len(s)
}

// jwtAt reads header.payload.signature where header and payload are base64url of JSON objects.
func jwtAt(text []byte) int {
	if !bytes.HasPrefix(text, []byte("eyJ")) {
		return 0
	}
	head := span0(text, isURLSafe)
	if head < 12 || !bytes.HasPrefix(text[head:], []byte(".eyJ")) {
		return 0
	}
	body := head + 1 + span0(text[head+1:], isURLSafe)
	if body-head < 12 || body >= len(text) || text[body] != '.' {
		return 0
	}
	return body + 1 + span0(text[body+1:], isURLSafe)
}

// telegramAround reads a bot token (8 to 10 digits, a colon, 35 characters) by its colon at i: in the API's paths
// the word "bot" stands right before it. One of 30 characters and more that looks random is a token too, cut off or with
// something glued to it. It returns 0, 0 for none.
func telegramAround(text []byte, i int) (start, end int) {
	start = i
	for start > 0 && isDigit(text[start-1]) {
		start--
	}
	if i-start < 8 || i-start > 10 {
		return 0, 0
	}
	body := text[i+1:]
	n := span0(body, isURLSafe)
	if n < 30 || !mixed(body[:n]) || n != 35 && !irregular(body[:n]) {
		return 0, 0
	}
	return start, i + 1 + n
}

// pemAt reads a private key block with its armour. A block that is cut off, with a line of base64 but no end, goes
// to the end of the text; an armour line that is only spoken about is none.
func pemAt(text []byte) int {
	rest, ok := bytes.CutPrefix(text, []byte("-----BEGIN "))
	if !ok {
		return 0
	}
	end := bytes.Index(rest[:min(len(rest), 48)], []byte("-----"))
	if end < 0 || !bytes.HasSuffix(bytes.TrimSuffix(rest[:end], []byte(" BLOCK")), []byte("PRIVATE KEY")) {
		return 0
	}
	body := rest[end+5:]
	if bytes.HasPrefix(body, []byte("-----END ")) {
		return 0 // nothing stands between
	}
	if n := pemEnd(body); n > 0 {
		if key := body[:bytes.Index(body, []byte("-----END "))]; !bytes.ContainsFunc(key, func(r rune) bool { return 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' }) {
			return 0 // a word in its place
		}
		return len(text) - len(body) + n
	}
	longest := 0
	for i := 0; i < min(len(body), 512); i++ {
		n := span0(body[i:], isSextet)
		longest = max(longest, n)
		i += n
	}
	if longest < 40 {
		return 0
	}
	return len(text)
}

// pemEnd is the position behind the closing armour line, or 0 without one.
func pemEnd(body []byte) int {
	closing := bytes.Index(body, []byte("-----END "))
	if closing < 0 {
		return 0
	}
	closing += len("-----END ")
	tail := bytes.Index(body[closing:], []byte("-----"))
	if tail < 0 {
		return 0
	}
	return closing + tail + 5
}

func isSextet(c byte) bool { return sextet(c) >= 0 }

// span0 is how many bytes text begins with that ok accepts.
func span0(text []byte, ok func(byte) bool) int {
	for i, c := range text {
		if !ok(c) {
			return i
		}
	}
	return len(text)
}

// mixed reports a letter and a digit.
func mixed(s []byte) bool {
	return bytes.ContainsFunc(s, isDigitRune) && bytes.ContainsFunc(s, isAlphaRune)
}

func isDigitRune(r rune) bool { return r < 0x80 && isDigit(byte(r)) }
func isAlphaRune(r rune) bool { return r < 0x80 && isAlpha(byte(r)) }
