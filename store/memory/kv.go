package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host/sandbox"
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
	v := s.values[scope][key]
	return slices.Clone(v.data), v.version, nil
}

// Set writes one value when its condition holds and the scope's bounds allow it; see [sandbox.KV].
func (s *Store) Set(ctx context.Context, scope sandbox.KVScope, key string, data []byte, ifVersion *int64) (int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(rule.Key(scope, key), rule.Value(data)); err != nil {
		return 0, false, fmt.Errorf("memory: set a value of %s: %w", scope.Plugin, err)
	}
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
	s.values[scope][key] = value{append([]byte{}, data...), had.version + 1}
	return had.version + 1, true, nil
}

// Delete removes one key when its condition holds; see [sandbox.KV].
func (s *Store) Delete(ctx context.Context, scope sandbox.KVScope, key string, ifVersion *int64) (bool, error) {
	if err := rule.Key(scope, key); err != nil {
		return false, fmt.Errorf("memory: delete a value of %s: %w", scope.Plugin, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ifVersion != nil && *ifVersion != s.values[scope][key].version {
		return false, nil
	}
	delete(s.values[scope], key)
	return true, nil
}

// List returns keys with a prefix in byte order; see [sandbox.KV].
func (s *Store) List(ctx context.Context, scope sandbox.KVScope, prefix, after string, limit int) ([]wire.KVEntry, bool, error) {
	if err := errors.Join(rule.Scope(scope), rule.Limit(limit, wire.MaxListEntries)); err != nil {
		return nil, false, fmt.Errorf("memory: list keys of %s: %w", scope.Plugin, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
