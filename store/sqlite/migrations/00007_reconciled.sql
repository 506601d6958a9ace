-- What a tool itself says about an effect whose end nobody saw.

-- +goose Up
-- Where a plugin says that the outcome can be looked at; '' where it says nothing.
ALTER TABLE effect_resolutions ADD COLUMN reference TEXT NOT NULL DEFAULT ''
    CHECK (reference = '' OR verdict = 'happened' AND by_id LIKE 'plugin:%');

-- Only the plugin that ran an effect speaks for it, and only where its tool declared that it can.
-- +goose StatementBegin
CREATE TRIGGER effect_resolutions_by_plugin BEFORE INSERT ON effect_resolutions
WHEN NEW.by_id LIKE 'plugin:%' AND NOT EXISTS (SELECT 1 FROM effects e
    WHERE e.id = NEW.effect_id AND e.recovery = 'reconcile' AND e.plugin <> '' AND NEW.by_id = 'plugin:' || e.plugin)
BEGIN SELECT RAISE(ABORT, 'only the plugin that ran an effect says what became of it'); END;
-- +goose StatementEnd
