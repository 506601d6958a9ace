package sandbox

import (
	"context"
	"io"

	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/go-json-experiment/json"
)

// serveLog keeps one line: escaped, cut, counted. Past the limits lines are
// dropped and counted; a guest learns nothing from that.
func (s *Session) serveLog(_ context.Context, in []byte) ([]byte, error) {
	var rec wire.LogRecord
	if err := decodeStrict(in, wire.MaxLogBytes, &rec); err != nil || !logLevel(rec.Level) || len(rec.Attrs) > wire.MaxLogAttrs {
		return ack(faultf(wire.CodeInvalid, "the log record is not one this host takes")), nil
	}
	s.keepLog(rec.Level, []byte(rec.Message), rec.Attrs)
	return nil, nil
}

func logLevel(level string) bool {
	switch level {
	case "debug", "info", "warn", "error":
		return true
	}
	return false
}

// keepLog escapes and keeps a line within the limits.
func (s *Session) keepLog(level string, message []byte, attrs []wire.Attr) {
	if s.stats.LogLines >= s.limits.LogLines || s.logBytes >= maxLogTotal {
		s.stats.LogDropped++
		return
	}
	set := known(s.opt.Redactor)
	clean := wire.LogRecord{Level: level, Message: fit(message, 4<<10, set, redact.ForOperator)}
	size := len(clean.Message)
	for _, a := range attrs {
		a = wire.Attr{Key: fit([]byte(a.Key), 64, set, redact.ForOperator), Value: fit([]byte(a.Value), 1<<10, set, redact.ForOperator)}
		size += len(a.Key) + len(a.Value)
		clean.Attrs = append(clean.Attrs, a)
	}
	if s.logBytes+int64(size) > maxLogTotal {
		s.stats.LogDropped++
		s.logBytes = maxLogTotal // the log is full: no further line is worth escaping
		return
	}
	s.stats.LogLines++
	s.logBytes += int64(size)
	s.logs = append(s.logs, clean)
}

// serveEmit hands progress on, at most one in progressEvery; the newest that
// was held back is handed on at the end of the call.
func (s *Session) serveEmit(_ context.Context, in []byte) ([]byte, error) {
	var p wire.Progress
	if err := decodeStrict(in, wire.MaxProgress, &p); err != nil || p.Done < 0 || p.Total < 0 {
		return ack(faultf(wire.CodeInvalid, "the progress is not one this host takes")), nil
	}
	if s.stats.LogLines >= s.limits.LogLines {
		s.stats.LogDropped++
		return nil, nil
	}
	s.stats.LogLines++
	p.Message = fit([]byte(p.Message), 1<<10, known(s.opt.Redactor), redact.ForOperator)
	now := s.clock()
	if s.opt.Progress == nil {
		return nil, nil
	}
	if last := s.progress.last; !last.IsZero() && now.Sub(last) < progressEvery {
		if s.progress.holding {
			s.stats.LogDropped++
		}
		s.progress.held, s.progress.holding = p, true
		return nil, nil
	}
	s.progress.last, s.progress.holding = now, false
	s.opt.Progress(p)
	return nil, nil
}

// serveNow answers the host's wall clock. Its argument says nothing.
func (s *Session) serveNow(context.Context, []byte) ([]byte, error) {
	return plain(wire.Now{UnixMS: s.clock().UnixMilli()}), nil
}

// serveRandom answers N random bytes, or no block when it is refused.
func (s *Session) serveRandom(_ context.Context, in []byte) ([]byte, error) {
	var req wire.RandomRequest
	if err := decodeStrict(in, 64, &req); err != nil || req.N < 1 || req.N > wire.MaxRandom {
		return nil, nil
	}
	if t := s.takeRandom(int64(req.N)); t != nil {
		return nil, t
	}
	out := make([]byte, req.N)
	if _, err := io.ReadFull(s.rand, out); err != nil {
		return nil, &trapError{status: HostFailure, reason: "random_source"}
	}
	return out, nil
}

// takeRandom counts random bytes, however the guest asks for them.
func (s *Session) takeRandom(n int64) *trapError {
	if s.stats.RandomBytes += n; s.stats.RandomBytes > maxRandomTotal {
		return &trapError{status: LimitPassed, reason: "random_bytes"}
	}
	return nil
}

func ack(f *wire.Fault) []byte { return plain(wire.Ack{Fault: f}) }

// plain encodes one of our own small replies, which always encodes.
func plain(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}
