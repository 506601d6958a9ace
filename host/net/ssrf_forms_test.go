package net

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// specialRanges are the special-purpose registries and what else is not the public Internet, with the class of each.
// Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries; RFC 1112, 3879, 4291.
var specialRanges = map[egress.Reason][]string{
	egress.MetadataAddress: {"169.254.0.0/16", "fe80::/10", "169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::/32", "fd00:c1::a9fe:a9fe/128", "fd00:42::42/128"},
	egress.PrivateAddress:  {"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "127.0.0.1/32", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7", "fd00::/8"},
	egress.NonRoutableAddress: {
		"0.0.0.0/8", "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/31", "192.0.2.0/24", "192.31.196.0/24",
		"192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
		"::/128", "::2/128", "::ffff:ffff/128", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32", "2001:1::1/128",
		"2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32",
		"2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fec0::/10", "ff00::/8",
	},
}

// edges are the first and the last address of a range.
func edges(p netip.Prefix) []netip.Addr {
	first := p.Masked().Addr()
	last := first.AsSlice()
	for i := p.Bits(); i < len(last)*8; i++ {
		last[i/8] |= 0x80 >> (i % 8)
	}
	end, _ := netip.AddrFromSlice(last)
	return slices.Compact([]netip.Addr{first, end})
}

// rangeForms are both edges of every special range, as the address of a name and, where the URL can say it, literally.
func rangeForms() []form {
	var forms []form
	for want, texts := range specialRanges {
		for _, text := range texts {
			for _, ip := range edges(netip.MustParsePrefix(text)) {
				name := form{class: "range", name: ip.String(), url: "http://a.example/x", want: want, answers: addresses(ip.String())}
				host := ip.String()
				if ip.Is6() {
					host = "[" + host + "]"
				}
				literal := form{class: "range", url: "http://" + host + "/x", want: want}
				for _, f := range []form{name, literal} {
					if !slices.ContainsFunc(forms, func(g form) bool { return g.key() == f.key() }) {
						forms = append(forms, f)
					}
				}
			}
		}
	}
	return forms
}

// redirectForms are redirects of http://a.example, which everybody may ask, to where nobody may go; as far as the status
// matters, with every status.
func redirectForms() []form {
	var forms []form
	add := func(name, location string, want egress.Reason, on ...int) {
		for _, status := range on {
			forms = append(forms, form{class: "redirect", name: fmt.Sprintf("%d %s", status, name), url: "http://a.example/from", status: status, location: location, want: want})
		}
	}
	for _, c := range []struct {
		name, location string
		want           egress.Reason
	}{
		{"to loopback", "http://127.0.0.1/x", egress.PrivateAddress},
		{"to a private address", "http://10.0.0.1/x", egress.PrivateAddress},
		{"to a metadata service", "http://169.254.169.254/latest/meta-data/", egress.MetadataAddress},
		{"to the name of a metadata service", "http://metadata.google.internal/computeMetadata/v1/", egress.MetadataHostname},
		{"to a private name", "http://inside.example/x", egress.PrivateAddress},
		{"to a name of loopback in IPv6", "http://six.example/x", egress.PrivateAddress},
		{"to a name with a mixed answer", "http://mixed.example/x", egress.PrivateAddress},
		{"to another port of a private address", "http://10.0.0.1:8080/x", egress.PrivateAddress},
		{"scheme-relative to loopback", "//127.0.0.1/x", egress.PrivateAddress},
		{"scheme-relative to a private name", "//inside.example/x", egress.PrivateAddress},
		{"to a file", "file:///etc/passwd", egress.UnsupportedScheme},
		{"to gopher", "gopher://127.0.0.1:6379/_FLUSHALL", egress.UnsupportedScheme},
		{"with a user and password", "http://user:S3CRET@b.example/x", egress.Userinfo},
		{"with a host as the user", "http://b.example@127.0.0.1/x", egress.Userinfo},
		{"to loopback in decimal", "http://2130706433/x", egress.InvalidHostname},
		{"to loopback in IPv6 clothes", "http://[::ffff:127.0.0.1]/x", egress.InvalidHostname},
		{"with the body to another host", "http://b.example/x", BodyRedirect},
		{"without end", "/from", TooManyRedirects},
	} {
		for _, status := range statuses {
			if c.want == BodyRedirect && status < 307 {
				continue
			}
			add(c.name, c.location, c.want, status)
			if c.want == BodyRedirect {
				forms[len(forms)-1].body = "client_secret=S3CRET"
			}
		}
	}
	for _, c := range []struct {
		name, location string
		want           egress.Reason
	}{
		{"to NAT64", "http://[64:ff9b::a9fe:a9fe]/x", egress.NonRoutableAddress},
		{"to short loopback", "http://127.1/x", egress.InvalidHostname},
		{"with a backslash", `http:\\127.0.0.1\x`, egress.InvalidURL},
		{"with a backslash before the at sign", `http://a.example\@127.0.0.1/x`, egress.InvalidURL},
		{"with a slash and a backslash", `/\127.0.0.1/x`, egress.InvalidURL},
		{"with a tab", "http://127.0\t.0.1/x", egress.InvalidURL},
		{"with a trailing dot", "http://localhost./x", egress.InvalidHostname},
		{"with a zone", "http://[fe80::1%25eth0]/x", egress.InvalidHostname},
		{"without a host", "http:///x", egress.MissingHostname},
		{"with one slash", "http:127.0.0.1/x", egress.MissingHostname},
		{"to data", "data:text/plain,x", egress.UnsupportedScheme},
		{"to javascript", "javascript:alert(1)", egress.UnsupportedScheme},
		{"to ftp", "ftp://127.0.0.1/x", egress.UnsupportedScheme},
		{"to a socket", "unix:///var/run/docker.sock", egress.UnsupportedScheme},
		{"to port 0", "http://b.example:0/x", egress.InvalidPort},
		{"to a name that does not exist", "http://none.example/x", egress.DNSNoAddresses},
		{"too long", "http://b.example/" + strings.Repeat("x", egress.MaxURL), egress.InvalidURL},
	} {
		add(c.name, c.location, c.want, 302)
	}
	return forms
}

