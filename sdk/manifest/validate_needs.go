package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// symbols checks that the host can call what the kind promises and that each
// import is served and asked for.
func (c *checker) symbols() {
	c.count("exports", len(c.m.Exports), MaxSymbols)
	c.count("imports", len(c.m.Imports), MaxSymbols)
	c.unique("exports", c.m.Exports)
	c.unique("imports", c.m.Imports)
	if c.m.Kind == wire.KindTool && !slices.Contains(c.m.Exports, wire.ExportInvoke) {
		c.add("exports", "%s is missing: a tool plugin answers calls there", wire.ExportInvoke)
	}
	for i, s := range c.m.Imports {
		c.imported(fmt.Sprintf("imports[%d]", i), s)
	}
}

func (c *checker) imported(path, s string) {
	module, name, ok := wire.SplitImport(s)
	if !ok {
		c.add(path, "%q is not module.name", s)
		return
	}
	imp, known := wire.LookupImport(module, name)
	switch {
	case !known:
		c.add(path, "%s is not part of %s", s, wire.ABI)
	case imp.Refused != "":
		c.add(path, "%s is not served: %s", s, imp.Refused)
	case imp.Needs != "" && !c.satisfied(imp.Needs):
		c.add(path, "%s needs the capability %s, which capabilities does not ask for: add it there with a reason, and to the needs of each tool that uses it", s, imp.Needs)
	}
}

func (c *checker) satisfied(need string) bool {
	for _, have := range c.m.Capabilities {
		if wire.Satisfies(have.Name, need) {
			return true
		}
	}
	return false
}

func (c *checker) capabilities() {
	c.count("capabilities", len(c.m.Capabilities), MaxCapabilities)
	names := make([]string, len(c.m.Capabilities))
	for i, k := range c.m.Capabilities {
		path := fmt.Sprintf("capabilities[%d]", i)
		names[i] = k.Name
		if !wire.ValidCapability(k.Name) {
			c.add(path+".name", "%q is not a capability that a plugin can ask for", k.Name)
		}
		c.text(path+".reason", k.Reason)
	}
	c.unique("capabilities", names)
}

func (c *checker) egress() {
	c.count("egress", len(c.m.Egress), MaxEgress)
	asked := c.satisfied(wire.CapNetFetch)
	if asked && len(c.m.Egress) == 0 {
		c.add("egress", "is empty, but capabilities asks for net.fetch: say where to")
	}
	if !asked && len(c.m.Egress) > 0 {
		c.add("egress", "lists hosts, but capabilities does not ask for net.fetch")
	}
	for i, e := range c.m.Egress {
		path := fmt.Sprintf("egress[%d]", i)
		switch {
		case addressLike(e.Host):
			c.add(path+".host", "%q is an address, which an operator grants and a plugin does not ask for: write *, and net.fetch:ADDRESS is granted", e.Host)
		case !hostPattern(e.Host):
			c.add(path+".host", "%q is not a host name, *.name or *", e.Host)
		case metadataHost(strings.TrimPrefix(e.Host, "*.")):
			c.add(path+".host", "%q is a cloud metadata service, which no host opens", e.Host)
		}
		if e.Port < 0 || e.Port > 65535 {
			c.add(path+".port", "%d is not between 0 and 65535", e.Port)
		}
		for j, method := range e.Methods {
			if !slices.Contains(methods, method) {
				c.add(fmt.Sprintf("%s.methods[%d]", path, j), "%q is not a method in capitals: known are %s", method, strings.Join(methods, " "))
			}
		}
		c.unique(path+".methods", e.Methods)
		if e.PathPrefix != "" && !pathPrefix(e.PathPrefix) {
			c.add(path+".path_prefix", "%q is not a path that begins with / and has no .. in it", e.PathPrefix)
		}
		c.text(path+".reason", e.Reason)
	}
}

// methods are those that a host can allow: RFC 9110 and 5789 without CONNECT and
// TRACE.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// metadataHost lists names that clouds answer with instance credentials.
func metadataHost(s string) bool {
	switch s {
	case "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal":
		return true
	}
	return false
}

// addressLike reports what was meant as an IP address, whatever its spelling: no top-level domain begins with a digit.
// Source: RFC 3696 section 2.
func addressLike(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	return strings.HasPrefix(s, "[") || strings.Count(s, ":") > 1 || last != "" && '0' <= last[0] && last[0] <= '9'
}

// hostPattern allows *, or labels of lower-case letters, digits and dashes. A
// whole * may stand before two labels or more. Addresses are not names: they are
// granted by the operator, never asked for.
func hostPattern(s string) bool {
	if s == "*" {
		return true
	}
	s, wild := strings.CutPrefix(s, "*.")
	last := s[strings.LastIndexByte(s, '.')+1:]
	if len(s) > 253 || wild && !strings.Contains(s, ".") || last == "" || '0' <= last[0] && last[0] <= '9' {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

// pathPrefix allows what has one reading: no dot segments, not even with a
// parameter, no empty ones, nothing that is or needs an escape.
func pathPrefix(s string) bool {
	for segment := range strings.SplitSeq(s, "/") {
		if name, _, _ := strings.Cut(segment, ";"); name == "." {
			return false
		}
	}
	return len(s) <= wire.MaxURL && s[0] == '/' && !strings.Contains(s, "..") && !strings.Contains(s, "//") &&
		!strings.ContainsAny(s, "?#\\%\"<>^`{|}") && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (c *checker) settings() {
	c.count("settings", len(c.m.Settings), MaxSettings)
	names := make([]string, len(c.m.Settings))
	for i, s := range c.m.Settings {
		path := fmt.Sprintf("settings[%d]", i)
		names[i] = s.Name
		if !wire.ValidSettingName(s.Name) {
			c.add(path+".name", "%q is not a setting name such as base_url", s.Name)
		}
		c.text(path+".description", s.Description)
		if len(s.Default) > wire.MaxSetting {
			c.add(path+".default", "has %d bytes, at most %d are allowed", len(s.Default), wire.MaxSetting)
		}
	}
	c.unique("settings", names)
}

func (c *checker) unique(path string, names []string) {
	seen := make(map[string]int, len(names))
	for i, n := range names {
		if first, ok := seen[n]; ok {
			c.add(fmt.Sprintf("%s[%d]", path, i), "%q is there already as [%d]", n, first)
			continue
		}
		seen[n] = i
	}
}
