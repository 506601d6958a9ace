package redact

import (
	"bytes"
	"strings"
)

// notice is one secret that a text gives away by how it stands there.
type notice struct {
	start, end int
	name       string
	source     Source
}

// notices finds what looks like a secret in free text, without knowing any value: token shapes, URLs with a
// password or a sensitive query value, authorization and cookie headers, command-line options, and assignments to
// sensitive names. It goes over the text once and stops only at bytes that announce one: signs, and those letters of
// the token shapes that ordinary words have seldom. The first of them, as [quiet] finds it, is at first.
func notices(text []byte, first int) []notice {
	s := scanner{text: text}
	done := 0 // behind the last token shape
	for i := first; i < len(text); i = quiet(text, i+1) {
		if end := s.shape(i, done); end > 0 {
			done, i = end, end-1
			s.bearer(end)
			continue
		}
		switch text[i] {
		case ':':
			if i+2 < len(text) && text[i+1] == '/' && text[i+2] == '/' {
				s.url(i)
			} else if start, end := telegramAround(text, i); end > 0 {
				s.found(start, end, "telegram_token", Shape)
			} else {
				s.assignment(i)
			}
		case '=':
			s.assignment(i)
		case '-':
			if i+2 < len(text) && text[i+1] == '-' && isAlpha(text[i+2]) {
				s.option(i + 2)
			}
		case 'b', 'B': // in text of any kind seldomer than the space that a scheme ends with
			for _, scheme := range [...]string{"bearer", "basic"} {
				if end := i + len(scheme); end < len(text) && strings.EqualFold(string(text[i:end]), scheme) {
					s.bearer(end)
				}
			}
		}
	}
	return s.out
}

// announces marks the bytes that [notices] stops at. It is never written.
var announces = func() (table [256]byte) {
	for _, c := range []byte(":=-_KSIJbB") {
		table[c] = 1
	}
	return table
}()

// quiet is where the next byte stands, from i on, that announces something, or the length of text. It looks at eight at
// once, which takes half the time of one after the other.
func quiet(text []byte, i int) int {
	for ; i+8 <= len(text); i += 8 {
		eight := text[i : i+8 : i+8]
		if announces[eight[0]]|announces[eight[1]]|announces[eight[2]]|announces[eight[3]]|
			announces[eight[4]]|announces[eight[5]]|announces[eight[6]]|announces[eight[7]] != 0 {
			break
		}
	}
	for ; i < len(text) && announces[text[i]] == 0; i++ {
	}
	return i
}

// longestStart is the most letters of a token shape before its first byte that announces it: "github" of "github_pat_".
const longestStart = 6

// shape reads the token that is announced by the byte at i and begins at or behind from, and returns its end. 0 is
// none. Every shape has such a byte near its start: "_" or "-" (ghp_, sk-, -----BEGIN), "J" (eyJ), and the second
// letter of AKIA, ASIA and AIza.
func (s *scanner) shape(i, from int) int {
	if len(s.text) <= 16 { // as short as no token is
		return 0
	}
	start := i
	switch s.text[i] {
	case '_', '-':
		for start > 0 && i-start <= longestStart && isAlnum(s.text[start-1]) {
			start--
		}
	case 'J':
		start -= len("ey")
	case 'K', 'S', 'I':
		start--
	default:
		return 0
	}
	switch {
	case start < 0, start < from, start == from && from > 0, len(s.text)-start <= 16:
		return 0
	case start > 0 && (isAlnum(s.text[start-1]) || s.text[start-1] == '_'):
		return 0
	}
	n, name := shapeAt(s.text[start:])
	if n == 0 {
		return 0
	}
	s.found(start, start+n, name, Shape)
	return start + n
}

type scanner struct {
	text []byte
	out  []notice
}

func (s *scanner) found(start, end int, name string, source Source) {
	if start < end {
		s.out = append(s.out, notice{start, end, cleanName(name), source})
	}
}

