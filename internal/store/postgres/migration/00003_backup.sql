-- +goose Up
CREATE TABLE backup_locations (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment_id BIGINT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    name           TEXT NOT NULL COLLATE "C",
    kind           TEXT NOT NULL CHECK (kind IN ('s3', 'volume')),
    config         JSON NOT NULL,
    created_by     TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    UNIQUE (environment_id, name)
);

CREATE TABLE backups (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    application_id BIGINT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    location_id    BIGINT NOT NULL REFERENCES backup_locations (id) ON DELETE CASCADE,
    path           TEXT NOT NULL UNIQUE,
    app_version    TEXT NOT NULL,
    driver_name    TEXT NOT NULL,
    driver_version TEXT NOT NULL,
    driver_digest  TEXT NOT NULL,
    revision       BIGINT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('taking', 'complete', 'failed', 'deleting', 'deleted')),
    cause          TEXT NOT NULL CHECK (cause IN ('asked', 'schedule', 'upgrade')),
    task_id        BIGINT REFERENCES tasks (id) ON DELETE SET NULL,
    size           BIGINT NOT NULL,
    files          JSON NOT NULL,
    context        JSON,
    error          TEXT NOT NULL,
    requested_by   TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    taken_at       TIMESTAMPTZ,
    expires_at     TIMESTAMPTZ,
    -- What is complete has the moment in which it became so.
    CHECK (state <> 'complete' OR taken_at IS NOT NULL)
);
CREATE INDEX backups_application ON backups (application_id, id);
CREATE INDEX backups_location ON backups (location_id);
CREATE INDEX backups_task ON backups (task_id);

CREATE TABLE restores (
    task_id        BIGINT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    backup_id      BIGINT NOT NULL REFERENCES backups (id) ON DELETE CASCADE,
    application_id BIGINT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    context        JSON
);
CREATE INDEX restores_backup ON restores (backup_id);
CREATE INDEX restores_application ON restores (application_id);

CREATE TABLE backup_schedules (
    application_id BIGINT PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    schedule       TEXT NOT NULL,
    time_zone      TEXT NOT NULL,
    next_at        TIMESTAMPTZ NOT NULL,
    last_at        TIMESTAMPTZ
);
