-- Work that outlives the turn that asked for it, and how far each schedule has come.
-- What a row names is held by the statement that writes it: a reference to a table that grows would need an index here.

-- +goose Up
-- token is '' while nobody holds it. instance is what there is one task of at the most. session_id is '' only of a
-- schedule's run that has no turn yet. The owner is the session's, as it was when the task was queued.
CREATE TABLE tasks (
    seq              INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL UNIQUE CHECK (id <> ''),
    kind             TEXT    NOT NULL CHECK (kind IN ('process', 'schedule.fire')),
    state            TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'blocked', 'succeeded', 'failed', 'cancelled', 'lost')),
    instance         TEXT    NOT NULL UNIQUE CHECK (instance <> ''),
    session_id       TEXT    NOT NULL,
    turn_id          TEXT    NOT NULL,
    authority        TEXT    NOT NULL CHECK (authority IN ('conversation', 'operator', 'system', 'delegated_agent')),
    principal_id     TEXT    NOT NULL CHECK (principal_id <> ''),
    channel          TEXT    NOT NULL,
    conversation_key TEXT    NOT NULL,
    parent_session   TEXT    NOT NULL,
    parent_turn      TEXT    NOT NULL,
    core             TEXT    NOT NULL CHECK (core <> ''),
    schedule         TEXT    NOT NULL,
    due_at           INTEGER,
    title            TEXT    NOT NULL CHECK (title <> ''),
    spec             TEXT    NOT NULL CHECK (spec <> ''),
    digest           TEXT    NOT NULL,
    write_scope      TEXT    NOT NULL,
    token            TEXT    NOT NULL,
    epoch            TEXT    NOT NULL,
    fence            INTEGER NOT NULL CHECK (fence IN (0, 1)),
    expires_at       INTEGER NOT NULL,
    unwanted         INTEGER NOT NULL CHECK (unwanted IN (0, 1)),
    reason           TEXT    NOT NULL,
    summary          TEXT    NOT NULL,
    notice           TEXT    NOT NULL CHECK (notice IN ('', 'waiting', 'told')),
    told_turn        TEXT    NOT NULL,
    log_bytes        INTEGER NOT NULL CHECK (log_bytes >= 0),
    log_lines        INTEGER NOT NULL CHECK (log_lines >= 0),
    created_at       INTEGER NOT NULL,
    started_at       INTEGER,
    ended_at         INTEGER,
    CHECK ((token <> '') = (state IN ('running', 'blocked'))),
    CHECK ((token <> '') = (epoch <> '')),
    CHECK ((ended_at IS NULL) = (state IN ('queued', 'running', 'blocked'))),
    CHECK (started_at IS NOT NULL OR state IN ('queued', 'cancelled')),
    CHECK ((reason = '') = (state IN ('queued', 'running', 'blocked', 'succeeded'))),
    CHECK ((kind = 'schedule.fire') = (schedule <> '')),
    CHECK ((kind = 'schedule.fire') = (due_at IS NOT NULL)),
    CHECK (kind = 'schedule.fire' OR session_id <> '' AND turn_id <> ''),
    CHECK (notice = '' OR ended_at IS NOT NULL),
    CHECK ((notice = 'told') = (told_turn <> ''))
) STRICT;
CREATE UNIQUE INDEX tasks_scope ON tasks (write_scope) WHERE write_scope <> '' AND state IN ('queued', 'running', 'blocked');
CREATE INDEX tasks_queued ON tasks (state, seq) WHERE state = 'queued';
CREATE INDEX tasks_open ON tasks (session_id) WHERE state IN ('queued', 'running', 'blocked');
CREATE INDEX tasks_held ON tasks (epoch) WHERE token <> '';
CREATE INDEX tasks_untold ON tasks (session_id, seq) WHERE notice = 'waiting';
CREATE INDEX tasks_of_schedule ON tasks (core, schedule, principal_id, seq) WHERE kind = 'schedule.fire';
CREATE INDEX tasks_recent ON tasks (created_at);
CREATE INDEX tasks_by_state ON tasks (state, created_at);
CREATE INDEX tasks_of_session ON tasks (session_id, created_at);
CREATE INDEX tasks_of_session_by_state ON tasks (session_id, state, created_at);

-- One append each; from_byte and from_line are where it begins in all that was ever appended.
CREATE TABLE task_logs (
    task_id   TEXT    NOT NULL,
    from_byte INTEGER NOT NULL CHECK (from_byte >= 0),
    from_line INTEGER NOT NULL CHECK (from_line >= 0),
    at        INTEGER NOT NULL,
    body      TEXT    NOT NULL CHECK (body <> '')
) STRICT;
CREATE UNIQUE INDEX task_logs_by_byte ON task_logs (task_id, from_byte);
CREATE INDEX task_logs_by_line ON task_logs (task_id, from_line);

