package net

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	stdnet "net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// zone is what a name server says: to the n-th question (from 0) for a name, without its last dot, and a type.
type zone func(name string, kind dnsmessage.Type, n int) reply

// reply is one answer of a name server.
type reply struct {
	code    dnsmessage.RCode
	via     []string // names that the asked one is an alias of, in turn; the addresses belong to the last
	ips     []string
	garbage bool
}

// addresses says the same to everyone who asks for the kind of addresses they are.
func addresses(ips ...string) zone {
	return func(string, dnsmessage.Type, int) reply { return reply{ips: ips} }
}

func alias(via []string, ips ...string) zone {
	return func(string, dnsmessage.Type, int) reply { return reply{via: via, ips: ips} }
}

func failing(code dnsmessage.RCode) zone {
	return func(string, dnsmessage.Type, int) reply { return reply{code: code} }
}

// dnsForms are answers of name servers that lead where nobody may go, or nowhere. Every answer has a time to live of 0.
func dnsForms() []form {
	many := make([]string, maxAnswers+1)
	for i := range many {
		many[i] = fmt.Sprintf("93.184.216.%d", 34+i)
	}
	first := func(once, then zone) zone {
		return func(name string, kind dnsmessage.Type, n int) reply {
			if n == 0 {
				return once(name, kind, n)
			}
			return then(name, kind, n)
		}
	}
	byKind := func(v4, v6 zone) zone {
		return func(name string, kind dnsmessage.Type, n int) reply {
			if kind == dnsmessage.TypeA {
				return v4(name, kind, n)
			}
			return v6(name, kind, n)
		}
	}
	outside := addresses(public)
	var forms []form
	add := func(name string, want egress.Reason, z zone) {
		forms = append(forms, form{class: "dns", name: name, url: "http://a.example/x", want: want, answers: z})
	}
	add("A is private", egress.PrivateAddress, addresses("10.0.0.1"))
	add("A is loopback", egress.PrivateAddress, addresses("127.0.0.1"))
	add("A is shared space", egress.PrivateAddress, addresses("100.64.0.1"))
	add("A is a metadata service", egress.MetadataAddress, addresses("169.254.169.254"))
	add("A is a metadata service in shared space", egress.MetadataAddress, addresses("100.100.100.200"))
	add("A is the unspecified address", egress.NonRoutableAddress, addresses("0.0.0.0"))
	add("A is multicast", egress.NonRoutableAddress, addresses("224.0.0.1"))
	add("A is broadcast", egress.NonRoutableAddress, addresses("255.255.255.255"))
	add("AAAA is loopback", egress.PrivateAddress, addresses("::1"))
	add("AAAA is unique local", egress.PrivateAddress, addresses("fd12:3456::1"))
	add("AAAA is link-local", egress.MetadataAddress, addresses("fe80::1"))
	add("AAAA is a metadata service", egress.MetadataAddress, addresses("fd00:ec2::254"))
	add("AAAA maps loopback", egress.PrivateAddress, addresses("::ffff:127.0.0.1"))
	add("AAAA maps a metadata service", egress.MetadataAddress, addresses("::ffff:169.254.169.254"))
	add("AAAA is compatible with loopback", egress.NonRoutableAddress, addresses("::7f00:1"))
	add("AAAA is NAT64 to a metadata service", egress.NonRoutableAddress, addresses("64:ff9b::a9fe:a9fe"))
	add("AAAA is 6to4 to loopback", egress.NonRoutableAddress, addresses("2002:7f00:1::1"))
	add("public and private", egress.PrivateAddress, addresses(public, "10.0.0.1"))
	add("private and public", egress.PrivateAddress, addresses("10.0.0.1", public))
	add("many public, the last private", egress.PrivateAddress, addresses(append(slices.Clone(many[:40]), "192.168.1.1")...))
	add("A public, AAAA loopback", egress.PrivateAddress, byKind(outside, addresses("::1")))
	add("A public, AAAA maps a metadata service", egress.MetadataAddress, byKind(outside, addresses("::ffff:169.254.169.254")))
	add("A loopback, AAAA public", egress.PrivateAddress, byKind(addresses("127.0.0.1"), addresses("2606:4700::1111")))
	add("alias of a private name", egress.PrivateAddress, alias([]string{"inside.corp.example"}, "10.0.0.1"))
	add("alias of localhost", egress.PrivateAddress, alias([]string{"localhost"}, "127.0.0.1"))
	add("alias of a metadata service", egress.MetadataAddress, alias([]string{"metadata.google.internal"}, "169.254.169.254"))
	add("aliases of aliases", egress.MetadataAddress, alias([]string{"one.example", "two.example", "three.example"}, "169.254.169.254"))
	add("alias with a mixed answer", egress.PrivateAddress, alias([]string{"one.example"}, public, "10.0.0.1"))
	add("alias that leads nowhere", egress.DNSNoAddresses, alias([]string{"one.example"}))
	add("alias of itself", egress.DNSNoAddresses, alias([]string{"a.example"}))
	add("no such name", egress.DNSNoAddresses, failing(dnsmessage.RCodeNameError))
	add("no addresses", egress.DNSNoAddresses, addresses())
	add("the server fails", egress.DNSFailure, failing(dnsmessage.RCodeServerFailure))
	add("the server refuses", egress.DNSFailure, failing(dnsmessage.RCodeRefused))
	add("not a message", egress.DNSFailure, func(string, dnsmessage.Type, int) reply { return reply{garbage: true} })
	add("more addresses than are looked at", egress.DNSInvalidAddress, addresses(many...))
	for name, z := range map[string]struct {
		want egress.Reason
		then zone
	}{
		"loopback":           {egress.PrivateAddress, addresses("127.0.0.1")},
		"a metadata service": {egress.MetadataAddress, addresses("169.254.169.254")},
		"both":               {egress.PrivateAddress, addresses(public, "127.0.0.1")},
	} {
		add("rebinding to "+name, z.want, first(outside, z.then))
		forms[len(forms)-1].twice = true
	}
	return forms
}

