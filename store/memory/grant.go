package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// PluginGrants returns what the operator lets the plugin do; see [effect.Grants].
func (s *Store) PluginGrants(ctx context.Context, plugin string) (capability.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted(plugin), nil
}

func (s *Store) granted(plugin string) capability.Snapshot {
	return capability.NewSnapshot(slices.Collect(maps.Keys(s.grants[plugin]))...)
}

// GrantPlugin adds one grant; see [effect.Grants]. Only an operator may.
func (s *Store) GrantPlugin(ctx context.Context, by principal.Scope, plugin string, g capability.Grant, r event.Record) (bool, error) {
	return s.setGrant(by, plugin, g, true, r)
}

// RevokePlugin removes one grant; see [effect.Grants]. Only an operator may.
func (s *Store) RevokePlugin(ctx context.Context, by principal.Scope, plugin string, g capability.Grant, r event.Record) (bool, error) {
	return s.setGrant(by, plugin, g, false, r)
}

func (s *Store) setGrant(by principal.Scope, plugin string, g capability.Grant, have bool, r event.Record) (bool, error) {
	if err := rule.AcceptOperator(by, s.id); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := rule.Audit(r)
	if plugin == "" || g.Zero() {
		err = errors.New("the plugin or the grant is missing")
	}
	if err == nil && s.grants[plugin][g] == have {
		return false, nil
	}
	if err == nil {
		err = s.fresh(r)
	}
	if err != nil {
		return false, fmt.Errorf("memory: change grants of %s: %w", plugin, err)
	}
	if s.grants[plugin] == nil {
		s.grants[plugin] = map[capability.Grant]bool{}
	}
	if have {
		s.grants[plugin][g] = true
	} else {
		delete(s.grants[plugin], g)
	}
	s.audit(r)
	return true, nil
}
