package command

import (
	"context"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

const secretUse = wire.CapSecretBind + ":"

// secretLines say where a plugin's secrets go, for whoever is about to grant them.
func secretLines(m *manifest.Manifest) []string {
	var lines []string
	for _, c := range m.Credentials {
		where := map[string]string{
			wire.InHeader: "in the header " + c.Field, wire.InQuery: "in the parameter " + c.Field, wire.InBasic: "as basic authorization",
			wire.InPath: "in the path", wire.InBody: "in the body at " + c.Field,
		}[c.In]
		lines = append(lines, "sends the secret "+c.Secret+" to "+c.Origin+c.PathPrefix+" "+where+": "+c.Reason)
	}
	for _, s := range m.Signing {
		lines = append(lines, "signs with the secret "+s.Secret+" ("+s.Algorithm+"): "+s.Reason)
	}
	return lines
}

func saySecrets(t *console.Text, m *manifest.Manifest) {
	for _, line := range secretLines(m) {
		t.Say("%s", line)
	}
}

// unkept are the secrets among grants that the home does not keep yet, as what to type.
func unkept(ctx context.Context, home app.Home, grants []capability.Grant) ([]string, error) {
	var next []string
	for _, g := range grants {
		name, ok := strings.CutPrefix(g.String(), secretUse)
		if !ok {
			continue
		}
		vault, err := vaultIn(ctx, home)
		if err != nil {
			return nil, err
		}
		kept, err := vault.List(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(kept, func(e secret.Entry) bool { return string(e.Name) == name }) {
			next = append(next, "portcullis secrets set "+name)
		}
	}
	return next, nil
}

// users are the plugins and cores that may have each secret. A call needs both.
func (s *shell) users(ctx context.Context, home app.Home, r *app.Records) (plugins, cores map[string][]string, err error) {
	plugins, cores = map[string][]string{}, map[string][]string{}
	add := func(to map[string][]string, who string, granted []string) {
		for _, text := range granted {
			if name, ok := strings.CutPrefix(text, secretUse); ok && !slices.Contains(to[name], who) {
				to[name] = append(to[name], who)
			}
		}
	}
	found, err := plugin.At(home.Path).List(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range found {
		granted, err := r.Store.PluginGrants(ctx, e.ID)
		if err != nil {
			return nil, nil, err
		}
		add(plugins, e.ID, granted.Strings())
	}
	all, err := core.List(ctx, home.Path)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range all {
		if l.Err == nil {
			add(cores, l.Core.ID(), l.Core.Capabilities().Strings())
		}
	}
	return plugins, cores, nil
}
