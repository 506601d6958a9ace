package plugintest

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"time"
)

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// formats are the formats that are checked.
var formats = map[string]func(string) bool{
	"date-time": func(s string) bool { _, err := time.Parse(time.RFC3339Nano, s); return err == nil },
	"date":      func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil },
	"uri":       func(s string) bool { u, err := url.Parse(s); return err == nil && u.IsAbs() },
	"email":     func(s string) bool { a, err := mail.ParseAddress(s); return err == nil && a.Address == s },
	"ipv4":      func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() },
	"ipv6":      func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" },
	"uuid":      uuid.MatchString,
}