// parserForms are URLs that parsers read differently, or no URLs.
func parserForms() []form {
	var forms []form
	for url, want := range map[string]egress.Reason{
		"":                                                 egress.InvalidURL,
		"a.example/x":                                      egress.InvalidURL,
		"http":                                             egress.InvalidURL,
		"http:":                                            egress.MissingHostname,
		"http://":                                          egress.MissingHostname,
		"http:///x":                                        egress.MissingHostname,
		"http://:80/x":                                     egress.MissingHostname,
		"http://?x":                                        egress.MissingHostname,
		"http://#x":                                        egress.MissingHostname,
		"http://user@a.example/x":                          egress.Userinfo,
		"http://user:S3CRET@a.example/x":                   egress.Userinfo,
		"http://a.example:80@b.example/x":                  egress.Userinfo,
		"http://a.example\\b.example/x":                    egress.InvalidURL,
		"http://a.example/\\b.example/x":                   egress.InvalidURL,
		"http://a.example/x\r\nX-Evil: y":                  egress.InvalidURL,
		"http://a.example/x y":                             egress.InvalidURL,
		"http://a.example/x\x00":                           egress.InvalidURL,
		"http://a.example/x\x7f":                           egress.InvalidURL,
		"http://a.example/\xff":                            egress.InvalidURL,
		"http://a.example/\u00fc":                          egress.InvalidURL,
		"http://a.example/%":                               egress.InvalidURL,
		"http://a.example/%2":                              egress.InvalidURL,
		"http://a.example/%zz":                             egress.InvalidURL,
		"http://a.example/<x>":                             egress.InvalidURL,
		"http://b\u00fccher.example/x":                     egress.InvalidURL,
		"http://\u0430.example/x":                          egress.InvalidURL,
		"http://a\u3002example/x":                          egress.InvalidURL,
		"http://a.example./x":                              egress.InvalidHostname,
		"http://a..example/x":                              egress.InvalidHostname,
		"http://.a.example/x":                              egress.InvalidHostname,
		"http://-a.example/x":                              egress.InvalidHostname,
		"http://a-.example/x":                              egress.InvalidHostname,
		"http://a_b.example/x":                             egress.InvalidHostname,
		"http://a%2eexample/x":                             egress.InvalidHostname,
		"http://a.example%2fb/x":                           egress.InvalidHostname,
		"http://a.example:80:80/x":                         egress.InvalidHostname,
		"http://[::1/x":                                    egress.InvalidHostname,
		"http://::1/x":                                     egress.InvalidHostname,
		"http://[::1]a.example/x":                          egress.InvalidHostname,
		"http://[a.example]/x":                             egress.InvalidHostname,
		"http://[0:0:0:0:0:0:0:1]/x":                       egress.InvalidHostname,
		"http://[fe80::1%25eth0]/x":                        egress.InvalidHostname,
		"http://a.example:/x":                              egress.InvalidPort,
		"http://a.example:0/x":                             egress.InvalidPort,
		"http://a.example:080/x":                           egress.InvalidPort,
		"http://a.example:+80/x":                           egress.InvalidPort,
		"http://a.example:8e1/x":                           egress.InvalidPort,
		"http://a.example:65616/x":                         egress.InvalidPort,
		"http://a.example:http/x":                          egress.InvalidPort,
		"http://a.example/v1/../x":                         egress.NonCanonicalPath,
		"http://a.example/./x":                             egress.NonCanonicalPath,
		"http://a.example/..":                              egress.NonCanonicalPath,
		"http://a.example/..;/x":                           egress.NonCanonicalPath,
		"file:///etc/passwd":                               egress.UnsupportedScheme,
		"file://a.example/x":                               egress.UnsupportedScheme,
		"gopher://a.example/_x":                            egress.UnsupportedScheme,
		"javascript:alert(1)":                              egress.UnsupportedScheme,
		"data:text/plain,x":                                egress.UnsupportedScheme,
		"blob:http://a.example/x":                          egress.UnsupportedScheme,
		"wss://a.example/x":                                egress.UnsupportedScheme,
		"http://metadata/x":                                egress.MetadataHostname,
		"http://metadata.google.internal/x":                egress.MetadataHostname,
		"http://METADATA.goog/x":                           egress.MetadataHostname,
		"http://instance-data/x":                           egress.MetadataHostname,
		"http://" + strings.Repeat("a", 64) + ".example/x": egress.InvalidHostname,
		"http://" + strings.Repeat("a.", 127) + "aa/x":     egress.InvalidHostname,
		"http://a.example/" + strings.Repeat("x", 8192):    egress.InvalidURL,
	} {
		forms = append(forms, form{class: "parser", url: url, want: want})
	}
	return forms
}

// key tells forms apart.
func (f form) key() string { return f.class + "\n" + f.name + "\n" + f.url }
