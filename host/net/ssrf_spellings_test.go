package net

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// form is one way to ask for what must not be reached, and the code it is refused with.
type form struct {
	class string
	name  string // what is odd about it, when the URL does not say
	url   string
	want  egress.Reason

	status   int    // of the redirect that http://a.example answers with; 0: there is none
	location string // where it leads
	body     string // a POST instead of a GET
	answers  zone   // what the name server says; nil: it knows a.example and nothing else
	twice    bool   // the first request is allowed, and the second is the form
}

// addressForms writes one IPv4 address in every way that some program reads as that address: each number of parts that
// inet_aton takes, in each mix of bases, padded and past 32 bits; percent escapes, other digits and other dots; the
// IPv6 forms that carry it; and URLs around it that parsers disagree about.
// Sources: inet_aton(3); WHATWG URL section 3.5; RFC 4291, 6052, 8215, 3056, 4380; Unicode blocks 2460 and 1D7CE.
func addressForms(ip netip.Addr) []form {
	var forms []form
	add := func(want egress.Reason, url string) {
		if !slices.ContainsFunc(forms, func(f form) bool { return f.url == url }) {
			forms = append(forms, form{class: "spelling", url: url, want: want})
		}
	}
	host := func(want egress.Reason, format string, args ...any) {
		add(want, "http://"+fmt.Sprintf(format, args...)+"/x")
	}
	for _, h := range atonForms(ip) {
		host(egress.InvalidHostname, "%s", h)
	}
	host(egress.InvalidPort, "[::ffff:%s", ip)
	host(egress.InvalidPort, "::ffff:%s", ip)
	class := egress.PrivateAddress
	if ip.IsLinkLocalUnicast() {
		class = egress.MetadataAddress
	}
	dotted := ip.String()
	host(class, "%s", dotted)
	host(class, "%s:80", dotted)
	for _, h := range []string{".", "..", ".%2e"} {
		host(egress.InvalidHostname, "%s%s", dotted, h)
	}
	host(egress.InvalidHostname, "%s", strings.ReplaceAll(dotted, ".", "%2e"))
	host(egress.InvalidHostname, "%s", strings.ReplaceAll(dotted, ".", "%2E"))
	host(egress.InvalidHostname, "%s", strings.ReplaceAll(dotted, ".", "%252e"))
	host(egress.InvalidHostname, "%s", escaped(dotted))
	host(egress.InvalidHostname, "%%%02x%s", dotted[0], dotted[1:])
	host(egress.InvalidHostname, "%s%%%02x", dotted[:len(dotted)-1], dotted[len(dotted)-1])
	host(egress.InvalidHostname, "%s%%00", dotted)
	for _, dot := range []string{"\u3002", "\uff0e", "\uff61", "\u2024"} {
		host(egress.InvalidURL, "%s", strings.ReplaceAll(dotted, ".", dot))
		host(egress.InvalidHostname, "%s", strings.ReplaceAll(dotted, ".", escaped(dot)))
	}
	for _, zero := range []rune{'\uff10', '\U0001d7ce', '\U0001d7d8', '\U0001d7e2', '\U0001d7ec', '\U0001d7f6', '\U0001fbf0', '\u0660', '\u06f0', '\u0966', '\u2080'} {
		host(egress.InvalidURL, "%s", digits(dotted, func(d rune) rune { return zero + d }))
	}
	for _, one := range []rune{'\u2460', '\u24f5', '\u2776', '\u2780', '\u278a', '\u2474', '\u2488'} { // enclosed: there is no zero among some
		host(egress.InvalidURL, "%s", digits(dotted, func(d rune) rune {
			if d == 0 {
				return '\u24ea'
			}
			return one + d - 1
		}))
	}
	b := ip.As4()
	high, low := uint(b[0])<<8|uint(b[1]), uint(b[2])<<8|uint(b[3])
	for _, f := range []string{
		"[::ffff:%[1]s]", "[::FFFF:%[1]s]", "[::%[1]s]", "[0:0:0:0:0:ffff:%[1]s]", "[0:0:0:0:0:0:%[1]s]", "[::ffff:%[2]x:%[3]x]", "[::FFFF:%[2]X:%[3]X]",
		"[0000:0000:0000:0000:0000:ffff:%[2]x:%[3]x]", "[0:0:0:0:0:ffff:%[2]x:%[3]x]", "[::ffff:0:%[1]s]", "[64:ff9b::%[1]s]", "[64:ff9b:0:0:0:0:%[2]x:%[3]x]",
		"[::ffff:%[1]s%%25eth0]", "[fe80::%[2]x:%[3]x%%25lo]", "[::ffff:%[1]s%%eth0]", "[::%%31]", "[%[1]s]", "[[::ffff:%[1]s]]", "[::ffff:%[1]s].",
		"[::ffff:0x%[2]x:%[3]x]", "[::fffff:%[2]x:%[3]x]", "[%%3a%%3affff%%3a%[1]s]", "[v1.%[1]s]",
	} {
		want := egress.InvalidHostname
		if strings.Contains(f, "%%eth0") {
			want = egress.InvalidURL
		}
		text := fmt.Sprintf(f, dotted, high, low)
		text, _, _ = strings.Cut(text, "%!(EXTRA")
		host(want, "%s", text)
	}
	for _, f := range []string{
		"[::%x:%x]", "[::ffff:0:%x:%x]", "[64:ff9b::%x:%x]", "[64:ff9b:1::%x:%x]", "[2002:%x:%x::]", "[2002:%x:%x::1]", "[2001:0:%x:%x::]", "[2001::%x:%x]",
		"[2001:0:%x:%x::1]", "[64:ff9b:1:ffff::%x:%x]",
	} {
		host(egress.NonRoutableAddress, f, high, low)
	}
	host(egress.MetadataAddress, "[fe80::%x:%x]", high, low)
	host(egress.PrivateAddress, "[fd00::%x:%x]", high, low)
	for _, c := range []struct {
		url  string
		want egress.Reason
	}{
		{"http://a.example@%s/", egress.Userinfo},
		{"http://a.example:80@%s/", egress.Userinfo},
		{"http://a.example%%40%s/", egress.InvalidHostname},
		{"http://a.example:x@%s:80/", egress.Userinfo},
		{"http://@%s/", egress.Userinfo},
		{"http://:@%s/", egress.Userinfo},
		{"http://foo@%s:80@a.example/", egress.Userinfo},
		{"http://a.example&@%s/", egress.Userinfo},
		{"http://a.example%%00@%s/", egress.Userinfo},
		{"http://a.example%%09@%s/", egress.Userinfo},
		{"http://%s#@a.example/", class},
		{"http://%s?@a.example/", class},
		{"http://%s#.a.example/", class},
		{"http://%s/@a.example", class},
		{"http://%s;a.example/", egress.InvalidHostname},
		{"http://%s,a.example/", egress.InvalidHostname},
		{"http://%s\\@a.example/", egress.InvalidURL},
		{"http://a.example\\@%s/", egress.InvalidURL},
		{"http://a.example\\\\%s/", egress.InvalidURL},
		{"http:\\\\%s/", egress.InvalidURL},
		{"http:/\\%s/", egress.InvalidURL},
		{"http:%s/", egress.MissingHostname},
		{"http:/%s/", egress.MissingHostname},
		{"http:///%s/", egress.MissingHostname},
		{"http:////%s/", egress.MissingHostname},
		{"//%s/", egress.InvalidURL},
		{"%s/", egress.InvalidURL},
		{"http//%s/", egress.InvalidURL},
		{"http://%s:80:80/", egress.InvalidHostname},
		{"http://\t%s/", egress.InvalidURL},
		{"ht\ttp://%s/", egress.InvalidURL},
		{"http:// %s/", egress.InvalidURL},
		{"http://%s /", egress.InvalidURL},
		{" http://%s/", egress.InvalidURL},
		{"http://%s\n/", egress.InvalidURL},
		{"http://%s\r\nHost: a.example\r\n/", egress.InvalidURL},
		{"http://%s\x00.a.example/", egress.InvalidURL},
		{"http://%s%%00.a.example/", egress.InvalidHostname},
		{"http://%s%%0d%%0aHost:a.example/", egress.InvalidPort},
		{"http://%s%%2f.a.example/", egress.InvalidHostname},
		{"http://\u00ad%s/", egress.InvalidURL},
		{"http://%s\u200b/", egress.InvalidURL},
		{"http://{%s}/", egress.InvalidURL},
		{"http://*.%s/", egress.InvalidHostname},
		{"gopher://%s:6379/_x", egress.UnsupportedScheme},
		{"file://%s/etc/passwd", egress.UnsupportedScheme},
		{"ftp://%s/", egress.UnsupportedScheme},
		{"dict://%s:11211/", egress.UnsupportedScheme},
		{"ldap://%s/", egress.UnsupportedScheme},
		{"tftp://%s/", egress.UnsupportedScheme},
		{"ws://%s/", egress.UnsupportedScheme},
		{"jar:http://%s!/", egress.UnsupportedScheme},
		{"view-source:http://%s/", egress.UnsupportedScheme},
		{"http+unix://%s/", egress.UnsupportedScheme},
		{"http://%s:080/", egress.InvalidPort},
		{"http://%s:0/", egress.InvalidPort},
		{"http://%s:/", egress.InvalidPort},
		{"http://%s:65616/", egress.InvalidPort},
		{"http://%s:-80/", egress.InvalidPort},
		{"http://%s:8\u0660/", egress.InvalidURL},
		{"https://%s/", class},
		{"HTTP://%s/", class},
	} {
		add(c.want, fmt.Sprintf(c.url, dotted))
	}
	return forms
}

