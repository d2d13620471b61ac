-- +goose Up
CREATE TABLE backup_locations (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    environment_id INTEGER NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('s3', 'volume')),
    config         TEXT NOT NULL CHECK (json_valid(config)),
    created_by     TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    UNIQUE (environment_id, name)
) STRICT;

CREATE TABLE backups (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    application_id INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    location_id    INTEGER NOT NULL REFERENCES backup_locations (id) ON DELETE CASCADE,
    path           TEXT NOT NULL UNIQUE,
    app_version    TEXT NOT NULL,
    driver_name    TEXT NOT NULL,
    driver_version TEXT NOT NULL,
    driver_digest  TEXT NOT NULL,
    revision       INTEGER NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('taking', 'complete', 'failed', 'deleting', 'deleted')),
    cause          TEXT NOT NULL CHECK (cause IN ('asked', 'schedule', 'upgrade')),
    task_id        INTEGER REFERENCES tasks (id) ON DELETE SET NULL,
    size           INTEGER NOT NULL,
    files          TEXT NOT NULL CHECK (json_valid(files)),
    context        TEXT CHECK (context IS NULL OR json_valid(context)),
    error          TEXT NOT NULL,
    requested_by   TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    taken_at       TEXT,
    expires_at     TEXT,
    -- What is complete has the moment in which it became so.
    CHECK (state <> 'complete' OR taken_at IS NOT NULL)
) STRICT;
CREATE INDEX backups_application ON backups (application_id, id);
CREATE INDEX backups_location ON backups (location_id);
CREATE INDEX backups_task ON backups (task_id);

CREATE TABLE restores (
    task_id        INTEGER PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    backup_id      INTEGER NOT NULL REFERENCES backups (id) ON DELETE CASCADE,
    application_id INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    context        TEXT CHECK (context IS NULL OR json_valid(context))
) STRICT;
CREATE INDEX restores_backup ON restores (backup_id);
CREATE INDEX restores_application ON restores (application_id);

CREATE TABLE backup_schedules (
    application_id INTEGER PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    schedule       TEXT NOT NULL,
    time_zone      TEXT NOT NULL,
    next_at        TEXT NOT NULL,
    last_at        TEXT
) STRICT;
