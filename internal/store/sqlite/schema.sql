-- What the migrations make: ours, goose's and River's. Written by: go test ./internal/store/sqlite -update

CREATE TABLE action_calls (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id     INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    step_id     INTEGER NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    flow_run_id TEXT NOT NULL,
    key         TEXT NOT NULL UNIQUE,
    primitive   TEXT NOT NULL,
    args        TEXT CHECK (args IS NULL OR json_valid(args)),
    child_task  INTEGER REFERENCES tasks (id) ON DELETE SET NULL,
    state       TEXT NOT NULL CHECK (state IN ('running', 'succeeded', 'failed')),
    result      TEXT CHECK (result IS NULL OR json_valid(result)),
    code        TEXT NOT NULL,
    error       TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    ended_at    TEXT,
    CHECK ((state = 'running') = (ended_at IS NULL))
) STRICT;

CREATE INDEX action_calls_child ON action_calls (child_task);

CREATE INDEX action_calls_open ON action_calls (id) WHERE ended_at IS NULL;

CREATE INDEX action_calls_step ON action_calls (step_id);

CREATE INDEX action_calls_task ON action_calls (task_id);

CREATE TABLE action_runs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    step_id     INTEGER NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    action      TEXT NOT NULL,
    key         TEXT NOT NULL UNIQUE,
    flow_run_id TEXT NOT NULL,
    host        TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    pid_start   INTEGER NOT NULL,
    state       TEXT NOT NULL,
    started_at  TEXT NOT NULL,
    ended_at    TEXT
) STRICT;

CREATE UNIQUE INDEX action_runs_flow_run ON action_runs (flow_run_id) WHERE flow_run_id <> '';

CREATE INDEX action_runs_open ON action_runs (id) WHERE ended_at IS NULL;

CREATE INDEX action_runs_step ON action_runs (step_id);

CREATE TABLE app_creations (
    connection_id  INTEGER PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
    environment_id INTEGER NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    secret         TEXT NOT NULL,
    organization   TEXT NOT NULL,
    state_hash     BLOB NOT NULL,
    session        TEXT NOT NULL,
    user_id        INTEGER NOT NULL,
    begun_at       TEXT NOT NULL,
    expires_at     TEXT NOT NULL,
    asked_at       TEXT,
    lost           INTEGER NOT NULL CHECK (lost IN (0, 1)),
    why            TEXT NOT NULL
) STRICT;

CREATE TABLE applications (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    environment_id INTEGER NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    kind           TEXT NOT NULL,
    revision       INTEGER NOT NULL,
    applied        INTEGER NOT NULL,
    app_version    TEXT NOT NULL,
    driver_name    TEXT NOT NULL,
    driver_version TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('accepted', 'changing', 'running', 'failed', 'deleting', 'deleted')),
    message        TEXT NOT NULL,
    last_change    INTEGER NOT NULL,
    deleting       INTEGER NOT NULL CHECK (deleting IN (0, 1)),
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    deleted_at     TEXT,
    CHECK ((state = 'deleted') = (deleted_at IS NOT NULL))
) STRICT;

CREATE INDEX applications_environment ON applications (environment_id);

CREATE UNIQUE INDEX applications_name ON applications (environment_id, name) WHERE deleted_at IS NULL;

CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         TEXT NOT NULL,
    user_name  TEXT NOT NULL,
    token_id   INTEGER NOT NULL,
    remote     TEXT NOT NULL,
    request_id TEXT NOT NULL,
    action     TEXT NOT NULL,
    noun       TEXT NOT NULL,
    noun_id    INTEGER NOT NULL,
    noun_name  TEXT NOT NULL,
    before     TEXT CHECK (before IS NULL OR json_valid(before)),
    after      TEXT CHECK (after IS NULL OR json_valid(after))
) STRICT;

CREATE INDEX audit_noun ON audit (noun, noun_id, id);

CREATE INDEX audit_user ON audit (user_name, id);

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

