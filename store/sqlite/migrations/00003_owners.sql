-- Lineage of delegated sessions, sessions whose owner is not certain, and the chain over the audit.

-- +goose Up
-- The turn that made a delegated agent.
ALTER TABLE session_owners ADD COLUMN parent_turn TEXT NOT NULL DEFAULT ''
    CHECK (parent_turn = '' OR authority = 'delegated_agent');

-- 1: nobody can say whose the session is. Such a session is nobody's until the operator repairs it by hand.
ALTER TABLE session_owners ADD COLUMN legacy INTEGER NOT NULL DEFAULT 0 CHECK (legacy IN (0, 1));

-- A session without an owner.
INSERT INTO session_owners (session_id, authority, principal_id, channel, conversation_key, parent_session, legacy)
SELECT s.id, 'system', 'principal:legacy_local:' || s.id, '', '', '', 1 FROM sessions s
WHERE NOT EXISTS (SELECT 1 FROM session_owners o WHERE o.session_id = s.id);

-- One whose owner is not who spoke in it, or that another conversation continues in.
DROP TRIGGER session_owners_fixed;
UPDATE session_owners SET legacy = 1 WHERE legacy = 0 AND (
    EXISTS (SELECT 1 FROM turns t WHERE t.session_id = session_owners.session_id AND t.authority <> 'operator'
        AND (t.authority <> session_owners.authority OR t.principal_id <> session_owners.principal_id)) OR
    EXISTS (SELECT 1 FROM conversation_bindings b WHERE b.session_id = session_owners.session_id
        AND (b.channel <> session_owners.channel OR b.conversation_key <> session_owners.conversation_key)));
-- A conversation does not continue in a session that is not certainly its own.
DELETE FROM conversation_bindings WHERE session_id IN (SELECT session_id FROM session_owners WHERE legacy = 1);
-- +goose StatementBegin
CREATE TRIGGER session_owners_fixed BEFORE UPDATE ON session_owners
BEGIN SELECT RAISE(ABORT, 'session owners never change'); END;
-- +goose StatementEnd

-- Each record's digest covers the one before it; audit_head says where the chain ends and where it began.
ALTER TABLE events ADD COLUMN chain BLOB NOT NULL DEFAULT x'';
CREATE TABLE audit_head (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    begun INTEGER NOT NULL, -- the last record that was written before there was a chain
    seq   INTEGER NOT NULL CHECK (seq >= begun),
    chain BLOB    NOT NULL
) STRICT;
INSERT INTO audit_head (one, begun, seq, chain)
SELECT 1, coalesce(max(seq), 0), coalesce(max(seq), 0), x'' FROM events;