// nameServer is Go's own resolver with a name server in memory behind it.
func nameServer(t testing.TB, z zone) Resolver {
	var (
		mu    sync.Mutex
		asked = map[string]int{}
		wg    sync.WaitGroup
	)
	t.Cleanup(wg.Wait)
	return &stdnet.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (stdnet.Conn, error) {
		ours, theirs := stdnet.Pipe()
		wg.Go(func() {
			defer theirs.Close()
			for {
				var size [2]byte
				if _, err := io.ReadFull(theirs, size[:]); err != nil {
					return
				}
				q := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(theirs, q); err != nil {
					return
				}
				mu.Lock()
				a, err := answerTo(q, z, asked)
				mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := theirs.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)); err != nil {
					return
				}
			}
		})
		return ours, nil
	}}
}

// answerTo answers one question.
func answerTo(question []byte, z zone, asked map[string]int) ([]byte, error) {
	var p dnsmessage.Parser
	h, err := p.Start(question)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	key := q.Name.String() + q.Type.String()
	r := z(strings.TrimSuffix(q.Name.String(), "."), q.Type, asked[key])
	asked[key]++
	if r.garbage {
		return []byte("not a message"), nil
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: h.ID, Response: true, Authoritative: true, RecursionAvailable: true, RCode: r.code})
	b.EnableCompression()
	if err := b.StartQuestions(); err != nil {
		return nil, err
	}
	if err := b.Question(q); err != nil {
		return nil, err
	}
	if err := b.StartAnswers(); err != nil {
		return nil, err
	}
	at := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
	for _, name := range r.via {
		to := dnsmessage.MustNewName(name + ".")
		if err := b.CNAMEResource(at, dnsmessage.CNAMEResource{CNAME: to}); err != nil {
			return nil, err
		}
		at.Name = to
	}
	for _, text := range r.ips {
		ip := netip.MustParseAddr(text)
		switch {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			err = b.AResource(at, dnsmessage.AResource{A: ip.As4()})
		case !ip.Is4() && q.Type == dnsmessage.TypeAAAA:
			err = b.AAAAResource(at, dnsmessage.AAAAResource{AAAA: ip.As16()})
		}
		if err != nil {
			return nil, err
		}
	}
	return b.Finish()
}