// url reads the authority and query of the URL whose "://" stands at i.
func (s *scanner) url(i int) {
	rest := s.text[i+3:]
	rest = rest[:span0(rest, isURLByte)]
	base := i + 3
	authority := rest
	if n := bytes.IndexAny(rest, "/?#"); n >= 0 {
		authority = rest[:n]
	}
	if at := bytes.LastIndexByte(authority, '@'); at > 0 {
		user, password, has := bytes.Cut(authority[:at], []byte(":"))
		switch {
		case has && !placeholder(string(password)) && !isCode(string(password)):
			s.found(base+len(user)+1, base+len(user)+1+len(password), "url_password", URL)
		case has:
		case strong(string(user)):
			s.found(base, base+len(user), "url_userinfo", URL)
		}
	}
	n := bytes.IndexAny(rest, "?#")
	for n >= 0 && n < len(rest) {
		start := n + 1
		n = len(rest)
		if end := bytes.IndexAny(rest[start:], "&;#?"); end >= 0 {
			n = start + end
		}
		name, value, has := bytes.Cut(rest[start:n], []byte("="))
		if has && sensitiveQuery(string(name)) && (Sensitive(string(name)) || len(value) >= 8) && !placeholder(string(value)) {
			s.found(n-len(value)+base, base+n, string(name), URL)
		}
	}
}

func isURLByte(c byte) bool {
	return c > ' ' && c != '"' && c != '\'' && c != '<' && c != '>' && c != '`' && c != '\\' && c != 0x7f
}

// assignment reads the name before and the value behind the "=" or ":" at i.
func (s *scanner) assignment(i int) {
	if i > 0 && isAlnum(s.text[i-1]) && !endsLikeSecret(s.text[i-1]) { // of no such name, and most are
		return
	}
	from, end, quotedName, spaced := s.nameBefore(i)
	if from == end || !Sensitive(string(s.text[from:end])) {
		return
	}
	s.assigned(i, string(s.text[from:end]), quotedName, spaced)
}

// shortestBare is the least length of a key or token that stands without quotes behind a colon: shorter ones are words of a
// sentence far more often. What a person chose may be as short as a value can be.
const shortestBare = 10

// chosen reports a name of what a person makes up and not a machine.
func chosen(name string) bool {
	last, _ := cutLast(splitWords(nil, name))
	return strings.HasPrefix(string(last), "pass") || string(last) == "pwd" || string(last) == "secret"
}

// assigned reads the value behind the "=" or ":" at i, which belongs to a sensitive name.
func (s *scanner) assigned(i int, name string, quotedName, spaced bool) {
	from := i + 1
	switch rest := s.text[from:]; {
	case bytes.HasPrefix(rest, []byte("=")) && s.text[i] == ':', bytes.HasPrefix(rest, []byte(">")):
		from++ // := and =>
	case bytes.HasPrefix(rest, []byte("=")), bytes.HasPrefix(rest, []byte("~")), bytes.HasPrefix(rest, []byte(":")):
		return // == and =~ compare, :: is a path
	}
	blanks := span0(s.text[from:], isBlank)
	from += blanks
	start, end, quote := s.valueAt(from)
	value := string(s.text[start:end])
	switch words := string(splitWords(nil, name)); {
	case strings.HasSuffix(words, "authorization"):
		s.authorization(start, name, quote)
	case strings.HasSuffix(words, "cookie"):
		if line := s.lineEnd(start, quote); bytes.IndexByte(s.text[start:line], '=') > 0 {
			s.found(start, line, name, Header)
		}
	case placeholder(value), isCode(value), quote == "`" && strings.Contains(value, " "): // a command of a shell
	case quote != "" && len(value) >= 4 && !strings.ContainsAny(value, " \t"),
		quotedName && quote != "" && value != "",
		s.text[i] == '=' && !spaced && blanks == 0 && len(value) >= 4 && name == strings.ToUpper(name),
		strong(value) && (quote != "" || !strings.Contains(value, ":") && (len(value) >= shortestBare || s.text[i] == '=' || chosen(name))):
		s.found(start, end, name, Assignment)
	}
}

// nameBefore finds the name that ends before i, which may stand in quotes or brackets with a few blanks behind it.
func (s *scanner) nameBefore(i int) (from, end int, quoted, spaced bool) {
	j := i
	for j > 0 && i-j < 4 && isBlank(s.text[j-1]) {
		j--
	}
	spaced = j < i
	for j > 0 && i-j < 8 && strings.IndexByte("\"'`]\\", s.text[j-1]) >= 0 {
		quoted = quoted || s.text[j-1] != ']'
		j--
	}
	end = j
	for j > 0 && end-j < 128 && (isURLSafe(s.text[j-1]) || s.text[j-1] == '.') {
		j--
	}
	if j > 0 && j < end && s.text[j-1] == '\\' && strings.IndexByte("nrt", s.text[j]) >= 0 {
		j++ // the letter belongs to an escaped line end
	}
	for j < end && (s.text[j] == '-' || s.text[j] == '.') { // of an option
		j++
	}
	return j, end, quoted, spaced
}

