package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"strings"
)

// fingerprint digests what a database says: every schema object and every row, not how they are laid out in pages.
func fingerprint(ctx context.Context, conn *sql.Conn) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	tables, err := objects(ctx, conn, h)
	if err != nil {
		return sum, err
	}
	for _, name := range tables {
		if err := digestTable(ctx, conn, h, name); err != nil {
			return sum, fmt.Errorf("table %s: %w", name, err)
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// objects digests the schema and lists its tables.
func objects(ctx context.Context, conn *sql.Conn, h hash.Hash) ([]string, error) {
	rows, err := conn.QueryContext(ctx, `SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name`)
	type object struct{ kind, name, sql string }
	all, err := collect(rows, err, func(r *sql.Rows) (o object, err error) {
		err = r.Scan(&o.kind, &o.name, &o.sql)
		return o, err
	})
	var tables []string
	for _, o := range all {
		digest(h, o.kind)
		digest(h, o.name)
		digest(h, o.sql)
		if o.kind == "table" {
			tables = append(tables, o.name)
		}
	}
	return tables, err
}

func digestTable(ctx context.Context, conn *sql.Conn, h hash.Hash, name string) error {
	quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	var columns int
	if err := conn.QueryRowContext(ctx, `SELECT count(*) FROM pragma_table_xinfo(?)`, name).Scan(&columns); err != nil {
		return err
	}
	order := make([]string, columns)
	for i := range order {
		order[i] = fmt.Sprint(i + 1)
	}
	// By all columns and not by rowid, which a copy may number anew.
	rows, err := conn.QueryContext(ctx, `SELECT * FROM `+quoted+` ORDER BY `+strings.Join(order, ", "))
	if err != nil {
		return err
	}
	defer rows.Close()
	digest(h, name)
	cells := make([]any, columns)
	into := make([]any, columns)
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for _, cell := range cells {
			digest(h, cell)
		}
	}
	return rows.Err()
}

// digest adds one value with its type and length, so that no two rows read alike.
func digest(h hash.Hash, v any) {
	var kind byte
	var body []byte
	switch v := v.(type) {
	case nil:
		kind = 'n'
	case int64:
		kind, body = 'i', binary.BigEndian.AppendUint64(nil, uint64(v))
	case float64:
		kind, body = 'f', binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
	case string:
		kind, body = 't', []byte(v)
	case []byte:
		kind, body = 'b', v
	default:
		kind, body = 'x', []byte(fmt.Sprint(v)) // a declared type that the driver turns into a Go value, such as a time
	}
	head := binary.BigEndian.AppendUint64([]byte{kind}, uint64(len(body)))
	h.Write(head)
	h.Write(body)
}
