package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// prepared runs statements that it prepares once.
type prepared struct {
	on interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}
	mu    sync.Mutex // guards stmts; not held while one runs
	stmts map[string]*sql.Stmt
}

func (p *prepared) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if st, ok := p.stmts[query]; ok {
		return st, nil
	}
	st, err := p.on.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if p.stmts == nil {
		p.stmts = map[string]*sql.Stmt{}
	}
	p.stmts[query] = st
	return st, nil
}

func (p *prepared) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	st, err := p.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

func (p *prepared) rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := p.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// row is a [sql.Row] whose preparation may have failed.
type row struct {
	*sql.Row
	err error
}

func (p *prepared) row(ctx context.Context, query string, args ...any) row {
	st, err := p.stmt(ctx, query)
	if err != nil {
		return row{err: err}
	}
	return row{Row: st.QueryRowContext(ctx, args...)}
}

// Scan copies the row's columns; no row is [sql.ErrNoRows].
func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.Row.Scan(dest...)
}

func (p *prepared) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, st := range p.stmts {
		errs = append(errs, st.Close())
	}
	p.stmts = nil
	return errors.Join(errs...)
}
