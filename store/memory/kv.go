package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Get reads one value that a plugin keeps for a principal, with its version; see [sandbox.KV].
func (s *Store) Get(ctx context.Context, scope sandbox.KVScope, key string) ([]byte, int64, error) {
	if err := rule.Key(scope, key); err != nil {
		return nil, 0, fmt.Errorf("memory: get a value of %s: %w", scope.Plugin, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.values[home(scope)][key]
	return slices.Clone(v.data), v.version, nil
}

// Set writes one value when its condition holds and the scope's bounds allow it; see [sandbox.KV].
func (s *Store) Set(ctx context.Context, scope sandbox.KVScope, key string, data []byte, ifVersion *int64) (int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(rule.Key(scope, key), rule.Value(data)); err != nil {
		return 0, false, fmt.Errorf("memory: set a value of %s: %w", scope.Plugin, err)
	}
	if err := s.writes(scope); err != nil {
		return 0, false, fmt.Errorf("memory: set a value of %s: %w", scope.Plugin, err)
	}
	scope = home(scope)
	had := s.values[scope][key]
	if ifVersion != nil && *ifVersion != had.version {
		return 0, false, nil
	}
	keys, bytes := int64(len(s.values[scope])), int64(len(data)-len(had.data))
	for _, v := range s.values[scope] {
		bytes += int64(len(v.data))
	}
	if had.version == 0 {
		keys++
	}
	if err := rule.Room(keys, bytes); err != nil {
		return 0, false, fmt.Errorf("memory: set a value of %s: %w", scope.Plugin, err)
	}
	if s.values[scope] == nil {
		s.values[scope] = map[string]value{}
	}
	version := had.version + 1
	if had.version == 0 {
		version = s.retired[scope] + 1
	}
	s.values[scope][key] = value{append([]byte{}, data...), version}
	return version, true, nil
}

// home is scope without who writes.
func home(scope sandbox.KVScope) sandbox.KVScope {
	scope.Turn = ""
	return scope
}

// writes refuses a write of a turn that is over.
func (s *Store) writes(scope sandbox.KVScope) error {
	if t, ok := s.turns[scope.Turn]; !ok || t.rec.State != turn.Running || t.claim.Expired(s.clock()) {
		return &sandbox.KVOverError{Turn: scope.Turn}
	}
	return nil
}

// Delete removes one key when its condition holds; see [sandbox.KV].
func (s *Store) Delete(ctx context.Context, scope sandbox.KVScope, key string, ifVersion *int64) (bool, error) {
	if err := rule.Key(scope, key); err != nil {
		return false, fmt.Errorf("memory: delete a value of %s: %w", scope.Plugin, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writes(scope); err != nil {
		return false, fmt.Errorf("memory: delete a value of %s: %w", scope.Plugin, err)
	}
	scope = home(scope)
	had := s.values[scope][key].version
	if ifVersion != nil && *ifVersion != had {
		return false, nil
	}
	delete(s.values[scope], key)
	s.retired[scope] = max(s.retired[scope], had)
	return true, nil
}

// List returns keys with a prefix in byte order; see [sandbox.KV].
func (s *Store) List(ctx context.Context, scope sandbox.KVScope, prefix, after string, limit int) ([]wire.KVEntry, bool, error) {
	if err := errors.Join(rule.Scope(scope), rule.Limit(limit, wire.MaxListEntries)); err != nil {
		return nil, false, fmt.Errorf("memory: list keys of %s: %w", scope.Plugin, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	scope = home(scope)
	var out []wire.KVEntry
	for _, key := range slices.Sorted(maps.Keys(s.values[scope])) {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if len(out) == limit {
			return out, true, nil
		}
		v := s.values[scope][key]
		out = append(out, wire.KVEntry{Key: key, Version: v.version, Size: int64(len(v.data))})
	}
	return out, false, nil
}
