-- An approval is used by the effect that starts under it, and an allowance for the session can be taken back.
--
-- plan is what would run beyond the arguments, as JSON, or ''. used_at is set by the first effect that started under an
-- allowed question; revoked_at ends an allowance for the session. Questions from before have neither.

-- +goose Up
ALTER TABLE approvals ADD COLUMN plan TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN approvers TEXT NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN used_at INTEGER CHECK (used_at IS NULL OR state = 'allowed');
ALTER TABLE approvals ADD COLUMN revoked_at INTEGER CHECK (revoked_at IS NULL OR reach = 'session');

DROP TRIGGER approvals_decide_once;
DROP TRIGGER approvals_identity;

-- A question: pending, then one answer; an allowed one is used, and one for the session revoked, once each.
-- +goose StatementBegin
CREATE TRIGGER approvals_decide_once BEFORE UPDATE ON approvals
WHEN OLD.state <> 'pending' AND (NEW.state <> OLD.state OR NEW.reach <> OLD.reach OR NEW.decided_by <> OLD.decided_by
  OR NEW.reason <> OLD.reason OR NEW.decided_at IS NOT OLD.decided_at)
BEGIN SELECT RAISE(ABORT, 'the first answer stands'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER approvals_used_once BEFORE UPDATE ON approvals
WHEN OLD.used_at IS NOT NULL AND NEW.used_at IS NOT OLD.used_at OR OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at
BEGIN SELECT RAISE(ABORT, 'an approval is used and revoked once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER approvals_identity BEFORE UPDATE ON approvals
WHEN NEW.id <> OLD.id OR NEW.session_id <> OLD.session_id OR NEW.turn_id <> OLD.turn_id OR NEW.tool <> OLD.tool
  OR NEW.digest <> OLD.digest OR NEW.arguments <> OLD.arguments OR NEW.expires_at <> OLD.expires_at
  OR NEW.cacheable <> OLD.cacheable OR NEW.effect_id <> OLD.effect_id OR NEW.principal_id <> OLD.principal_id
  OR NEW.plan <> OLD.plan OR NEW.approvers <> OLD.approvers OR NEW.rule_key <> OLD.rule_key
BEGIN SELECT RAISE(ABORT, 'what was asked never changes'); END;
-- +goose StatementEnd
-- An effect that names an approval names one of its own session that was allowed, in use, and not taken back.
-- +goose StatementBegin
CREATE TRIGGER effects_of_approval BEFORE INSERT ON effects
WHEN NEW.approval_id <> '' AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = NEW.approval_id
  AND a.session_id = NEW.session_id AND a.tool = NEW.tool AND a.state = 'allowed' AND a.used_at IS NOT NULL AND a.revoked_at IS NULL
  AND (a.reach = 'session' OR a.effect_id = NEW.id AND a.digest = NEW.digest))
BEGIN SELECT RAISE(ABORT, 'an effect starts under an approval of its own'); END;
-- +goose StatementEnd
