-- What a turn leaves behind: what is settled about an effect whose end nobody saw (the effect and its turn stay as they
-- ended), versions of values that never come again, and requests to end a turn that another process runs.

-- +goose Up
-- by_id is empty where the tool's own recovery settled it.
CREATE TABLE effect_resolutions (
    effect_id TEXT    NOT NULL PRIMARY KEY REFERENCES effects (id),
    verdict   TEXT    NOT NULL CHECK (verdict IN ('nothing_to_do', 'may_be_repeated', 'happened', 'not_happened')),
    reason    TEXT    NOT NULL CHECK (reason <> ''),
    by_id     TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    CHECK ((by_id = '') = (verdict IN ('nothing_to_do', 'may_be_repeated')))
) STRICT, WITHOUT ROWID;
CREATE INDEX effects_uncertain ON effects (finished_at) WHERE status = 'indeterminate';

-- +goose StatementBegin
CREATE TRIGGER effect_resolutions_fit BEFORE INSERT ON effect_resolutions
WHEN NOT EXISTS (SELECT 1 FROM effects e WHERE e.id = NEW.effect_id AND e.status = 'indeterminate'
  AND CASE e.recovery WHEN 'read' THEN NEW.verdict = 'nothing_to_do' WHEN 'idempotent' THEN NEW.verdict = 'may_be_repeated'
    ELSE NEW.verdict IN ('happened', 'not_happened') END)
BEGIN SELECT RAISE(ABORT, 'only an indeterminate effect is settled, as its recovery allows'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effect_resolutions_fixed BEFORE UPDATE ON effect_resolutions
BEGIN SELECT RAISE(ABORT, 'what is settled stays settled'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effect_resolutions_kept BEFORE DELETE ON effect_resolutions
BEGIN SELECT RAISE(ABORT, 'resolutions are never deleted'); END;
-- +goose StatementEnd

-- What an older program left uncertain and its tool's recovery settles.
INSERT INTO effect_resolutions (effect_id, verdict, reason, by_id, at)
SELECT e.id, CASE e.recovery WHEN 'read' THEN 'nothing_to_do' ELSE 'may_be_repeated' END, 'recovery_' || e.recovery, '', e.finished_at
FROM effects e WHERE e.status = 'indeterminate' AND e.recovery IN ('read', 'idempotent');

-- The highest version of the values that were removed from a scope: a key that is made again goes on from there, so that a
-- condition on a version never holds for another value than the one it was read from.
ALTER TABLE kv_usage ADD COLUMN retired INTEGER NOT NULL DEFAULT 0 CHECK (retired >= 0);
DROP TRIGGER kv_removed;
-- +goose StatementBegin
CREATE TRIGGER kv_removed AFTER DELETE ON kv
BEGIN
    UPDATE kv_usage SET keys = keys - 1, bytes = bytes - OLD.size, retired = max(retired, OLD.version)
    WHERE plugin = OLD.plugin AND principal = OLD.principal;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER kv_versions_grow BEFORE UPDATE ON kv WHEN NEW.version <= OLD.version
BEGIN SELECT RAISE(ABORT, 'the version of a value only grows'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER kv_versions_go_on BEFORE INSERT ON kv
WHEN NEW.version <= coalesce((SELECT u.retired FROM kv_usage u WHERE u.plugin = NEW.plugin AND u.principal = NEW.principal), 0)
  AND NOT EXISTS (SELECT 1 FROM kv k WHERE k.plugin = NEW.plugin AND k.principal = NEW.principal AND k.key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'a value made again has a version of its own'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER kv_usage_kept BEFORE DELETE ON kv_usage
BEGIN SELECT RAISE(ABORT, 'what a scope has used is never forgotten'); END;
-- +goose StatementEnd

-- That a running turn shall end. Whoever runs it looks here.
CREATE TABLE cancel_requests (
    turn_id      TEXT    NOT NULL PRIMARY KEY REFERENCES turns (id),
    principal_id TEXT    NOT NULL CHECK (principal_id <> ''),
    at           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- +goose StatementBegin
CREATE TRIGGER cancel_requests_of_running BEFORE INSERT ON cancel_requests
WHEN NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = NEW.turn_id AND t.state = 'running')
BEGIN SELECT RAISE(ABORT, 'only a running turn is asked to end'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER cancel_requests_fixed BEFORE UPDATE ON cancel_requests
BEGIN SELECT RAISE(ABORT, 'a request to end a turn never changes'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER cancel_requests_kept BEFORE DELETE ON cancel_requests
BEGIN SELECT RAISE(ABORT, 'a request to end a turn is never taken back'); END;
-- +goose StatementEnd
