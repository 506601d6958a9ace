-- What turns owe the conversations they were asked in.
-- What a row names is held by the statement that writes it: a reference to a table that grows would need an index here.

-- +goose Up
-- token is '' while nobody holds it; due_at is not asked about then. seq orders a conversation.
CREATE TABLE deliveries (
    seq              INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL UNIQUE CHECK (id <> ''),
    session_id       TEXT    NOT NULL,
    turn_id          TEXT    NOT NULL,
    channel          TEXT    NOT NULL CHECK (channel <> ''),
    conversation_key TEXT    NOT NULL CHECK (conversation_key <> ''),
    body             TEXT    NOT NULL CHECK (body <> ''),
    state            TEXT    NOT NULL CHECK (state IN ('queued', 'claimed', 'sending', 'delivered', 'failed', 'unknown', 'dropped')),
    attempts         INTEGER NOT NULL CHECK (attempts >= 0),
    idempotent       INTEGER NOT NULL CHECK (idempotent IN (0, 1)),
    due_at           INTEGER NOT NULL,
    token            TEXT    NOT NULL,
    epoch            TEXT    NOT NULL,
    fence            INTEGER NOT NULL CHECK (fence >= 0),
    expires_at       INTEGER NOT NULL,
    reason           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    changed_at       INTEGER NOT NULL,
    CHECK ((token <> '') = (state IN ('claimed', 'sending'))),
    CHECK ((token <> '') = (epoch <> '')),
    CHECK (attempts > 0 OR state NOT IN ('sending', 'delivered', 'unknown')),
    CHECK (reason <> '' OR state NOT IN ('failed', 'unknown', 'dropped'))
) STRICT;
CREATE INDEX deliveries_due ON deliveries (channel, due_at, seq) WHERE state = 'queued';
CREATE INDEX deliveries_open ON deliveries (channel, conversation_key, seq) WHERE state IN ('queued', 'claimed', 'sending');
CREATE INDEX deliveries_held ON deliveries (epoch) WHERE token <> '';
CREATE INDEX deliveries_recent ON deliveries (created_at);
CREATE INDEX deliveries_by_state ON deliveries (state, created_at);
CREATE INDEX deliveries_of_session ON deliveries (session_id, created_at);
CREATE INDEX deliveries_of_session_by_state ON deliveries (session_id, state, created_at);

-- An intent is written by its turn while that still runs, to the conversation of the session's owner.
-- +goose StatementBegin
CREATE TRIGGER deliveries_of_running BEFORE INSERT ON deliveries
WHEN NEW.state <> 'queued' OR NEW.attempts <> 0 OR NEW.fence <> 0 OR NOT EXISTS (SELECT 1 FROM turns t
    JOIN session_owners o ON o.session_id = t.session_id
    WHERE t.id = NEW.turn_id AND t.session_id = NEW.session_id AND t.state = 'running'
      AND o.channel = NEW.channel AND o.conversation_key = NEW.conversation_key)
BEGIN SELECT RAISE(ABORT, 'a running turn queues its delivery for the conversation of its session'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER deliveries_steps BEFORE UPDATE ON deliveries
WHEN (OLD.state || ' ' || NEW.state) NOT IN ('queued claimed', 'queued dropped',
    'claimed sending', 'claimed queued', 'claimed failed',
    'sending delivered', 'sending queued', 'sending failed', 'sending unknown',
    'failed queued', 'failed dropped', 'unknown queued', 'unknown dropped')
BEGIN SELECT RAISE(ABORT, 'a delivery does not take that step'); END;
-- +goose StatementEnd
-- A claim has a fence of its own, and only an attempt counts as one; the operator begins the count anew.
-- +goose StatementBegin
CREATE TRIGGER deliveries_counts BEFORE UPDATE ON deliveries
WHEN NEW.fence <> OLD.fence + (NEW.state = 'claimed')
  OR NEW.attempts <> OLD.attempts + (NEW.state = 'sending') AND NOT (NEW.attempts = 0 AND OLD.state IN ('failed', 'unknown'))
  OR OLD.state = 'claimed' AND NEW.state = 'sending' AND (NEW.token <> OLD.token OR NEW.epoch <> OLD.epoch)
BEGIN SELECT RAISE(ABORT, 'a delivery counts its claims and attempts'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER deliveries_identity BEFORE UPDATE ON deliveries
WHEN NEW.seq <> OLD.seq OR NEW.id <> OLD.id OR NEW.session_id <> OLD.session_id OR NEW.turn_id <> OLD.turn_id
  OR NEW.channel <> OLD.channel OR NEW.conversation_key <> OLD.conversation_key OR NEW.body <> OLD.body
  OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ABORT, 'a delivery keeps its identity'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER deliveries_kept BEFORE DELETE ON deliveries
BEGIN SELECT RAISE(ABORT, 'deliveries are never deleted'); END;
-- +goose StatementEnd