-- All that a schedule was due up to cursor_at is dealt with. digest is what of its file decides when it is due.
CREATE TABLE schedules (
    core      TEXT    NOT NULL CHECK (core <> ''),
    schedule  TEXT    NOT NULL CHECK (schedule <> ''),
    digest    TEXT    NOT NULL CHECK (digest <> ''),
    cursor_at INTEGER NOT NULL,
    PRIMARY KEY (core, schedule)
) STRICT, WITHOUT ROWID;

-- +goose StatementBegin
CREATE TRIGGER tasks_born_queued BEFORE INSERT ON tasks
WHEN NEW.state <> 'queued' OR NEW.fence <> 0 OR NEW.kind = 'process' AND NOT EXISTS (SELECT 1 FROM turns t
    JOIN session_owners o ON o.session_id = t.session_id
    WHERE t.id = NEW.turn_id AND t.session_id = NEW.session_id AND t.state = 'running' AND o.legacy = 0
      AND o.authority = NEW.authority AND o.principal_id = NEW.principal_id AND o.channel = NEW.channel
      AND o.conversation_key = NEW.conversation_key AND o.parent_session = NEW.parent_session AND o.parent_turn = NEW.parent_turn)
BEGIN SELECT RAISE(ABORT, 'a running turn queues a task of its session for the owner of that'); END;
-- +goose StatementEnd
-- A task is claimed once in its life: what was claimed and has no end is lost.
-- +goose StatementBegin
CREATE TRIGGER tasks_steps BEFORE UPDATE ON tasks
WHEN NEW.state <> OLD.state AND (OLD.state || ' ' || NEW.state) NOT IN ('queued running', 'queued cancelled',
    'running blocked', 'blocked running',
    'running succeeded', 'running failed', 'running cancelled', 'running lost',
    'blocked succeeded', 'blocked failed', 'blocked cancelled', 'blocked lost')
BEGIN SELECT RAISE(ABORT, 'a task does not take that step'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_claims BEFORE UPDATE ON tasks
WHEN NEW.fence <> OLD.fence + (OLD.state = 'queued' AND NEW.state = 'running')
  OR OLD.token <> '' AND NEW.token <> '' AND (NEW.token <> OLD.token OR NEW.epoch <> OLD.epoch)
  OR NEW.unwanted < OLD.unwanted OR NEW.log_bytes < OLD.log_bytes OR NEW.log_lines < OLD.log_lines
BEGIN SELECT RAISE(ABORT, 'a task has one claim, and what was asked of it or logged stays'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_end_once BEFORE UPDATE ON tasks
WHEN OLD.ended_at IS NOT NULL AND (NEW.ended_at IS NOT OLD.ended_at OR NEW.reason <> OLD.reason OR NEW.summary <> OLD.summary
  OR NOT (OLD.notice = 'waiting' AND NEW.notice = 'told'))
BEGIN SELECT RAISE(ABORT, 'a task that has ended changes in nothing but who was told'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_identity BEFORE UPDATE ON tasks
WHEN NEW.seq <> OLD.seq OR NEW.id <> OLD.id OR NEW.kind <> OLD.kind OR NEW.instance <> OLD.instance
  OR OLD.session_id <> '' AND (NEW.session_id <> OLD.session_id OR NEW.turn_id <> OLD.turn_id)
  OR NEW.authority <> OLD.authority OR NEW.principal_id <> OLD.principal_id OR NEW.channel <> OLD.channel
  OR NEW.conversation_key <> OLD.conversation_key OR NEW.parent_session <> OLD.parent_session OR NEW.parent_turn <> OLD.parent_turn
  OR NEW.core <> OLD.core OR NEW.schedule <> OLD.schedule OR NEW.due_at IS NOT OLD.due_at OR NEW.spec <> OLD.spec
  OR NEW.digest <> OLD.digest OR NEW.write_scope <> OLD.write_scope OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ABORT, 'a task keeps its identity and its owner'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_kept BEFORE DELETE ON tasks
BEGIN SELECT RAISE(ABORT, 'tasks are never deleted'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER schedules_forward BEFORE UPDATE ON schedules
WHEN NEW.core <> OLD.core OR NEW.schedule <> OLD.schedule OR NEW.digest = OLD.digest AND NEW.cursor_at < OLD.cursor_at
BEGIN SELECT RAISE(ABORT, 'the cursor of a schedule only goes on'); END;
-- +goose StatementEnd