// atonForms are the spellings that inet_aton takes and netip does not.
func atonForms(ip netip.Addr) []string {
	b := ip.As4()
	p := [4]uint64{uint64(b[0]), uint64(b[1]), uint64(b[2]), uint64(b[3])}
	whole := p[0]<<24 | p[1]<<16 | p[2]<<8 | p[3]
	number := func(n uint64, base int) string {
		switch base {
		case 8:
			return "0" + strconv.FormatUint(n, 8)
		case 16:
			return "0x" + strconv.FormatUint(n, 16)
		}
		return strconv.FormatUint(n, 10)
	}
	var out []string
	for _, parts := range [][]uint64{{whole}, {p[0], whole & 0xffffff}, {p[0], p[1], whole & 0xffff}, p[:]} {
		mixes := 1
		for range parts {
			mixes *= 3
		}
		for mix := range mixes {
			texts, rest := make([]string, len(parts)), mix
			for i, n := range parts {
				texts[i] = number(n, []int{10, 8, 16}[rest%3])
				rest /= 3
			}
			if text := strings.Join(texts, "."); text != ip.String() {
				out = append(out, text)
			}
		}
		for _, style := range []string{"0X%X", "0x%08x", "0x%016x", "%#012o", "%020d", "000%o"} { // upper case and padded
			texts := make([]string, len(parts))
			for i, n := range parts {
				texts[i] = fmt.Sprintf(style, n)
			}
			out = append(out, strings.Join(texts, "."))
		}
	}
	over := func(n, by uint64) string { return strconv.FormatUint(n+by, 10) }
	return append(out,
		over(whole, 1<<32), number(whole+1<<32, 16), number(whole+1<<32, 8), over(whole, 1<<33),
		over(p[0], 256)+"."+over(p[1], 256)+"."+over(p[2], 256)+"."+over(p[3], 256),
		over(p[0], 0)+"."+over(p[1], 0)+"."+over(p[2], 0)+"."+over(p[3], 1024), "-"+over(whole, 0), "+"+over(whole, 0))
}

// digits replaces the decimal digits of s.
func digits(s string, with func(rune) rune) string {
	return strings.Map(func(c rune) rune {
		if '0' <= c && c <= '9' {
			return with(c - '0')
		}
		return c
	}, s)
}

// escaped percent-encodes every byte.
func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}
