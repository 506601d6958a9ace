-- The sessions of child agents by the turn that made them.

-- +goose Up
CREATE INDEX session_owners_by_parent ON session_owners (parent_turn) WHERE parent_turn <> '';
