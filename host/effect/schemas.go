package effect

import "sync"

// maxPooled bounds the schemas that are kept compiled between turns, in bytes of their documents.
const maxPooled = 4 << 20

// schemas keeps compiled schemas from one turn to the next. A schema in use is one turn's alone, so that no turn's checks
// wait for another's. The zero value is ready; it is safe for concurrent use.
type schemas struct {
	mu    sync.Mutex // guards what follows
	free  map[string][]*Schema
	bytes int
}

// take gives a compiled schema to a turn: a kept one, or a new one.
func (s *schemas) take(raw []byte) (*Schema, error) {
	s.mu.Lock()
	kept := s.free[string(raw)]
	if n := len(kept); n > 0 {
		s.free[string(raw)] = kept[:n-1]
		s.bytes -= len(raw)
		s.mu.Unlock()
		return kept[n-1], nil
	}
	s.mu.Unlock()
	return CompileSchema(raw)
}

// give takes back what a turn took. What is too much is forgotten, with all that is kept: tools change seldom.
func (s *schemas) give(raw []byte, one *Schema) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == nil || s.bytes+len(raw) > maxPooled {
		s.free, s.bytes = map[string][]*Schema{}, 0
	}
	s.free[string(raw)] = append(s.free[string(raw)], one)
	s.bytes += len(raw)
}
