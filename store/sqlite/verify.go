package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// AuditHead is one place of the audit's chain, as an operator notes it down: the number of a record and the digest over
// it and all before it.
type AuditHead struct {
	Seq   int64
	Chain [32]byte
}

// String is "<number>:<64 hexadecimal digits>".
func (h AuditHead) String() string {
	return strconv.FormatInt(h.Seq, 10) + ":" + hex.EncodeToString(h.Chain[:])
}

// ParseAuditHead reads what String wrote.
func ParseAuditHead(s string) (AuditHead, error) {
	number, digits, _ := strings.Cut(s, ":")
	seq, err := strconv.ParseInt(number, 10, 64)
	raw, hexErr := hex.DecodeString(digits)
	if err != nil || hexErr != nil || seq < 1 || len(raw) != 32 || (AuditHead{seq, [32]byte(raw)}).String() != s {
		return AuditHead{}, errors.New("a head is a record's number, a colon and 64 hexadecimal digits")
	}
	return AuditHead{seq, [32]byte(raw)}, nil
}

// AuditReport is what [VerifyAudit] found. The audit is sound when Faults is empty.
type AuditReport struct {
	Database string    // absolute path
	Before   int64     // records from before there was a chain: nothing holds them
	Records  int64     // records that the chain covers
	Head     AuditHead // where it ends; the zero head of an empty chain
	Faults   []string  // at most 100
}

// VerifyAudit recomputes the chain over the audit of the database at path, also while it is in use, and finds records
// that were changed, taken out, put in or moved. known are heads that were noted before; each must still be in the
// chain. It writes nothing. Whoever can write the database can make a whole new chain: only a head that is kept
// elsewhere tells.
func VerifyAudit(ctx context.Context, path string, known ...AuditHead) (AuditReport, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return AuditReport{}, fmt.Errorf("sqlite: verify the audit of %s: %w", path, err)
	}
	r := AuditReport{Database: abs}
	if err := exists(abs); err != nil {
		return r, fmt.Errorf("sqlite: verify the audit: %w", err)
	}
	still := immutable
	if logged(abs) {
		still = readOnly
	}
	got, err := r.read(ctx, still, known)
	if still == immutable && logged(abs) { // see [check]
		got, err = r.read(ctx, readOnly, known)
	}
	var foreign *ForeignError
	var old *SchemaError
	if errors.As(err, &foreign) || errors.As(err, &old) {
		return AuditReport{}, err
	}
	return got, wrapf(err, "verify the audit of %s", abs)
}

func (r AuditReport) read(ctx context.Context, m mode, known []AuditHead) (AuditReport, error) {
	db, err := connect(r.Database, m, 1)
	if err != nil {
		return AuditReport{}, err
	}
	defer db.Close()
	if err := checkSchema(ctx, db, r.Database, released()); err != nil {
		return AuditReport{}, err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // one state of the database, whoever writes meanwhile
	if err != nil {
		return AuditReport{}, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was changed
	var begun int64
	var end link
	if err := tx.QueryRowContext(ctx, `SELECT begun, seq, chain FROM audit_head WHERE one = 1`).Scan(&begun, &end.seq, &end.chain); err != nil {
		return AuditReport{}, err
	}
	at, err := r.walk(ctx, tx, begun, known)
	if err != nil {
		return AuditReport{}, err
	}
	switch {
	case end.seq > at.seq:
		r.fault("records %d to %d are missing: they were the last", at.seq+1, end.seq)
	case end.seq < at.seq:
		r.fault("records %d to %d were put in after the end", end.seq+1, at.seq)
	case !bytes.Equal(end.chain, at.chain):
		r.fault("the chain does not end in what was noted when record %d was written", end.seq)
	}
	for _, h := range known {
		if h.Seq > at.seq || h.Seq <= begun {
			r.fault("record %d, whose head you noted, is not in the chain", h.Seq)
		}
	}
	if at.seq > begun {
		r.Head = AuditHead{at.seq, [32]byte(at.chain)}
	}
	return r, nil
}

// walk recomputes every link. After a fault it goes on from what the row says, so that one change is one fault.
func (r *AuditReport) walk(ctx context.Context, tx *sql.Tx, begun int64, known []AuditHead) (link, error) {
	rows, err := tx.QueryContext(ctx, `SELECT seq, id, at, kind, principal_id, session_id, turn_id, effect_id, trace, fields, chain
		FROM events ORDER BY seq`)
	if err != nil {
		return link{}, err
	}
	defer rows.Close()
	noted := map[int64][32]byte{}
	for _, h := range known {
		noted[h.Seq] = h.Chain
	}
	at := link{seq: begun, chain: []byte{}}
	for rows.Next() {
		var row auditRow
		var chain []byte
		if err := rows.Scan(&row.seq, &row.id, &row.at, &row.kind, &row.principal, &row.session, &row.turn, &row.effect, &row.trace, &row.fields, &chain); err != nil {
			return link{}, err
		}
		if row.seq <= begun {
			r.Before++
			if len(chain) != 0 {
				r.fault("record %d (%s) is of the chain and stands before its beginning", row.seq, row.id)
			}
			continue
		}
		r.Records++
		if row.seq != at.seq+1 {
			r.fault("records %d to %d are missing", at.seq+1, row.seq-1)
		} else if !bytes.Equal(chain, row.after(at.chain)) {
			r.fault("record %d (%s, %s) is not what was written there", row.seq, row.id, row.kind)
		}
		if want, ok := noted[row.seq]; ok && !bytes.Equal(chain, want[:]) {
			r.fault("record %d does not have the head that you noted: the audit before it was written anew", row.seq)
		}
		if len(chain) != 32 {
			chain = make([]byte, 32) // a fault already
		}
		at.seq, at.chain = row.seq, chain
	}
	return at, rows.Err()
}

func (r *AuditReport) fault(format string, args ...any) {
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}
