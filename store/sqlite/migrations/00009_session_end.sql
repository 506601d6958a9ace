-- A session that was ended: no turn begins in it any more.

-- +goose Up
CREATE TABLE session_ends (
    session_id   TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id),
    principal_id TEXT    NOT NULL CHECK (principal_id <> ''), -- who ended it
    at           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose StatementBegin
CREATE TRIGGER session_ends_fixed BEFORE UPDATE ON session_ends
BEGIN SELECT RAISE(ABORT, 'a session ends once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_ends_kept BEFORE DELETE ON session_ends
BEGIN SELECT RAISE(ABORT, 'a session that was ended stays so'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER turns_of_open_sessions BEFORE INSERT ON turns
WHEN EXISTS (SELECT 1 FROM session_ends e WHERE e.session_id = NEW.session_id)
BEGIN SELECT RAISE(ABORT, 'the session was ended'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effects_of_open_sessions BEFORE INSERT ON effects
WHEN NEW.status = '' AND EXISTS (SELECT 1 FROM session_ends e WHERE e.session_id = NEW.session_id)
BEGIN SELECT RAISE(ABORT, 'the session was ended'); END;
-- +goose StatementEnd
