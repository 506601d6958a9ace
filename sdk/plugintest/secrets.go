package plugintest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// mask is what a plugin reads where a server repeated a secret.
const mask = "[portcullis-redacted-by-host:bound]"

// secret is the value under a name, made up unless the test set one.
func (w *world) secret(name string) string {
	if v, ok := w.secrets[name]; ok {
		return v
	}
	return "made-up-value-of-" + name
}

// uses reports that the tool which runs lists the secret.
func (w *world) uses(name string) bool {
	return slices.Contains(w.needs, wire.CapSecretBind+":"+name)
}

func denied(message string) *sdk.Fault { return &sdk.Fault{Code: sdk.Denied, Message: message} }

// place puts the credentials of the manifest into a request, as the host does
// just before it sends it. A chain of redirects that has left its origin carries
// none.
func (w *world) place(r wire.HTTPRequest, body []byte, crossed bool) (_ wire.HTTPRequest, _ []byte, carried bool, _ *sdk.Fault) {
	sent, out := r, body
	sent.Headers = maps.Clone(r.Headers)
	if sent.Headers == nil {
		sent.Headers = map[string][]string{}
	}
	for _, c := range w.desc.Credentials {
		u, err := url.Parse(r.URL)
		if err != nil || crossed || !w.uses(c.Secret) || u.Scheme+"://"+u.Host != c.Origin || !below(u.Path, c.PathPrefix) {
			continue
		}
		value, name := w.secret(c.Secret), http.CanonicalHeaderKey(c.Field)
		switch c.In {
		case wire.InBasic:
			name = "Authorization"
			fallthrough
		case wire.InHeader:
			if sdk.Header(sent.Headers).Get(name) != "" {
				return r, nil, false, denied("the host sets the header " + name + " here: leave it out")
			}
			filled := c.Fill(value)
			if c.In == wire.InBasic {
				filled = "Basic " + base64.StdEncoding.EncodeToString([]byte(filled))
			}
			sent.Headers[name], carried = []string{filled}, true
		case wire.InQuery:
			if u.Query().Has(c.Field) {
				return r, nil, false, denied("the host adds the parameter " + c.Field + " here: leave it out")
			}
			sign := "?"
			if strings.Contains(sent.URL, "?") {
				sign = "&"
			}
			sent.URL, carried = sent.URL+sign+c.Field+"="+url.QueryEscape(c.Fill(value)), true
		case wire.InPath:
			path, query, has := strings.Cut(sent.URL, "?")
			filled := strings.Replace(path, c.Placeholder(), value, 1)
			carried = carried || filled != path
			if sent.URL = filled; has {
				sent.URL += "?" + query
			}
		case wire.InBody:
			if filled, ok := fillBody(c, sdk.Header(r.Headers).Get("Content-Type"), out, value); ok {
				out, carried = filled, true
			}
		}
	}
	if strings.ContainsAny(sent.URL, "{}") {
		return r, nil, false, denied("a placeholder stands in a URL that no credential is declared for")
	}
	return sent, out, carried, nil
}

func below(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || prefix == "" || strings.HasSuffix(prefix, "/") || rest[0] == '/')
}

// fillBody writes the value where the placeholder is the whole of the field.
func fillBody(c wire.Credential, kind string, body []byte, value string) ([]byte, bool) {
	kind, _, _ = strings.Cut(kind, ";")
	if !strings.HasPrefix(c.Field, "/") {
		form, err := url.ParseQuery(string(body))
		if err != nil || kind != "application/x-www-form-urlencoded" || form.Get(c.Field) != c.Placeholder() {
			return body, false
		}
		form.Set(c.Field, value)
		return []byte(form.Encode()), true
	}
	var doc any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if kind != "application/json" && !strings.HasSuffix(kind, "+json") || dec.Decode(&doc) != nil {
		return body, false
	}
	doc, ok := fillJSON(doc, strings.Split(c.Field, "/")[1:], c.Placeholder(), value)
	if !ok {
		return body, false
	}
	out, err := json.Marshal(doc)
	return out, err == nil
}

func fillJSON(doc any, path []string, placeholder, value string) (any, bool) {
	if len(path) == 0 {
		return value, doc == placeholder
	}
	step := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch at := doc.(type) {
	case map[string]any:
		inner, ok := fillJSON(at[step], path[1:], placeholder, value)
		if ok {
			at[step] = inner
		}
		return at, ok
	case []any:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(at) {
			return doc, false
		}
		inner, ok := fillJSON(at[i], path[1:], placeholder, value)
		if ok {
			at[i] = inner
		}
		return at, ok
	}
	return doc, false
}

// masked takes the secrets that the tool uses out of what it reads. The host
// finds them in every encoding; this finds them as they are.
func (w *world) masked(text string) string {
	for _, need := range w.needs {
		if name, ok := strings.CutPrefix(need, wire.CapSecretBind+":"); ok {
			text = strings.ReplaceAll(text, w.secret(name), mask)
		}
	}
	return text
}

// sign makes the code that the host would make.
func (w *world) sign(t testing.TB, r wire.SignRequest, data []byte) []byte {
	t.Helper()
	no := func(f *sdk.Fault) []byte { return frame(t, wire.SignReply{Fault: f}, nil) }
	i := slices.IndexFunc(w.desc.Signing, func(s wire.Signing) bool { return s.Name == r.Name })
	if i < 0 {
		return no(denied("the plugin declares no signing of this name"))
	}
	s := w.desc.Signing[i]
	if !w.uses(s.Secret) {
		return no(denied("signing " + s.Name + " needs secret.bind:" + s.Secret + ": add sdk.Needs to the tool"))
	}
	key, err := []byte(w.secret(s.Secret)), error(nil)
	if _, set := w.secrets[s.Secret]; set { // a made-up value is a key as it is
		switch s.Key {
		case wire.KeyBase64:
			key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(w.secret(s.Secret), "whsec_"))
		case wire.KeyHex:
			key, err = hex.DecodeString(w.secret(s.Secret))
		}
	}
	if err != nil {
		t.Fatalf("plugintest: the secret %s is not %s, which signing %s takes it for", s.Secret, s.Key, s.Name)
	}
	algorithm := map[string]func() hash.Hash{wire.HMACSHA256: sha256.New, wire.HMACSHA512: sha512.New}[s.Algorithm]
	mac := hmac.New(algorithm, key)
	mac.Write(data)
	return frame(t, wire.SignReply{}, mac.Sum(nil))
}
