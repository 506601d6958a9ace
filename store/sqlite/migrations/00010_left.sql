-- What a session's earlier turns left uncertain, for the next one.

-- +goose Up
CREATE INDEX effects_uncertain_of_session ON effects (session_id) WHERE status = 'indeterminate';
