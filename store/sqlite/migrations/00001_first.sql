-- The first schema. Never edit a migration that was released: add the next number.
--
-- Times are integer milliseconds since 1970 UTC. An absent text is '', an absent time is NULL. Rules that must hold
-- whatever the program does are CHECKs and triggers; the program's own checks come before them and say more.

-- +goose Up
-- In each rowid table seq is the rowid, so every index below ends in it and lists come back in order without a sort.
-- 'Prtc', so that another program's SQLite file is not taken for ours.
PRAGMA application_id = 1349678179;

CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE CHECK (id <> ''),
    core         TEXT    NOT NULL,
    title        TEXT    NOT NULL,
    turns        INTEGER NOT NULL CHECK (turns >= 0),
    fence        INTEGER NOT NULL CHECK (fence >= 0),
    created_at   INTEGER NOT NULL,
    last_turn_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_recent ON sessions (last_turn_at);

CREATE TABLE session_owners (
    session_id       TEXT NOT NULL PRIMARY KEY REFERENCES sessions (id),
    authority        TEXT NOT NULL CHECK (authority IN ('conversation', 'operator', 'system', 'delegated_agent')),
    principal_id     TEXT NOT NULL CHECK (principal_id <> ''),
    channel          TEXT NOT NULL,
    conversation_key TEXT NOT NULL,
    parent_session   TEXT NOT NULL,
    CHECK ((authority = 'conversation') = (channel <> '')),
    CHECK ((authority = 'conversation') = (conversation_key <> '')),
    CHECK ((authority = 'delegated_agent') = (parent_session <> ''))
) STRICT, WITHOUT ROWID;