// valueAt reads the value at from: what stands in quotes (escaped or not, on one line), or a bare word.
func (s *scanner) valueAt(from int) (start, end int, quote string) {
	rest := s.text[from:]
	for _, q := range [...]string{`\"`, `\'`, `"`, `'`, "`"} {
		if !bytes.HasPrefix(rest, []byte(q)) {
			continue
		}
		inner := rest[len(q):]
		for n := 0; n < len(inner) && inner[n] != '\n'; n++ {
			if bytes.HasPrefix(inner[n:], []byte(q)) {
				return from + len(q), from + len(q) + n, q
			}
			if inner[n] == '\\' && q[0] != '\\' {
				n++
			}
		}
		return from, from, "" // no closing quote: not a value
	}
	return from, from + span0(rest, isBareByte), ""
}

func isBareByte(c byte) bool {
	return c > ' ' && c != 0x7f && strings.IndexByte(",;&)]}\"'<>`\\|", c) < 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// authorization reads a header's value, "Scheme credentials" or credentials alone.
func (s *scanner) authorization(start int, name, quote string) {
	end := s.lineEnd(start, quote)
	value := s.text[start:end]
	scheme := span0(value, func(c byte) bool { return isAlnum(c) || c == '-' })
	if scheme > 0 && scheme < len(value) && isBlank(value[scheme]) && isAlpha(value[0]) {
		from := scheme + span0(value[scheme:], isBlank)
		first := string(value[from : from+span0(value[from:], func(c byte) bool { return c > ' ' })])
		if credential(first) || basicPair(first) {
			s.found(start+from, end, name, Header)
		}
		return
	}
	if n := span0(value, isBareByte); credential(string(value[:n])) {
		s.found(start, start+n, name, Header)
	}
}

// bearer reads "Bearer x" and "Basic x" without a header name before them, if their space stands at i.
func (s *scanner) bearer(i int) {
	if i < 5 || i >= len(s.text) || s.text[i] != ' ' || s.text[i-1]|0x20 != 'r' && s.text[i-1]|0x20 != 'c' {
		return
	}
	scheme := strings.ToLower(string(s.text[max(i-6, 0):i]))
	if scheme != "bearer" {
		if scheme = scheme[len(scheme)-5:]; scheme != "basic" {
			return
		}
	}
	rest := s.text[i+1:]
	n := span0(rest, func(c byte) bool { return isSextet(c) || c == '.' || c == '~' || c == '=' })
	value := string(rest[:n])
	if scheme == "bearer" && n >= 12 && mixed(rest[:n]) && !isCode(value) || scheme == "basic" && basicPair(value) {
		s.found(i+1, i+1+n, scheme, Header)
	}
}

// option reads "--name value"; "--name=value" is an assignment. The name begins at i.
func (s *scanner) option(i int) {
	n := span0(s.text[i:], isURLSafe)
	from := i + n
	blanks := span0(s.text[from:], isBlank)
	if blanks == 0 || blanks > 4 || !Sensitive(string(s.text[i:from])) {
		return
	}
	start, end, quote := s.valueAt(from + blanks)
	value := string(s.text[start:end])
	if placeholder(value) || isCode(value) || value == "" || value[0] == '-' {
		return
	}
	if quote != "" && len(value) >= 4 || credential(value) || len(value) >= 6 && mixed([]byte(value)) {
		s.found(start, end, string(s.text[i:i+n]), Option)
	}
}

// lineEnd is where the value at start ends at the latest: at its closing quote or the end of the line.
func (s *scanner) lineEnd(start int, quote string) int {
	stop := "\r\n"
	if quote == "" { // a whole header may stand in quotes: -H 'Cookie: a=b'
		stop += `"'`
	} else {
		stop += quote[len(quote)-1:]
	}
	if n := bytes.IndexAny(s.text[start:], stop); n >= 0 {
		end := start + n
		if strings.HasPrefix(quote, `\`) && end > start {
			end--
		}
		return end
	}
	return len(s.text)
}
