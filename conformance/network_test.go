package conformance_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// outgoing are the names of the standard library that open a connection, resolve a name, choose a proxy or read a URL.
// "*" is the whole package. Listening is not among them: that is the other direction.
var outgoing = map[string][]string{
	"net": {
		"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer", "Resolver", "DefaultResolver", "LookupAddr", "LookupCNAME",
		"LookupHost", "LookupIP", "LookupMX", "LookupNS", "LookupSRV", "LookupTXT", "ResolveIPAddr", "ResolveTCPAddr", "ResolveUDPAddr",
	},
	"net/http": {
		"Client", "DefaultClient", "DefaultTransport", "Transport", "Get", "Head", "Post", "PostForm", "NewFileTransport", "ProxyFromEnvironment", "ProxyURL",
	},
	"net/url":           {"Parse", "ParseRequestURI", "JoinPath"},
	"crypto/tls":        {"Dial", "DialWithDialer", "Dialer", "Client"},
	"syscall":           {"Connect", "Socket", "Sendto"},
	"net/http/httputil": {"*"},
	"net/rpc":           {"*"},
	"net/rpc/jsonrpc":   {"*"},
	"net/smtp":          {"*"},
	"net/textproto":     {"Dial"},
	"log/syslog":        {"*"},
}

// outgoingModules are of the same kind, as a whole and with all that is below.
var outgoingModules = []string{
	"golang.org/x/net/", "golang.org/x/crypto/ssh", "golang.org/x/oauth2", "github.com/gorilla/websocket", "github.com/coder/websocket",
	"nhooyr.io/websocket", "google.golang.org/grpc", "github.com/miekg/dns", "github.com/go-resty/", "github.com/hashicorp/go-retryablehttp", "github.com/valyala/fasthttp",
}

// exits are the packages that may use them, and why that leads around no gate.
var exits = map[string]struct {
	uses []string
	why  string
}{
	"host/net":                        {[]string{"net.Dialer", "net.Resolver", "net/http.Client", "net/http.Transport", "net/url.Parse"}, "the gate itself"},
	"policy/egress":                   {[]string{"net/url.Parse"}, "joins a relative redirect to its base; the one parser reads the result"},
	"host/provider":                   {[]string{"net/http.Client"}, "takes the gate's client"},
	"host/provider/anthropic":         {[]string{"net/http.Client"}, "takes the gate's client"},
	"host/provider/openai":            {[]string{"net/http.Client"}, "takes the gate's client"},
	"host/provider/internal/exchange": {[]string{"net/http.Client"}, "takes the gate's client"},
	"host/provider/providertest":      {[]string{"net/http.Client"}, "tests of adapters against servers of their own; no program imports it"},
}

// beyond are not the host: code of guests, which have no network but the host's, and what runs at a plugin author's desk
// or in tests only.
var beyond = []string{"plugins/*", "conformance/*", "conformance", "sdk", "sdk/*"}

// exitsIn lists what one file uses of outgoing, as "net/http.Get".
func exitsIn(file *ast.File) []string {
	names := map[string]string{} // as the file calls it, to the path
	found := map[string]bool{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(outgoingModules, func(m string) bool { return strings.HasPrefix(path+"/", strings.TrimSuffix(m, "/")+"/") }) {
			found[path] = true
		}
		listed, ok := outgoing[path]
		if !ok {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if slices.Contains(listed, "*") || name == "." { // what a dot brings in cannot be told from the file's own
			found[path] = true
		}
		names[name] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && slices.Contains(outgoing[names[x.Name]], s.Sel.Name) {
			found[names[x.Name]+"."+s.Sel.Name] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(found))
}

// Whatever leaves the host leaves through host/net, and every URL that is acted on was read by policy/egress.
func TestHouseRulesOfTheNetwork(t *testing.T) {
	used := map[string]map[string]bool{}
	for _, p := range packages(t) {
		pkg := short(p.ImportPath)
		if slices.ContainsFunc(beyond, func(b string) bool { return fits(b, pkg) }) {
			continue
		}
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, exit := range exitsIn(file) {
				if !slices.Contains(exits[pkg].uses, exit) {
					t.Errorf("%s/%s uses %s: what leaves the host goes through host/net (Gate.Client for a new caller), and URLs are read by egress.ParseURL", pkg, f, exit)
				}
				if used[pkg] == nil {
					used[pkg] = map[string]bool{}
				}
				used[pkg][exit] = true
			}
		}
	}
	for pkg, e := range exits {
		for _, exit := range e.uses {
			if !used[pkg][exit] {
				t.Errorf("%s no longer uses %s: take it out of the list", pkg, exit)
			}
		}
		if e.why == "" {
			t.Errorf("%s: why?", pkg)
		}
	}
}

// The rule must be able to go red: each way out is seen under whatever name its package is imported.
func TestHouseRulesOfTheNetworkSeeAWayOut(t *testing.T) {
	for source, want := range map[string]string{
		`import "net"; var _ = net.Dial`:                                                        "[net.Dial]",
		`import stdnet "net"; var d stdnet.Dialer`:                                              "[net.Dialer]",
		`import "net/http"; func f() { http.Get("") }`:                                          "[net/http.Get]",
		`import "net/http"; var c = &http.Client{Transport: http.DefaultTransport}`:             "[net/http.Client net/http.DefaultTransport]",
		`import . "net/http"; var c = DefaultClient`:                                            "[net/http]",
		`import "net/url"; var u, _ = url.Parse("")`:                                            "[net/url.Parse]",
		`import "net/smtp"; var _ = smtp.SendMail`:                                              "[net/smtp]",
		`import "golang.org/x/net/websocket"`:                                                   "[golang.org/x/net/websocket]",
		`import "google.golang.org/grpc/credentials"`:                                           "[google.golang.org/grpc/credentials]",
		`import "net/http"; var r http.Request; var url struct{ Parse int }; var _ = url.Parse`: "[]",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(exitsIn(file)); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}
