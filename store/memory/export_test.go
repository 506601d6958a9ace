package memory

import "github.com/b3abf3ee/portcullis/host/id"

// Disown takes a session's owner away, which no method of the store can.
func (s *Store) Disown(key id.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[key].owner = nil
}
