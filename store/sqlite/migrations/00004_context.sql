-- What a model is shown of a long session: summaries with their cutoff, who is writing one, and what models reported.
-- What a row names is held by the statement that writes it: a reference to a table that grows would need an index here.

-- +goose Up
-- One summary a session; cutoff is the place of the last message that it stands for.
CREATE TABLE summaries (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id),
    revision   INTEGER NOT NULL CHECK (revision >= 1),
    text       TEXT    NOT NULL CHECK (text <> ''),
    cutoff     INTEGER NOT NULL,
    model      TEXT    NOT NULL,
    at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who writes a session's next summary, until when, and until when nobody shall after one failed. token is '' for nobody.
CREATE TABLE compactions (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id),
    token      TEXT    NOT NULL,
    epoch      TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    rest_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE observations (
    seq            INTEGER PRIMARY KEY,
    decision       TEXT    NOT NULL UNIQUE CHECK (decision <> ''),
    session_id     TEXT    NOT NULL,
    turn_id        TEXT    NOT NULL,
    step           INTEGER NOT NULL,
    model          TEXT    NOT NULL CHECK (model <> ''),
    estimate       INTEGER NOT NULL,
    tokens_input       INTEGER NOT NULL,
    tokens_output      INTEGER NOT NULL,
    tokens_cache_read  INTEGER NOT NULL,
    tokens_cache_write INTEGER NOT NULL,
    reported       INTEGER NOT NULL CHECK (reported IN (0, 1)),
    finish         TEXT    NOT NULL,
    vendor_request TEXT    NOT NULL,
    at             INTEGER NOT NULL
) STRICT;

CREATE TABLE calibrations (
    model   TEXT    NOT NULL PRIMARY KEY CHECK (model <> ''),
    samples INTEGER NOT NULL CHECK (samples >= 1),
    ratio   REAL    NOT NULL CHECK (ratio > 0)
) STRICT, WITHOUT ROWID;

-- +goose StatementBegin
CREATE TRIGGER summaries_go_on BEFORE UPDATE ON summaries
WHEN NEW.session_id <> OLD.session_id OR NEW.revision <> OLD.revision + 1 OR NEW.cutoff <= OLD.cutoff
BEGIN SELECT RAISE(ABORT, 'a summary only goes on'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER observations_fixed BEFORE UPDATE ON observations
BEGIN SELECT RAISE(ABORT, 'observations never change'); END;
-- +goose StatementEnd