CREATE TABLE backup_schedules (
    application_id INTEGER PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    schedule       TEXT NOT NULL,
    time_zone      TEXT NOT NULL,
    next_at        TEXT NOT NULL,
    last_at        TEXT
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

CREATE TABLE changes (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    application_id INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    number         INTEGER NOT NULL,
    revision       INTEGER NOT NULL,
    from_revision  INTEGER NOT NULL,
    task_id        INTEGER REFERENCES tasks (id) ON DELETE SET NULL,
    overtake       INTEGER NOT NULL CHECK (overtake IN (0, 1)),
    context        TEXT CHECK (context IS NULL OR json_valid(context)),
    requested_by   TEXT NOT NULL,
    created_at     TEXT NOT NULL, kind TEXT NOT NULL DEFAULT '',
    UNIQUE (application_id, number)
) STRICT;

CREATE INDEX changes_task ON changes (task_id);

CREATE TABLE cluster_view (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    runtime_class INTEGER NOT NULL CHECK (runtime_class IN (0, 1)),
    looked_at     TEXT,
    missed        TEXT NOT NULL,
    nodes         TEXT NOT NULL CHECK (json_valid(nodes))
) STRICT;

CREATE TABLE component_states (
    application_id  INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    component       TEXT NOT NULL,
    stopped         INTEGER NOT NULL CHECK (stopped IN (0, 1)),
    stopped_by_task INTEGER,
    stopped_at      TEXT,
    PRIMARY KEY (application_id, component)
) STRICT;

CREATE TABLE connections (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    name           TEXT NOT NULL UNIQUE,
    environment_id INTEGER REFERENCES environments (id) ON DELETE CASCADE,
    forge          TEXT NOT NULL,
    base_url       TEXT NOT NULL,
    hook           TEXT NOT NULL UNIQUE,
    sealed         BLOB NOT NULL,
    app_id         INTEGER NOT NULL,
    app_sealed     BLOB,
    created_by     TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    last_delivery  TEXT,
    recovered_at   TEXT,
    recover_error  TEXT NOT NULL
, app_url TEXT NOT NULL DEFAULT '', app_credential TEXT NOT NULL DEFAULT '') STRICT;

CREATE TABLE deliveries (
    connection_id INTEGER NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    guid          TEXT NOT NULL,
    event         TEXT NOT NULL,
    action        TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    why           TEXT NOT NULL,
    job_id        INTEGER NOT NULL,
    size          INTEGER NOT NULL,
    received_at   TEXT NOT NULL,
    PRIMARY KEY (connection_id, guid)
) STRICT, WITHOUT ROWID;

CREATE INDEX deliveries_received ON deliveries (received_at);

CREATE TABLE drift (
    application_id INTEGER PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    revision       INTEGER NOT NULL,
    looked_at      TEXT NOT NULL,
    checked_at     TEXT,
    missed         TEXT NOT NULL,
    found          TEXT NOT NULL CHECK (json_valid(found)),
    suspected      TEXT NOT NULL CHECK (json_valid(suspected)),
    unable         TEXT NOT NULL CHECK (json_valid(unable)),
    since          TEXT
) STRICT;

CREATE INDEX drift_looked ON drift (looked_at);

CREATE INDEX drift_since ON drift (since) WHERE since IS NOT NULL;

CREATE TABLE driver_bundles (
    digest  TEXT PRIMARY KEY,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE drivers (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL,
    version   TEXT NOT NULL,
    digest    TEXT NOT NULL UNIQUE REFERENCES driver_bundles (digest),
    spec      TEXT NOT NULL CHECK (json_valid(spec)),
    source    TEXT NOT NULL,
    size      INTEGER NOT NULL,
    loaded_by TEXT NOT NULL,
    loaded_at TEXT NOT NULL,
    warnings  TEXT NOT NULL CHECK (json_valid(warnings)),
    UNIQUE (name, version)
) STRICT;

CREATE TABLE environments (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name       TEXT NOT NULL,
    namespace  TEXT NOT NULL UNIQUE,
    settings   TEXT NOT NULL CHECK (json_valid(settings)),
    created_at TEXT NOT NULL,
    UNIQUE (project_id, name)
) STRICT;

CREATE TABLE events (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          TEXT NOT NULL,
    kind        TEXT NOT NULL,
    noun        TEXT NOT NULL,
    noun_id     INTEGER NOT NULL,
    project     TEXT NOT NULL,
    environment TEXT NOT NULL
) STRICT;

CREATE INDEX events_age ON events (at);

CREATE TABLE forge_jobs (
    host          TEXT NOT NULL,
    id            INTEGER NOT NULL,
    run_id        INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    owner         TEXT NOT NULL,
    owner_key     TEXT NOT NULL,
    repository    TEXT NOT NULL,
    repository_id INTEGER NOT NULL,
    name          TEXT NOT NULL,
    workflow      TEXT NOT NULL,
    branch        TEXT NOT NULL,
    url           TEXT NOT NULL,
    labels        TEXT NOT NULL CHECK (json_valid(labels)),
    state         TEXT NOT NULL,
    rank          INTEGER NOT NULL,
    runner        TEXT NOT NULL,
    runner_id     INTEGER NOT NULL,
    conclusion    TEXT NOT NULL,
    queued_at     TEXT,
    started_at    TEXT,
    ended_at      TEXT,
    seen_at       TEXT NOT NULL,
    PRIMARY KEY (host, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX forge_jobs_open ON forge_jobs (host, owner_key, state) WHERE state <> 'completed';

CREATE INDEX forge_jobs_run ON forge_jobs (host, run_id);

CREATE INDEX forge_jobs_seen ON forge_jobs (seen_at);

CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);

CREATE TABLE idempotency (
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key        TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    answer     TEXT NOT NULL CHECK (json_valid(answer)),
    created_at TEXT NOT NULL,
    PRIMARY KEY (user_id, key)
) STRICT;

CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE installation (
    singleton   INTEGER PRIMARY KEY CHECK (singleton = 1),
    id          TEXT NOT NULL,
    external_id TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    setup_done  INTEGER NOT NULL CHECK (setup_done IN (0, 1))
) STRICT;

CREATE TABLE job_scopes (
    host           TEXT NOT NULL,
    job_id         INTEGER NOT NULL,
    environment_id INTEGER NOT NULL,
    rank           INTEGER NOT NULL, runner TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (host, job_id, environment_id),
    FOREIGN KEY (host, job_id) REFERENCES forge_jobs (host, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX job_scopes_queued ON job_scopes (host, job_id) WHERE rank = 2;

CREATE INDEX job_scopes_runner ON job_scopes (runner) WHERE runner <> '';

CREATE TABLE leases (
    name       TEXT PRIMARY KEY,
    holder     TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT;

CREATE TABLE login_throttle (
    key      TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    last_at  TEXT NOT NULL
) STRICT;

CREATE TABLE pool_activity (
    pool_id        INTEGER PRIMARY KEY REFERENCES runner_pools (id) ON DELETE CASCADE,
    last_job_event TEXT NOT NULL
) STRICT;

CREATE TABLE pool_status (
    pool_id    INTEGER PRIMARY KEY REFERENCES runner_pools (id) ON DELETE CASCADE,
    state      TEXT NOT NULL,
    why        TEXT NOT NULL,
    demand     INTEGER NOT NULL,
    checked_at TEXT NOT NULL,
    failures   INTEGER NOT NULL,
    hold_until TEXT,
    hold_why   TEXT NOT NULL,
    group_id   INTEGER NOT NULL,
    listed_at  TEXT,
    list_error TEXT NOT NULL,
    version    TEXT NOT NULL,
    warning    TEXT NOT NULL,
    newest     TEXT NOT NULL,
    newest_at  TEXT,
    outdated   TEXT NOT NULL,
    generation INTEGER NOT NULL,
    credential INTEGER NOT NULL,
    failed_at  TEXT,
    ledger     TEXT NOT NULL CHECK (json_valid(ledger))
) STRICT;

CREATE TABLE projects (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL
) STRICT;

CREATE TABLE replicas (
    id         TEXT PRIMARY KEY,
    host       TEXT NOT NULL,
    role       TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_at TEXT NOT NULL,
    seen_at    TEXT NOT NULL
) STRICT;

CREATE TABLE restores (
    task_id        INTEGER PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    backup_id      INTEGER NOT NULL REFERENCES backups (id) ON DELETE CASCADE,
    application_id INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    context        TEXT CHECK (context IS NULL OR json_valid(context))
) STRICT;

CREATE INDEX restores_application ON restores (application_id);

CREATE INDEX restores_backup ON restores (backup_id);

CREATE TABLE revisions (
    application_id INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    number         INTEGER NOT NULL,
    spec           TEXT NOT NULL CHECK (json_valid(spec)),
    source         TEXT NOT NULL,
    driver_digest  TEXT NOT NULL,
    created_by     TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    PRIMARY KEY (application_id, number)
) STRICT;

CREATE INDEX revisions_driver ON revisions (driver_digest);

CREATE TABLE river_job (
    id integer PRIMARY KEY AUTOINCREMENT,
    args blob NOT NULL DEFAULT (jsonb('{}')),
    attempt integer NOT NULL DEFAULT 0,
    attempted_at timestamp,
    attempted_by blob, -- json
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    errors blob, -- json
    finalized_at timestamp,
    kind text NOT NULL,
    max_attempts integer NOT NULL DEFAULT 25,
    metadata blob NOT NULL DEFAULT (jsonb('{}')),
    priority integer NOT NULL DEFAULT 1,
    queue text NOT NULL DEFAULT 'default',
    state text NOT NULL DEFAULT 'available',
    scheduled_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    tags blob NOT NULL DEFAULT (jsonb('[]')),
    unique_key blob,
    unique_states integer,
    CONSTRAINT finalized_or_finalized_at_null CHECK (
        (finalized_at IS NULL AND state NOT IN ('cancelled', 'completed', 'discarded')) OR
        (finalized_at IS NOT NULL AND state IN ('cancelled', 'completed', 'discarded'))
    ),
    CONSTRAINT priority_in_range CHECK (priority >= 1 AND priority <= 4),
    CONSTRAINT queue_length CHECK (length(queue) > 0 AND length(queue) < 128),
    CONSTRAINT kind_length CHECK (length(kind) > 0 AND length(kind) < 128),
    CONSTRAINT state_valid CHECK (state IN ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled'))
);

CREATE INDEX river_job_kind ON river_job (kind);

CREATE INDEX river_job_prioritized_fetching_index ON river_job (state, queue, priority, scheduled_at, id);

CREATE INDEX river_job_state_and_finalized_at_index ON river_job (state, finalized_at) WHERE finalized_at IS NOT NULL;

CREATE UNIQUE INDEX river_job_unique_idx ON river_job (unique_key)
    WHERE unique_key IS NOT NULL
        AND unique_states IS NOT NULL
        AND CASE state
            WHEN 'available' THEN unique_states & (1 << 0)
            WHEN 'cancelled' THEN unique_states & (1 << 1)
            WHEN 'completed' THEN unique_states & (1 << 2)
            WHEN 'discarded' THEN unique_states & (1 << 3)
            WHEN 'pending'   THEN unique_states & (1 << 4)
            WHEN 'retryable' THEN unique_states & (1 << 5)
            WHEN 'running'   THEN unique_states & (1 << 6)
            WHEN 'scheduled' THEN unique_states & (1 << 7)
            ELSE 0
        END >= 1;

CREATE TABLE river_leader (
    elected_at timestamp NOT NULL,
    expires_at timestamp NOT NULL,
    leader_id text NOT NULL,
    name text PRIMARY KEY NOT NULL DEFAULT 'default' CHECK (name = 'default'),
    CONSTRAINT name_length CHECK (length(name) > 0 AND length(name) < 128),
    CONSTRAINT leader_id_length CHECK (length(leader_id) > 0 AND length(leader_id) < 128)
);

CREATE TABLE river_migration (
    line text NOT NULL,
    version integer NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT line_length CHECK (length(line) > 0 AND length(line) < 128),
    CONSTRAINT version_gte_1 CHECK (version >= 1),
    PRIMARY KEY (line, version)
);

CREATE TABLE river_notification (
    id integer PRIMARY KEY AUTOINCREMENT,
    created_at timestamp NOT NULL DEFAULT (datetime('now', 'subsec')),
    payload text NOT NULL,
    topic text NOT NULL,
    CONSTRAINT topic_length CHECK (length(topic) > 0 AND length(topic) < 128)
);

CREATE INDEX river_notification_created_at_idx ON river_notification (created_at);

CREATE INDEX river_notification_topic_id_idx ON river_notification (topic, id);

CREATE TABLE river_queue (
    name text PRIMARY KEY NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    metadata blob NOT NULL DEFAULT (jsonb('{}')),
    paused_at timestamp,
    updated_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE runner_pools (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    application_id INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    service        TEXT NOT NULL,
    host           TEXT NOT NULL,
    owner_key      TEXT NOT NULL,
    spec           TEXT NOT NULL CHECK (json_valid(spec)),
    generation     INTEGER NOT NULL,
    paused         INTEGER NOT NULL CHECK (paused IN (0, 1)),
    deleting       INTEGER NOT NULL CHECK (deleting IN (0, 1)),
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    UNIQUE (application_id, service)
) STRICT;

CREATE INDEX runner_pools_owner ON runner_pools (host, owner_key);

CREATE TABLE runner_slots (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    pool_id       INTEGER NOT NULL REFERENCES runner_pools (id) ON DELETE CASCADE,
    generation    INTEGER NOT NULL,
    scope         TEXT NOT NULL CHECK (json_valid(scope)),
    credential    TEXT NOT NULL,
    runner        TEXT NOT NULL UNIQUE,
    runner_id     INTEGER NOT NULL,
    state         TEXT NOT NULL,
    since         TEXT NOT NULL,
    job           INTEGER NOT NULL,
    reason        TEXT NOT NULL,
    failure       TEXT NOT NULL,
    failures      INTEGER NOT NULL,
    retry_at      TEXT,
    pod           TEXT NOT NULL,
    node          TEXT NOT NULL,
    seen          TEXT NOT NULL,
    image         TEXT NOT NULL,
    version       TEXT NOT NULL,
    result        TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    registered_at TEXT,
    started_at    TEXT,
    online_at     TEXT,
    busy_at       TEXT,
    ended_at      TEXT,
    closed_at     TEXT
) STRICT;

CREATE INDEX runner_slots_closed ON runner_slots (closed_at) WHERE closed_at IS NOT NULL;

CREATE INDEX runner_slots_open ON runner_slots (pool_id) WHERE closed_at IS NULL;

CREATE INDEX runner_slots_pool ON runner_slots (pool_id, id);

CREATE TABLE secrets (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    environment_id INTEGER NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    version        INTEGER NOT NULL,
    sealed         BLOB NOT NULL,
    updated_by     TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    UNIQUE (environment_id, name)
) STRICT;

CREATE TABLE sessions (
    token_hash BLOB PRIMARY KEY,
    user_id    INTEGER REFERENCES users (id) ON DELETE CASCADE,
    data       BLOB NOT NULL,
    expires_at TEXT NOT NULL
) STRICT;

CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE step_notes (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    step_id INTEGER NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    text    TEXT NOT NULL,
    at      TEXT NOT NULL
) STRICT;

CREATE INDEX step_notes_step ON step_notes (step_id);

CREATE TABLE steps (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    key        TEXT NOT NULL,
    name       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('running', 'succeeded', 'failed', 'cancelled')),
    error      TEXT NOT NULL,
    output     TEXT NOT NULL,
    output_cut INTEGER NOT NULL CHECK (output_cut IN (0, 1)),
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    UNIQUE (task_id, seq),
    CHECK ((state = 'running') = (ended_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX steps_key ON steps (task_id, key) WHERE state IN ('running', 'succeeded');

CREATE TABLE tasks (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    kind           TEXT NOT NULL,
    title          TEXT NOT NULL,
    application_id INTEGER REFERENCES applications (id) ON DELETE CASCADE,
    change_id      INTEGER REFERENCES changes (id) ON DELETE CASCADE,
    root_id        INTEGER REFERENCES tasks (id) ON DELETE CASCADE,
    parent_step_id INTEGER,
    args           TEXT CHECK (args IS NULL OR json_valid(args)),
    state          TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    epoch          INTEGER NOT NULL,
    holder         TEXT NOT NULL,
    cancelled_by   TEXT NOT NULL,
    requested_by   TEXT NOT NULL,
    error          TEXT NOT NULL,
    hint           TEXT NOT NULL,
    result         TEXT CHECK (result IS NULL OR json_valid(result)),
    created_at     TEXT NOT NULL,
    started_at     TEXT,
    ended_at       TEXT, retry_of INTEGER REFERENCES tasks (id) ON DELETE SET NULL, attempt INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1), resume TEXT CHECK (resume IS NULL OR json_valid(resume)),
    CHECK ((state IN ('queued', 'running')) = (ended_at IS NULL))
) STRICT;

CREATE INDEX tasks_application ON tasks (application_id, id);

CREATE INDEX tasks_change ON tasks (change_id);

CREATE INDEX tasks_open ON tasks (id) WHERE ended_at IS NULL;

CREATE INDEX tasks_parent ON tasks (parent_step_id) WHERE parent_step_id IS NOT NULL;

CREATE UNIQUE INDEX tasks_retry ON tasks (retry_of) WHERE retry_of IS NOT NULL;

CREATE INDEX tasks_root ON tasks (root_id);

CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    hash         BLOB NOT NULL UNIQUE,
    user_id      INTEGER NOT NULL REFERENCES users (id),
    name         TEXT NOT NULL,
    hint         TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('read-only', 'read-write', 'administrator')),
    project      TEXT NOT NULL,
    environment  TEXT NOT NULL,
    task_id      INTEGER REFERENCES tasks (id) ON DELETE CASCADE,
    created_at   TEXT NOT NULL,
    expires_at   TEXT,
    last_used_at TEXT,
    revoked_at   TEXT
) STRICT;

CREATE INDEX tokens_task ON tokens (task_id) WHERE task_id IS NOT NULL;

CREATE INDEX tokens_user ON tokens (user_id);

CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL,
    name_key      TEXT NOT NULL UNIQUE,
    role          TEXT NOT NULL CHECK (role IN ('read-only', 'read-write', 'administrator')),
    active        INTEGER NOT NULL CHECK (active IN (0, 1)),
    built_in      INTEGER NOT NULL CHECK (built_in IN (0, 1)),
    password_hash TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    last_login_at TEXT
) STRICT;

CREATE TABLE wakeups (
    noun       TEXT NOT NULL,
    noun_id    INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    job_id     INTEGER,
    next_at    TEXT,
    queue      TEXT NOT NULL,
    priority   INTEGER NOT NULL,
    failures   INTEGER NOT NULL,
    PRIMARY KEY (noun, noun_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX wakeups_due ON wakeups (next_at) WHERE next_at IS NOT NULL;
