package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
	"github.com/b3abf3ee/portcullis/store/sqlite/internal/column"
)

// link is one place of the audit's chain: a record's number and the digest over it and all before it.
type link struct {
	seq   int64
	chain []byte
	read  bool // the end of the chain was read in this transaction
	moved bool // and has a further record since
}

// chainDomain begins what is digested, so that no other text can be taken for a record.
const chainDomain = "portcullis audit record 1"

// auditRow is a record as the table keeps it, which is what the chain covers.
type auditRow struct {
	seq                                                   int64
	id                                                    string
	at                                                    int64 // milliseconds
	kind, principal, session, turn, effect, trace, fields string
}

// after is the digest of the record that follows before. Each text stands behind its length, so that no two records
// read alike.
func (r auditRow) after(before []byte) []byte {
	h := sha256.New()
	text(h, chainDomain)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(before))))
	h.Write(before)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(r.seq)))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(r.at)))
	for _, s := range []string{r.id, r.kind, r.principal, r.session, r.turn, r.effect, r.trace, r.fields} {
		text(h, s)
	}
	return h.Sum(nil)
}

func text(h hash.Hash, s string) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	h.Write([]byte(s))
}

// audit appends r in the transaction of the change that it describes, at the end of the chain.
func (s *Store) audit(t *tx, r event.Record) error {
	r = rule.Normal(r)
	fields, err := column.EncodeFields(r.Fields)
	if err != nil {
		return err
	}
	if !t.head.read {
		if err := t.row(`SELECT seq, chain FROM audit_head WHERE one = 1`).Scan(&t.head.seq, &t.head.chain); err != nil {
			return err
		}
		t.head.read = true
	}
	row := auditRow{
		seq: t.head.seq + 1, id: string(r.ID), at: r.At.UnixMilli(), kind: string(r.Kind), principal: r.Principal,
		session: string(r.Session), turn: string(r.Turn), effect: string(r.Effect), trace: string(r.Trace), fields: fields,
	}
	chain := row.after(t.head.chain)
	err = t.must(`INSERT INTO events (seq, id, at, kind, principal_id, session_id, turn_id, effect_id, trace, fields, chain)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		row.seq, row.id, row.at, row.kind, row.principal, row.session, row.turn, row.effect, row.trace, row.fields, chain)
	if err != nil {
		return err
	}
	t.head.seq, t.head.chain, t.head.moved = row.seq, chain, true
	return nil
}

// seal writes down where the chain ends now, once for each transaction.
func (t *tx) seal() error {
	if !t.head.moved {
		return nil
	}
	return t.must(`UPDATE audit_head SET seq = ?, chain = ? WHERE one = 1`, t.head.seq, t.head.chain)
}