CREATE TABLE conversation_bindings (
    channel          TEXT NOT NULL CHECK (channel <> ''),
    conversation_key TEXT NOT NULL CHECK (conversation_key <> ''),
    session_id       TEXT NOT NULL REFERENCES session_owners (session_id),
    PRIMARY KEY (channel, conversation_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    seq                INTEGER PRIMARY KEY,
    id                 TEXT    NOT NULL UNIQUE CHECK (id <> ''),
    session_id         TEXT    NOT NULL REFERENCES sessions (id),
    authority          TEXT    NOT NULL,
    principal_id       TEXT    NOT NULL,
    request            TEXT    NOT NULL CHECK (request <> ''),
    digest             TEXT    NOT NULL CHECK (digest <> ''),
    core               TEXT    NOT NULL,
    revision           TEXT    NOT NULL,
    capabilities       TEXT    NOT NULL,
    trace              TEXT    NOT NULL,
    input              TEXT    NOT NULL,
    state              TEXT    NOT NULL CHECK (state IN
                       ('running', 'completed', 'needs_user', 'failed', 'cancelled', 'lost', 'indeterminate')),
    reason             TEXT    NOT NULL,
    reply              TEXT    NOT NULL,
    steps              INTEGER NOT NULL CHECK (steps >= 0),
    tokens_input       INTEGER NOT NULL,
    tokens_output      INTEGER NOT NULL,
    tokens_cache_read  INTEGER NOT NULL,
    tokens_cache_write INTEGER NOT NULL,
    started_at         INTEGER NOT NULL,
    finished_at        INTEGER,
    UNIQUE (authority, principal_id, request),
    CHECK ((state = 'running') = (finished_at IS NULL)),
    CHECK (reply = '' OR state IN ('completed', 'needs_user', 'indeterminate')),
    CHECK (reason = '' OR state NOT IN ('running', 'completed'))
) STRICT;
CREATE INDEX turns_of_session ON turns (session_id);
CREATE UNIQUE INDEX turns_running ON turns (session_id) WHERE state = 'running';

-- One row for each running turn. The fence that orders claims outlives it in sessions.fence.
CREATE TABLE leases (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id),
    turn_id    TEXT    NOT NULL UNIQUE REFERENCES turns (id),
    token      TEXT    NOT NULL CHECK (token <> ''),
    epoch      TEXT    NOT NULL CHECK (epoch <> ''),
    fence      INTEGER NOT NULL CHECK (fence > 0),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A message's turn is held by the trigger messages_of_running, which asks more than a reference would, and needs no
-- index of messages by turn.
CREATE TABLE messages (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE CHECK (id <> ''),
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    turn_id    TEXT    NOT NULL,
    role       TEXT    NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
    body       TEXT    NOT NULL,
    at         INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_of_session ON messages (session_id);

CREATE TABLE effects (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE CHECK (id <> ''),
    session_id  TEXT    NOT NULL REFERENCES sessions (id),
    turn_id     TEXT    NOT NULL REFERENCES turns (id),
    call_id     TEXT    NOT NULL,
    tool        TEXT    NOT NULL,
    plugin      TEXT    NOT NULL,
    recovery    TEXT    NOT NULL CHECK (recovery IN ('', 'read', 'idempotent', 'reconcile', 'manual')),
    digest      TEXT    NOT NULL,
    arguments   TEXT    NOT NULL,
    approval_id TEXT    NOT NULL,
    status      TEXT    NOT NULL CHECK (status IN ('', 'succeeded', 'denied', 'invalid', 'not_found', 'failed',
                'timed_out', 'cancelled', 'indeterminate')),
    reason      TEXT    NOT NULL,
    durable     TEXT    NOT NULL,
    duration_ms INTEGER NOT NULL CHECK (duration_ms >= 0),
    started_at  INTEGER,
    finished_at INTEGER,
    CHECK (started_at IS NOT NULL OR finished_at IS NOT NULL),
    CHECK ((status = '') = (finished_at IS NULL)),
    CHECK ((recovery = '') = (started_at IS NULL)),
    CHECK (started_at IS NOT NULL OR status NOT IN ('succeeded', 'indeterminate'))
) STRICT;
CREATE INDEX effects_of_turn ON effects (turn_id);
CREATE INDEX effects_open ON effects (turn_id) WHERE finished_at IS NULL;

CREATE TABLE approvals (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE CHECK (id <> ''),
    session_id   TEXT    NOT NULL REFERENCES sessions (id),
    turn_id      TEXT    NOT NULL REFERENCES turns (id),
    effect_id    TEXT    NOT NULL,
    principal_id TEXT    NOT NULL CHECK (principal_id <> ''),
    core         TEXT    NOT NULL,
    tool         TEXT    NOT NULL,
    plugin       TEXT    NOT NULL,
    risk         TEXT    NOT NULL,
    needs        TEXT    NOT NULL,
    why          TEXT    NOT NULL,
    arguments    TEXT    NOT NULL,
    digest       TEXT    NOT NULL CHECK (digest <> ''),
    rule_key     TEXT    NOT NULL,
    cacheable    INTEGER NOT NULL CHECK (cacheable IN (0, 1)),
    asked_at     INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL CHECK (expires_at > asked_at),
    state        TEXT    NOT NULL CHECK (state IN ('pending', 'allowed', 'denied', 'expired')),
    reach        TEXT    NOT NULL CHECK (reach IN ('', 'once', 'session')),
    decided_by   TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    decided_at   INTEGER,
    CHECK ((state = 'pending') = (decided_at IS NULL)),
    CHECK ((state = 'allowed') = (reach <> '')),
    CHECK (state <> 'allowed' OR decided_by <> ''),
    CHECK (reach <> 'session' OR cacheable = 1),
    CHECK (state <> 'allowed' OR decided_at < expires_at)
) STRICT;
CREATE INDEX approvals_recent ON approvals (asked_at);
CREATE INDEX approvals_by_state ON approvals (state, asked_at);
CREATE INDEX approvals_of_session ON approvals (session_id, asked_at);
CREATE INDEX approvals_of_session_by_state ON approvals (session_id, state, asked_at);
CREATE INDEX approvals_of_turn ON approvals (turn_id, state);

CREATE TABLE plugin_grants (
    plugin     TEXT    NOT NULL CHECK (plugin <> ''),
    capability TEXT    NOT NULL CHECK (capability <> ''),
    granted_by TEXT    NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (plugin, capability)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE CHECK (id <> ''),
    at           INTEGER NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind <> ''),
    principal_id TEXT    NOT NULL,
    session_id   TEXT    NOT NULL,
    turn_id      TEXT    NOT NULL,
    effect_id    TEXT    NOT NULL,
    trace        TEXT    NOT NULL,
    fields       TEXT    NOT NULL
) STRICT;
CREATE INDEX events_recent ON events (at);
CREATE INDEX events_by_kind ON events (kind, at);
CREATE INDEX events_of_session ON events (session_id, at);
CREATE INDEX events_of_turn ON events (turn_id, at);

CREATE TABLE kv (
    plugin    TEXT    NOT NULL CHECK (plugin <> ''),
    principal TEXT    NOT NULL CHECK (principal <> ''),
    key       TEXT    NOT NULL CHECK (key <> ''),
    version   INTEGER NOT NULL CHECK (version >= 1),
    size      INTEGER NOT NULL CHECK (size = length(value)),
    value     BLOB    NOT NULL,
    PRIMARY KEY (plugin, principal, key)
) STRICT, WITHOUT ROWID;

-- What each scope holds, kept by the triggers below so that a limit costs no count.
CREATE TABLE kv_usage (
    plugin    TEXT    NOT NULL,
    principal TEXT    NOT NULL,
    keys      INTEGER NOT NULL CHECK (keys >= 0),
    bytes     INTEGER NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (plugin, principal)
) STRICT, WITHOUT ROWID;

-- Ownership is written once, with the session.
-- +goose StatementBegin
CREATE TRIGGER session_owners_fixed BEFORE UPDATE ON session_owners
BEGIN SELECT RAISE(ABORT, 'session owners never change'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_owners_kept BEFORE DELETE ON session_owners
BEGIN SELECT RAISE(ABORT, 'session owners are never deleted'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER sessions_fence BEFORE UPDATE ON sessions
WHEN NEW.fence < OLD.fence OR NEW.id <> OLD.id OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ABORT, 'a session keeps its identity and its fence only grows'); END;
-- +goose StatementEnd

-- A turn: running, then exactly one terminal state, with nothing left open under it.
-- +goose StatementBegin
CREATE TRIGGER turns_born_running BEFORE INSERT ON turns WHEN NEW.state <> 'running'
BEGIN SELECT RAISE(ABORT, 'a turn begins running'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER turns_end_once BEFORE UPDATE ON turns WHEN OLD.state <> 'running'
BEGIN SELECT RAISE(ABORT, 'a terminal turn never changes'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER turns_identity BEFORE UPDATE ON turns
WHEN NEW.id <> OLD.id OR NEW.session_id <> OLD.session_id OR NEW.authority <> OLD.authority
  OR NEW.principal_id <> OLD.principal_id OR NEW.request <> OLD.request OR NEW.digest <> OLD.digest
  OR NEW.revision <> OLD.revision OR NEW.started_at <> OLD.started_at
BEGIN SELECT RAISE(ABORT, 'a turn keeps its identity'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER turns_end_closed BEFORE UPDATE ON turns WHEN NEW.state <> 'running' AND (
    EXISTS (SELECT 1 FROM effects e WHERE e.turn_id = OLD.id AND e.finished_at IS NULL) OR
    EXISTS (SELECT 1 FROM approvals a WHERE a.turn_id = OLD.id AND a.state = 'pending'))
BEGIN SELECT RAISE(ABORT, 'a turn ends after its effects and questions'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER turns_kept BEFORE DELETE ON turns
BEGIN SELECT RAISE(ABORT, 'turns are never deleted'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER leases_fixed BEFORE UPDATE ON leases
WHEN NEW.session_id <> OLD.session_id OR NEW.turn_id <> OLD.turn_id OR NEW.token <> OLD.token
  OR NEW.epoch <> OLD.epoch OR NEW.fence <> OLD.fence
BEGIN SELECT RAISE(ABORT, 'only the expiry of a lease moves'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER leases_outlive_turn BEFORE DELETE ON leases
WHEN (SELECT t.state FROM turns t WHERE t.id = OLD.turn_id) = 'running'
BEGIN SELECT RAISE(ABORT, 'a running turn keeps its lease'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER messages_of_running BEFORE INSERT ON messages
WHEN NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = NEW.turn_id AND t.session_id = NEW.session_id AND t.state = 'running')
BEGIN SELECT RAISE(ABORT, 'only a running turn of the session appends messages'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER messages_fixed BEFORE UPDATE ON messages
BEGIN SELECT RAISE(ABORT, 'messages never change'); END;
-- +goose StatementEnd

-- An effect: started, then one end; or one row that says it never started.
-- +goose StatementBegin
CREATE TRIGGER effects_of_running BEFORE INSERT ON effects
WHEN NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = NEW.turn_id AND t.session_id = NEW.session_id AND t.state = 'running')
BEGIN SELECT RAISE(ABORT, 'only a running turn of the session has effects'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effects_end_once BEFORE UPDATE ON effects WHEN OLD.finished_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a finished effect never changes'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effects_identity BEFORE UPDATE ON effects
WHEN NEW.id <> OLD.id OR NEW.turn_id <> OLD.turn_id OR NEW.session_id <> OLD.session_id OR NEW.tool <> OLD.tool
  OR NEW.digest <> OLD.digest OR NEW.arguments <> OLD.arguments OR NEW.started_at IS NOT OLD.started_at
BEGIN SELECT RAISE(ABORT, 'an effect keeps its identity'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effects_kept BEFORE DELETE ON effects
BEGIN SELECT RAISE(ABORT, 'effects are never deleted'); END;
-- +goose StatementEnd

-- A question: pending, then one answer.
-- +goose StatementBegin
CREATE TRIGGER approvals_of_running BEFORE INSERT ON approvals
WHEN NEW.state <> 'pending' OR
    NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = NEW.turn_id AND t.session_id = NEW.session_id AND t.state = 'running')
BEGIN SELECT RAISE(ABORT, 'only a running turn of the session asks, and its question begins pending'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER approvals_decide_once BEFORE UPDATE ON approvals WHEN OLD.state <> 'pending'
BEGIN SELECT RAISE(ABORT, 'the first answer stands'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER approvals_identity BEFORE UPDATE ON approvals
WHEN NEW.id <> OLD.id OR NEW.session_id <> OLD.session_id OR NEW.turn_id <> OLD.turn_id OR NEW.tool <> OLD.tool
  OR NEW.digest <> OLD.digest OR NEW.arguments <> OLD.arguments OR NEW.expires_at <> OLD.expires_at
  OR NEW.cacheable <> OLD.cacheable
BEGIN SELECT RAISE(ABORT, 'what was asked never changes'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER approvals_kept BEFORE DELETE ON approvals
BEGIN SELECT RAISE(ABORT, 'questions are never deleted'); END;
-- +goose StatementEnd

-- The audit is append-only.
-- +goose StatementBegin
CREATE TRIGGER events_fixed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'audit records never change'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_kept BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'audit records are never deleted'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER kv_added AFTER INSERT ON kv
BEGIN
    INSERT INTO kv_usage (plugin, principal, keys, bytes) VALUES (NEW.plugin, NEW.principal, 1, NEW.size)
    ON CONFLICT (plugin, principal) DO UPDATE SET keys = keys + 1, bytes = bytes + excluded.bytes;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER kv_changed AFTER UPDATE ON kv
BEGIN
    UPDATE kv_usage SET bytes = bytes - OLD.size + NEW.size WHERE plugin = NEW.plugin AND principal = NEW.principal;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER kv_removed AFTER DELETE ON kv
BEGIN
    UPDATE kv_usage SET keys = keys - 1, bytes = bytes - OLD.size WHERE plugin = OLD.plugin AND principal = OLD.principal;
END;
-- +goose StatementEnd
