-- What is settled about an effect whose end nobody saw. The effect and its turn stay as they ended.

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
