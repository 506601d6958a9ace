package net

import (
	"context"
	"crypto/tls"
	"errors"
	stdnet "net"
	"net/http"
	"net/netip"
	"syscall"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// connect dials judged addresses in the order they came until one answers.
func (g *Gate) connect(ctx context.Context, t egress.Target, to []netip.Addr, open Allowances) (stdnet.Conn, error) {
	dialer := g.dialer
	if dialer == nil {
		dialer = checked(open.opened(t))
	}
	var faults []error
	for _, ip := range to {
		conn, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(ip, t.Port()).String())
		if err == nil {
			return conn, nil
		}
		faults = append(faults, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(faults...)
}

// checked is the dialer that judges the address on the socket itself, the last moment before it connects: nothing
// that happens between judging a name and using it can lead elsewhere.
func checked(opened []netip.Prefix) *stdnet.Dialer {
	return &stdnet.Dialer{
		Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return &RefusedError{Reason: egress.DNSInvalidAddress, Sentence: "the socket has no address"}
			}
			ip := at.Addr().Unmap()
			if v := egress.CheckAddresses([]egress.Address{{Addr: ip, Class: Classify(ip)}}, opened); !v.Allowed {
				return &RefusedError{Reason: v.Reason, Sentence: v.Sentence}
			}
			return nil
		},
	}
}

// transport speaks HTTP over connections that dial gives for a host and port. It has no proxy, whatever the environment
// says, and decompresses nothing by itself.
func (g *Gate) transport(dial func(ctx context.Context, address string) (stdnet.Conn, error)) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            func(ctx context.Context, _, address string) (stdnet.Conn, error) { return dial(ctx, address) },
		TLSClientConfig:        &tls.Config{RootCAs: g.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    handshakeTimeout,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        idleTimeout,
	}
}
