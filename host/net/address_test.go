package net

import (
	"errors"
	"fmt"
	stdnet "net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// special are addresses at both edges of every range that is not the public Internet.
// Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries; RFC 4291; the clouds' own documents.
func special() map[egress.Class][]string {
	return map[egress.Class][]string{
		egress.Metadata: {
			"169.254.0.0", "169.254.169.254", "169.254.170.2", "169.254.255.255", "100.100.100.200", "192.0.0.192", "168.63.129.16",
			"fe80::", "fe80::1", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:a9fe:a9fe::1", "fd00:100::100:200", "::ffff:169.254.169.254",
		},
		egress.Private: {
			"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255", "100.64.0.0", "100.127.255.255",
			"127.0.0.0", "127.0.0.1", "127.255.255.255", "::1", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		},
		egress.NonRoutable: {
			"0.0.0.0", "0.0.0.1", "0.255.255.255", "192.0.0.0", "192.0.0.1", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.31.196.0", "192.31.196.255",
			"192.52.193.0", "192.88.99.0", "192.88.99.255", "192.175.48.0", "192.175.48.255", "198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255",
			"203.0.113.0", "203.0.113.255", "224.0.0.0", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255",
			"::", "::2", "::7f00:1", "::a9fe:a9fe", "::ffff:0:7f00:1", "64:ff9b::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::5db8:d822",
			"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "100::", "100::ffff:ffff:ffff:ffff", "100:0:0:1::1", "2001::", "2001:0:7f00:1::",
			"2001:1::1", "2001:2::1", "2001:10::1", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
			"2002::", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8000::1", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
			"5f00::1", "fec0::1", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::ffff:0.0.0.0", "1000::1", "4000::1",
		},
	}
}

// neighbours are public addresses right beside special ranges, and some well-known ones: a check that refuses
// everything would be safe and useless.
func neighbours() []string {
	return []string{
		"1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.1.255", "192.0.3.0",
		"192.31.195.255", "192.31.197.0", "192.52.192.255", "192.52.194.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "192.175.47.255", "192.175.49.0",
		"198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "140.82.112.3", "151.101.1.69", "104.16.0.1",
		"2000::", "2001:200::1", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", "2001:ffff::1", "2003::1", "2400:cb00::1", "2606:4700::1111", "2606:4700:4700::1111",
		"2607:f8b0::1", "2620:4f:7fff::1", "2620:4f:8001::1", "2620:fe::fe", "2800::1", "2a00:1450::1", "2a04:4e42::1", "3000::1", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::1",
		"::ffff:1.1.1.1", "::ffff:8.8.8.8",
	}
}

func TestClassify(t *testing.T) {
	count := 0
	for want, texts := range special() {
		for _, text := range texts {
			count++
			if got := Classify(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s is %s, want %s", text, got, want)
			}
		}
	}
	for _, text := range neighbours() {
		if got := Classify(netip.MustParseAddr(text)); got != egress.Public {
			t.Errorf("%s is %s, want public", text, got)
		}
	}
	if count < 60 || len(neighbours()) < 60 {
		t.Errorf("only %d special and %d public addresses", count, len(neighbours()))
	}
	if Classify(netip.Addr{}) != egress.NonRoutable || Classify(netip.MustParseAddr("2606:4700::1%eth0")) != egress.NonRoutable {
		t.Error("what is no address, or only one on some link, is routable")
	}
}

// The list of carriers must hold without the library's registries, which happen to refuse the same ranges today.
func TestCarriersAreKnownByThemselves(t *testing.T) {
	for _, text := range []string{
		"::7f00:1", "::a9fe:a9fe", "::ffff:0:7f00:1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2001:0:7f00:1::", "2002:7f00:1::1", "fec0::7f00:1",
	} {
		if !within(netip.MustParseAddr(text), carriers) {
			t.Errorf("%s is no carrier", text)
		}
	}
	for _, text := range neighbours() {
		if within(netip.MustParseAddr(text).Unmap(), carriers) {
			t.Errorf("%s is a carrier", text)
		}
	}
}

// Each special address behind a name, and with every private origin opened: metadata and the rest stay shut.
func TestNamesThatLeadToSpecialAddressesAreRefused(t *testing.T) {
	for class, texts := range special() {
		for _, text := range texts {
			for _, open := range []bool{false, true} {
				call := anywhere(t)
				call.Grants = snapshot(t, "net.fetch:*", "net.fetch:a.example")
				w := newWorld(t)
				w.name("a.example", text)
				w.serve(netip.AddrPortFrom(netip.MustParseAddr(text).Unmap(), 80).String(), say("reached"))
				g := w.gate(nil)
				if open {
					g = w.gate(nil, "http://a.example")
				}
				reply, body := get(t, plugin(t, g, call), "http://a.example/")
				if class == egress.Private && open {
					if reply.Fault != nil || body != "reached" {
						t.Errorf("%s is opened and was not reached: %v", text, reply.Fault)
					}
					continue
				}
				if reply.Fault == nil || reply.Fault.Code != wire.CodeDenied || len(w.dials()) != 0 {
					t.Errorf("%s (opened: %v) was not refused: %+v", text, open, reply)
				}
			}
		}
	}
}

func TestPublicAddressesAreReached(t *testing.T) {
	for _, text := range neighbours() {
		w := newWorld(t)
		w.name("a.example", text)
		w.serve(netip.AddrPortFrom(netip.MustParseAddr(text).Unmap(), 80).String(), say("reached"))
		if reply, body := get(t, plugin(t, w.gate(nil), anywhere(t)), "http://a.example/"); body != "reached" {
			t.Errorf("%s: %v", text, reply.Fault)
		}
	}
}

func TestWhatTheNameServerSays(t *testing.T) {
	many := make([]string, maxAnswers+1)
	for i := range many {
		many[i] = netip.AddrFrom4([4]byte{93, 184, 216, byte(i)}).String()
	}
	for name, c := range map[string]struct {
		ips    []string
		err    error
		reason egress.Reason
		code   wire.Code
	}{
		"public then private":   {[]string{public, "10.0.0.1"}, nil, egress.PrivateAddress, wire.CodeDenied},
		"private then public":   {[]string{"10.0.0.1", public}, nil, egress.PrivateAddress, wire.CodeDenied},
		"public and loopback6":  {[]string{public, "::1"}, nil, egress.PrivateAddress, wire.CodeDenied},
		"public and metadata":   {[]string{public, "169.254.169.254"}, nil, egress.MetadataAddress, wire.CodeDenied},
		"public and unroutable": {[]string{public, "0.0.0.0"}, nil, egress.NonRoutableAddress, wire.CodeDenied},
		"mapped loopback":       {[]string{"::ffff:127.0.0.1"}, nil, egress.PrivateAddress, wire.CodeDenied},
		"a zone":                {[]string{"fe80::1%eth0"}, nil, egress.DNSInvalidAddress, wire.CodeDenied},
		"no answer":             {nil, nil, egress.DNSNoAddresses, wire.CodeUnavailable},
		"no such name":          {nil, &stdnet.DNSError{IsNotFound: true}, egress.DNSNoAddresses, wire.CodeUnavailable},
		"server failure":        {nil, &stdnet.DNSError{IsTemporary: true}, egress.DNSFailure, wire.CodeUnavailable},
		"time ran out":          {nil, &stdnet.DNSError{IsTimeout: true}, egress.DNSFailure, wire.CodeUnavailable},
		"error with answers":    {[]string{public}, errors.New("truncated"), egress.DNSFailure, wire.CodeUnavailable},
		"too many":              {many, nil, egress.DNSInvalidAddress, wire.CodeDenied},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(t), &book{}
			w.name("a.example", c.ips...)
			w.names["a.example."][0].err = c.err
			w.serve(public+":80", say("reached"))
			reply, _ := get(t, plugin(t, w.gate(b), anywhere(t)), "http://a.example/")
			faulty(t, reply, c.code, string(c.reason))
			if got := w.dials(); len(got) != 0 || w.questions() != 1 {
				t.Errorf("dialled %q after %d questions", got, w.questions())
			}
			if got := b.all(); len(got) != 1 || got[0].Reason != c.reason || (c.err == nil && len(c.ips) > 0 && len(c.ips) < 3 && len(got[0].Addresses) != len(c.ips)) {
				t.Errorf("audit %+v", got)
			}
		})
	}
}

