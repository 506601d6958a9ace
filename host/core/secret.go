package core

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/b3abf3ee/portcullis/host/secret"
)

// secret reads a reference. What stands there instead may be the secret itself, so that no message repeats it.
func (r *reading) secret(v value) secret.Ref {
	text := ""
	if n, ok := v.node.(*ast.StringNode); ok {
		text = n.Value
	}
	ref, ok := secret.ParseRef(text)
	switch {
	case ok:
		return ref
	case ref.Source == secret.FromEnv:
		r.fault(r.begin(v.node), "%s: after env: comes the name of a variable, as in env:ANTHROPIC_API_KEY", v.name)
	case ref.Source == secret.FromVault:
		r.fault(r.begin(v.node), "%s: after secret: comes a name of `portcullis secrets list`, as in secret:ANTHROPIC_API_KEY", v.name)
	default:
		r.fault(r.begin(v.node), "%s must say where the key is and not what it is: write secret:NAME, env:NAME or file:PATH", v.name)
	}
	return secret.Ref{}
}
