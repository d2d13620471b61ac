-- +goose Up
CREATE TABLE installation (
    singleton   INTEGER PRIMARY KEY CHECK (singleton = 1),
    id          TEXT NOT NULL,
    external_id TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    setup_done  BOOLEAN NOT NULL
);

CREATE TABLE replicas (
    id         TEXT PRIMARY KEY,
    host       TEXT NOT NULL,
    role       TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    seen_at    TIMESTAMPTZ NOT NULL
);

CREATE TABLE leases (
    name       TEXT PRIMARY KEY,
    holder     TEXT NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);

-- What must be looked at, and from when. A row goes when it has been looked at and nothing
-- asked again meanwhile, so the table is short.
CREATE TABLE wakeups (
    noun       TEXT NOT NULL COLLATE "C",
    noun_id    BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    job_id     BIGINT,
    next_at    TIMESTAMPTZ,
    queue      TEXT NOT NULL,
    priority   INTEGER NOT NULL,
    failures   INTEGER NOT NULL,
    PRIMARY KEY (noun, noun_id)
);
CREATE INDEX wakeups_due ON wakeups (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE users (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          TEXT NOT NULL COLLATE "C",
    name_key      TEXT NOT NULL COLLATE "C" UNIQUE,
    role          TEXT NOT NULL CHECK (role IN ('read-only', 'read-write', 'administrator')),
    active        BOOLEAN NOT NULL,
    built_in      BOOLEAN NOT NULL,
    password_hash TEXT NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    last_login_at TIMESTAMPTZ
);

CREATE TABLE sessions (
    token_hash BYTEA PRIMARY KEY,
    user_id    BIGINT REFERENCES users (id) ON DELETE CASCADE,
    data       BYTEA NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE login_throttle (
    key      TEXT PRIMARY KEY COLLATE "C",
    failures INTEGER NOT NULL,
    last_at  TIMESTAMPTZ NOT NULL
);

CREATE TABLE projects (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       TEXT NOT NULL COLLATE "C" UNIQUE,
    created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE environments (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id BIGINT NOT NULL REFERENCES projects (id),
    name       TEXT NOT NULL COLLATE "C",
    namespace  TEXT NOT NULL COLLATE "C" UNIQUE,
    settings   JSON NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    UNIQUE (project_id, name)
);

CREATE TABLE secrets (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment_id BIGINT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    name           TEXT NOT NULL COLLATE "C",
    version        INTEGER NOT NULL,
    sealed         BYTEA NOT NULL,
    updated_by     TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    updated_at     TIMESTAMPTZ NOT NULL,
    UNIQUE (environment_id, name)
);

CREATE TABLE driver_bundles (
    digest  TEXT PRIMARY KEY COLLATE "C",
    content BYTEA NOT NULL
);

CREATE TABLE drivers (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      TEXT NOT NULL COLLATE "C",
    version   TEXT NOT NULL COLLATE "C",
    digest    TEXT NOT NULL COLLATE "C" UNIQUE REFERENCES driver_bundles (digest),
    spec      JSON NOT NULL,
    source    TEXT NOT NULL,
    size      BIGINT NOT NULL,
    loaded_by TEXT NOT NULL,
    loaded_at TIMESTAMPTZ NOT NULL,
    warnings  JSON NOT NULL,
    UNIQUE (name, version)
);

CREATE TABLE applications (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment_id BIGINT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    name           TEXT NOT NULL COLLATE "C",
    kind           TEXT NOT NULL,
    revision       BIGINT NOT NULL,
    applied        BIGINT NOT NULL,
    app_version    TEXT NOT NULL,
    driver_name    TEXT NOT NULL COLLATE "C",
    driver_version TEXT NOT NULL COLLATE "C",
    state          TEXT NOT NULL CHECK (state IN ('accepted', 'changing', 'running', 'failed', 'deleting', 'deleted')),
    message        TEXT NOT NULL,
    last_change    BIGINT NOT NULL,
    deleting       BOOLEAN NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    updated_at     TIMESTAMPTZ NOT NULL,
    deleted_at     TIMESTAMPTZ,
    CHECK ((state = 'deleted') = (deleted_at IS NOT NULL))
);
CREATE UNIQUE INDEX applications_name ON applications (environment_id, name) WHERE deleted_at IS NULL;
CREATE INDEX applications_environment ON applications (environment_id);

CREATE TABLE revisions (
    application_id BIGINT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    number         BIGINT NOT NULL,
    spec           JSON NOT NULL,
    source         TEXT NOT NULL,
    driver_digest  TEXT NOT NULL COLLATE "C",
    created_by     TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (application_id, number)
);
CREATE INDEX revisions_driver ON revisions (driver_digest);

CREATE TABLE component_states (
    application_id  BIGINT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    component       TEXT NOT NULL COLLATE "C",
    stopped         BOOLEAN NOT NULL,
    stopped_by_task BIGINT,
    stopped_at      TIMESTAMPTZ,
    PRIMARY KEY (application_id, component)
);

CREATE TABLE changes (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    application_id BIGINT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    number         BIGINT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('install', 'upgrade', 'configure', 'delete')),
    revision       BIGINT NOT NULL,
    from_revision  BIGINT NOT NULL,
    task_id        BIGINT,
    overtake       BOOLEAN NOT NULL,
    context        JSON,
    requested_by   TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    UNIQUE (application_id, number)
);

CREATE TABLE tasks (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind           TEXT NOT NULL,
    title          TEXT NOT NULL,
    application_id BIGINT REFERENCES applications (id) ON DELETE CASCADE,
    change_id      BIGINT REFERENCES changes (id) ON DELETE CASCADE,
    root_id        BIGINT REFERENCES tasks (id) ON DELETE CASCADE,
    parent_step_id BIGINT,
    args           JSON,
    state          TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    epoch          BIGINT NOT NULL,
    holder         TEXT NOT NULL,
    cancelled_by   TEXT NOT NULL,
    requested_by   TEXT NOT NULL,
    error          TEXT NOT NULL,
    hint           TEXT NOT NULL,
    result         JSON,
    created_at     TIMESTAMPTZ NOT NULL,
    started_at     TIMESTAMPTZ,
    ended_at       TIMESTAMPTZ,
    CHECK ((state IN ('queued', 'running')) = (ended_at IS NULL))
);
CREATE INDEX tasks_application ON tasks (application_id, id);
CREATE INDEX tasks_change ON tasks (change_id);
CREATE INDEX changes_task ON changes (task_id);
CREATE INDEX tasks_root ON tasks (root_id);
CREATE INDEX tasks_parent ON tasks (parent_step_id) WHERE parent_step_id IS NOT NULL;
CREATE INDEX tasks_open ON tasks (id) WHERE ended_at IS NULL;
ALTER TABLE changes ADD FOREIGN KEY (task_id) REFERENCES tasks (id) ON DELETE SET NULL;

CREATE TABLE tokens (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash         BYTEA NOT NULL UNIQUE,
    user_id      BIGINT NOT NULL REFERENCES users (id),
    name         TEXT NOT NULL,
    hint         TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('read-only', 'read-write', 'administrator')),
    project      TEXT NOT NULL COLLATE "C",
    environment  TEXT NOT NULL COLLATE "C",
    task_id      BIGINT REFERENCES tasks (id) ON DELETE CASCADE,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ,
    last_used_at TIMESTAMPTZ,
    revoked_at   TIMESTAMPTZ
);
CREATE INDEX tokens_user ON tokens (user_id);
CREATE INDEX tokens_task ON tokens (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE steps (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id    BIGINT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    key        TEXT NOT NULL COLLATE "C",
    name       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('running', 'succeeded', 'failed', 'cancelled')),
    error      TEXT NOT NULL,
    output     TEXT NOT NULL,
    output_cut BOOLEAN NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ,
    UNIQUE (task_id, seq),
    CHECK ((state = 'running') = (ended_at IS NULL))
);
CREATE UNIQUE INDEX steps_key ON steps (task_id, key) WHERE state IN ('running', 'succeeded');

CREATE TABLE step_notes (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    step_id BIGINT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    text    TEXT NOT NULL,
    at      TIMESTAMPTZ NOT NULL
);
CREATE INDEX step_notes_step ON step_notes (step_id);

CREATE TABLE action_runs (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    step_id     BIGINT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    action      TEXT NOT NULL,
    key         TEXT NOT NULL COLLATE "C" UNIQUE,
    flow_run_id TEXT NOT NULL COLLATE "C",
    host        TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    pid_start   BIGINT NOT NULL,
    state       TEXT NOT NULL,
    started_at  TIMESTAMPTZ NOT NULL,
    ended_at    TIMESTAMPTZ
);
CREATE INDEX action_runs_step ON action_runs (step_id);
CREATE UNIQUE INDEX action_runs_flow_run ON action_runs (flow_run_id) WHERE flow_run_id <> '';
CREATE INDEX action_runs_open ON action_runs (id) WHERE ended_at IS NULL;

CREATE TABLE action_calls (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id     BIGINT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    step_id     BIGINT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    flow_run_id TEXT NOT NULL COLLATE "C",
    key         TEXT NOT NULL COLLATE "C" UNIQUE,
    primitive   TEXT NOT NULL,
    args        JSON,
    child_task  BIGINT REFERENCES tasks (id) ON DELETE SET NULL,
    state       TEXT NOT NULL CHECK (state IN ('running', 'succeeded', 'failed')),
    result      JSON,
    code        TEXT NOT NULL,
    error       TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    ended_at    TIMESTAMPTZ,
    CHECK ((state = 'running') = (ended_at IS NULL))
);
CREATE INDEX action_calls_step ON action_calls (step_id);
CREATE INDEX action_calls_task ON action_calls (task_id);
CREATE INDEX action_calls_child ON action_calls (child_task);
CREATE INDEX action_calls_open ON action_calls (id) WHERE ended_at IS NULL;

CREATE TABLE audit (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         TIMESTAMPTZ NOT NULL,
    user_name  TEXT NOT NULL COLLATE "C",
    token_id   BIGINT NOT NULL,
    remote     TEXT NOT NULL,
    request_id TEXT NOT NULL,
    action     TEXT NOT NULL COLLATE "C",
    noun       TEXT NOT NULL COLLATE "C",
    noun_id    BIGINT NOT NULL,
    noun_name  TEXT NOT NULL COLLATE "C",
    before     JSON,
    after      JSON
);
CREATE INDEX audit_noun ON audit (noun, noun_id, id);
CREATE INDEX audit_user ON audit (user_name, id);

CREATE TABLE idempotency (
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key        TEXT NOT NULL COLLATE "C",
    input_hash TEXT NOT NULL,
    answer     JSON NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE events (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          TIMESTAMPTZ NOT NULL,
    kind        TEXT NOT NULL,
    noun        TEXT NOT NULL,
    noun_id     BIGINT NOT NULL,
    project     TEXT NOT NULL,
    environment TEXT NOT NULL
);
CREATE INDEX events_age ON events (at);