// A name that answers with a public address first and a private one from then on: it is asked once, also when the
// connection has to be made again.
func TestRebindingIsAskedOnce(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.name("a.example", "127.0.0.1")
	w.serve("127.0.0.1:80", say("inside"))
	w.serve(public+":80", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Connection", "close")
		fmt.Fprint(out, "outside")
	})
	p := plugin(t, w.gate(nil), anywhere(t))
	for range 3 {
		if reply, body := get(t, p, "http://a.example/"); body != "outside" {
			t.Errorf("reply %+v %q", reply, body)
		}
	}
	if got := w.dials(); w.questions() != 1 || !slices.Equal(got, []string{public + ":80", public + ":80", public + ":80"}) {
		t.Errorf("dialled %q after %d questions", got, w.questions())
	}
}

func TestNamesAreAskedForAsAbsolute(t *testing.T) {
	w := newWorld(t)
	get(t, plugin(t, w.gate(nil), anywhere(t)), "http://a.example/")
	if !slices.Equal(w.asked, []string{"a.example."}) {
		t.Errorf("asked %q: without the dot the machine's search domains are tried", w.asked)
	}
}

// Names are resolved by Go's own resolver whatever GODEBUG and the build say: the system's reads decimal, octal and hex
// spellings of addresses as addresses, and asks where it likes. What resolves, resolves the same either way: the
// addresses are judged after it.
func TestNamesAreResolvedByGo(t *testing.T) {
	r, ok := New(Config{}).resolver.(*stdnet.Resolver)
	if !ok || !r.PreferGo || r.Dial != nil {
		t.Errorf("the resolver is %+v", r)
	}
}

