package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// querier is what both a transaction and the read pool answer.
type querier interface {
	row(query string, args ...any) row
}

// reading is the read pool for the length of one call.
type reading struct {
	ctx context.Context
	on  *prepared
}

func (r reading) row(query string, args ...any) row { return r.on.row(r.ctx, query, args...) }

// brief is the context of a read by keys that every turn makes: it takes microseconds, and to be ready to end it sooner
// would take longer. A context that has ended still reads nothing.
func brief(ctx context.Context) context.Context {
	if ctx.Err() != nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// scanner is a row of either kind.
type scanner interface{ Scan(dest ...any) error }

// collect reads all rows and closes them.
func collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}

// raw is a JSON column; empty is none.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// when is a time column; NULL is the zero time.
func when(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}
