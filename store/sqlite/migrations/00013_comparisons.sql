-- What every turn writes is checked by comparisons. For a list of three words or more SQLite makes a table with each statement,
-- fills it and throws it away, which took longer than to write the row.

-- +goose Up
-- These say what they said before, so no row has to be looked at: only the text of the checks changes. The text is that of
-- migrations 1 and 6.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (role IN (''user'', ''assistant'', ''tool''))',
    'CHECK (role = ''user'' OR role = ''assistant'' OR role = ''tool'')')
WHERE type = 'table' AND name = 'messages';
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'CHECK (state IN
                       (''running'', ''completed'', ''needs_user'', ''failed'', ''cancelled'', ''lost'', ''indeterminate''))',
    'CHECK (state = ''running'' OR state = ''completed'' OR state = ''needs_user'' OR state = ''failed'' OR
                       state = ''cancelled'' OR state = ''lost'' OR state = ''indeterminate'')'),
    'CHECK (reply = '''' OR state IN (''completed'', ''needs_user'', ''indeterminate''))',
    'CHECK (reply = '''' OR state = ''completed'' OR state = ''needs_user'' OR state = ''indeterminate'')')
WHERE type = 'table' AND name = 'turns';
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'CHECK (recovery IN ('''', ''read'', ''idempotent'', ''reconcile'', ''manual''))',
    'CHECK (recovery = '''' OR recovery = ''read'' OR recovery = ''idempotent'' OR recovery = ''reconcile'' OR
                recovery = ''manual'')'),
    'CHECK (status IN ('''', ''succeeded'', ''denied'', ''invalid'', ''not_found'', ''failed'',
                ''timed_out'', ''cancelled'', ''indeterminate''))',
    'CHECK (status = '''' OR status = ''succeeded'' OR status = ''denied'' OR status = ''invalid'' OR
                status = ''not_found'' OR status = ''failed'' OR status = ''timed_out'' OR status = ''cancelled'' OR
                status = ''indeterminate'')')
WHERE type = 'table' AND name = 'effects';
UPDATE sqlite_schema SET sql = replace(replace(replace(sql,
    'CHECK (state IN (''queued'', ''claimed'', ''sending'', ''delivered'', ''failed'', ''unknown'', ''dropped''))',
    'CHECK (state = ''queued'' OR state = ''claimed'' OR state = ''sending'' OR state = ''delivered'' OR state = ''failed'' OR
                     state = ''unknown'' OR state = ''dropped'')'),
    'CHECK (attempts > 0 OR state NOT IN (''sending'', ''delivered'', ''unknown''))',
    'CHECK (attempts > 0 OR state <> ''sending'' AND state <> ''delivered'' AND state <> ''unknown'')'),
    'CHECK (reason <> '''' OR state NOT IN (''failed'', ''unknown'', ''dropped''))',
    'CHECK (reason <> '''' OR state <> ''failed'' AND state <> ''unknown'' AND state <> ''dropped'')')
WHERE type = 'table' AND name = 'deliveries';
PRAGMA writable_schema = RESET;

DROP INDEX deliveries_open;
CREATE INDEX deliveries_open ON deliveries (channel, conversation_key, seq) WHERE state = 'queued' OR state = 'claimed' OR state = 'sending';
DROP INDEX events_by_kind;
CREATE INDEX events_by_kind ON events (kind, at)
WHERE kind <> 'turn.started' AND kind <> 'turn.finished' AND kind <> 'effect.started' AND kind <> 'effect.finished';