func TestEveryJudgedAddressIsTriedInOrder(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", "93.184.216.40", "93.184.216.41", "93.184.216.42")
	w.serve("93.184.216.41:80", say("second"))
	if _, body := get(t, plugin(t, w.gate(nil), anywhere(t)), "http://a.example/"); body != "second" {
		t.Errorf("body %q", body)
	}
	if got := w.dials(); !slices.Equal(got, []string{"93.184.216.40:80", "93.184.216.41:80"}) {
		t.Errorf("dialled %q", got)
	}
}

// The check on the socket stands alone: whatever was judged before, this dialer reaches no special address.
func TestTheSocketIsJudgedAgain(t *testing.T) {
	listener, err := stdnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	accepted := make(chan stdnet.Conn, 1)
	go func() {
		if c, err := listener.Accept(); err == nil {
			accepted <- c
		}
		close(accepted)
	}()
	var refused *RefusedError
	if _, err := checked(nil).DialContext(t.Context(), "tcp", listener.Addr().String()); !errors.As(err, &refused) || refused.Reason != egress.PrivateAddress {
		t.Fatalf("dial = %v", err)
	}
	conn, err := checked(private).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	(<-accepted).Close()
	if more, ok := <-accepted; ok {
		more.Close()
		t.Error("the refused dial was accepted too")
	}
	control := checked(private).Control
	for class, texts := range special() {
		for _, text := range texts {
			at := netip.AddrPortFrom(netip.MustParseAddr(text), 80).String()
			if err := control("tcp", at, syscall.RawConn(nil)); (err == nil) != (class == egress.Private) {
				t.Errorf("%s with private ranges open: %v", at, err)
			}
		}
	}
	if err := control("tcp", "not an address", nil); !errors.As(err, &refused) {
		t.Errorf("no address: %v", err)
	}
}

// The real dialer, through the whole gate: the origin that is opened is reached, another port is not.
func TestOpenedOriginIsReachedOverTCP(t *testing.T) {
	listener, err := stdnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: say("loopback")}
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(listener) }()
	defer func() { server.Close(); <-done }()

	at := listener.Addr().String()
	open, err := ParseAllowances("http://" + at)
	if err != nil {
		t.Fatal(err)
	}
	call := anywhere(t)
	call.Grants = snapshot(t, "net.fetch:127.0.0.1:*", "net.fetch:127.0.0.1")
	for _, c := range []struct {
		open Allowances
		want string
	}{{open, "loopback"}, {Allowances{}, ""}} {
		g := New(Config{Private: c.open})
		defer g.Close()
		reply, body := get(t, plugin(t, g, call), "http://"+at+"/")
		if body != c.want {
			t.Errorf("body %q, fault %v", body, reply.Fault)
		}
		if c.want == "" {
			faulty(t, reply, wire.CodeDenied, string(egress.PrivateAddress))
		}
	}
}

func TestAllowancesAreExactOrigins(t *testing.T) {
	a, err := ParseAllowances("http://127.0.0.1:8080", "https://Git.Corp.example", "http://[::1]:80")
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{
		"http://127.0.0.1:8080/x": true, "https://git.corp.example/": true, "https://git.corp.example:443/": true, "http://[::1]/": true,
		"http://127.0.0.1/": false, "https://127.0.0.1:8080/": false, "http://127.0.0.2:8080/": false, "http://localhost:8080/": false,
		"http://git.corp.example/": false, "https://git.corp.example:8443/": false, "https://x.git.corp.example/": false,
	} {
		target, v := egress.ParseURL(url)
		if !v.Allowed || (len(a.opened(target)) > 0) != want {
			t.Errorf("%s opened: %v, want %v", url, !want, want)
		}
	}
	for _, text := range []string{"", "*", "127.0.0.1:8080", "http://127.0.0.1:8080/", "http://a.example/x", "http://a.example?x", "http://u@a.example", "ftp://a.example", "http://*.example", "http://169.254.169.254", "http://[fe80::1]", "http://0x7f.1"} {
		var bad *AllowanceError
		if _, err := ParseAllowances(text); !errors.As(err, &bad) {
			t.Errorf("ParseAllowances(%q) = %v", text, err)
		}
	}
}
