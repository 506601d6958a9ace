package main

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/b3abf3ee/portcullis/sdk"
)

const (
	maxTitle    = 300 // bytes, as of the text of a link
	maxLinkText = 200
	// enoughText is how many bytes of text an element must have to be taken for
	// the content of the page.
	enoughText = 200
	// maxTags bounds parsing and rendering as text, and maxRendered rendering as
	// markdown, which takes forty microseconds of a guest for each element.
	maxTags     = 150_000
	maxRendered = 50_000
)

// page is a parsed HTML document. The parser refuses elements nested more than
// 512 deep, so the walks over it may recurse.
type page struct {
	root *html.Node
	base *url.URL // of relative links
	tags int
}

func parsePage(source, address string) (*page, error) {
	tags := strings.Count(source, "<")
	if tags > maxTags {
		return nil, sdk.Errorf(sdk.TooLarge, "the page has %d tags, at most %d are parsed; ask for its source with format html", tags, maxTags)
	}
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "the page cannot be parsed, ask for its source with format html: %v", err)
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, sdk.Errorf(sdk.Failed, "the page has the address %s, which is none", clip(address))
	}
	p := &page{root: root, base: base, tags: tags}
	if b := find(root, func(n *html.Node) bool { return n.DataAtom == atom.Base && attr(n, "href") != "" }); b != nil {
		if u, ok := p.resolve(attr(b, "href")); ok {
			p.base = u
		}
	}
	return p, nil
}

// title is the text of the title element on one line.
func (p *page) title() string {
	t := find(p.root, func(n *html.Node) bool { return n.DataAtom == atom.Title && n.Namespace == "" })
	if t == nil {
		return ""
	}
	return cut(oneLine(t), maxTitle)
}

// links lists where the page leads to on the web, each address once, in order.
func (p *page) links() []Link {
	var out []Link
	seen := map[string]bool{}
	find(p.root, func(n *html.Node) bool {
		if n.DataAtom != atom.A {
			return false
		}
		u, ok := p.resolve(attr(n, "href"))
		if !ok {
			return false
		}
		u.Fragment, u.RawFragment = "", ""
		if address := u.String(); !seen[address] && len(address) <= 2048 {
			seen[address] = true
			out = append(out, Link{Text: cut(oneLine(n), maxLinkText), URL: address})
		}
		return len(out) == maxLinks
	})
	return out
}

// resolve makes a reference absolute; ok is false for one that is not of the
// web, such as mailto: and javascript:.
func (p *page) resolve(ref string) (*url.URL, bool) {
	u, err := p.base.Parse(strings.TrimSpace(ref))
	if err != nil || ref == "" || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, false
	}
	return u, true
}

// content removes what a reader does not see and gives the part of the page
// that is its own: the main element, or the only article, or the body without
// menus. It changes the tree, so it comes last.
func (p *page) content(whole bool) *html.Node {
	body := find(p.root, func(n *html.Node) bool { return n.DataAtom == atom.Body })
	if body == nil {
		return p.root
	}
	remove(body, unseen)
	if whole {
		return body
	}
	for _, is := range []func(*html.Node) bool{
		func(n *html.Node) bool { return n.DataAtom == atom.Main || attr(n, "role") == "main" },
		func(n *html.Node) bool { return n.DataAtom == atom.Article },
	} {
		if n := only(body, is); n != nil && len(oneLine(n)) >= enoughText {
			return n
		}
	}
	if bare := clone(body); remove(bare, surroundings) && len(oneLine(bare)) >= enoughText {
		return bare
	}
	return body
}

// unseen is what a browser does not show as text. Text that is hidden from
// people is a place for instructions to models, so it goes as well; style
// sheets are not read, so some of it stays.
func unseen(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Canvas,
		atom.Audio, atom.Video, atom.Map, atom.Button, atom.Select, atom.Input, atom.Textarea, atom.Datalist, atom.Dialog:
		return true
	case atom.Img:
		return strings.HasPrefix(attr(n, "src"), "data:")
	}
	style := strings.ReplaceAll(strings.ToLower(attr(n, "style")), " ", "")
	return has(n, "hidden") || attr(n, "aria-hidden") == "true" ||
		strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

// surroundings are the parts of a page that repeat on every page of a site.
func surroundings(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Footer, atom.Aside:
		return true
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "complementary", "search":
		return true
	}
	return false
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return true
		}
	}
	return false
}
