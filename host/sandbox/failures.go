package sandbox

import (
	"sync"
	"time"
)

const (
	// failureAge is how long a module that could not be compiled is not tried
	// again, so that a bomb costs its deadline once and not with each call.
	failureAge = 10 * time.Minute
	// maxFailures bounds what is remembered.
	maxFailures = 256
)

// failures remembers modules that could not be compiled, in memory. The zero
// value is ready.
type failures struct {
	mu sync.Mutex // guards of
	of map[string]failure
}

type failure struct {
	err *compileError
	at  time.Time
}

func (f *failures) recall(digest string, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	past, ok := f.of[digest]
	if !ok {
		return nil
	}
	if age := now.Sub(past.at); age < 0 || age >= failureAge {
		delete(f.of, digest)
		return nil
	}
	return past.err
}

// remember makes room by forgetting the oldest.
func (f *failures) remember(digest string, err *compileError, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]failure{}
	}
	f.of[digest] = failure{err, now}
	for len(f.of) > maxFailures {
		oldest, at := "", now
		for d, past := range f.of {
			if d != digest && (oldest == "" || past.at.Before(at)) {
				oldest, at = d, past.at
			}
		}
		delete(f.of, oldest)
	}
}
