-- +goose Up
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

-- Apart from the pool, because every delivery of a job moves it.
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
CREATE INDEX runner_slots_open ON runner_slots (pool_id) WHERE closed_at IS NULL;
CREATE INDEX runner_slots_pool ON runner_slots (pool_id, id);
CREATE INDEX runner_slots_closed ON runner_slots (closed_at) WHERE closed_at IS NOT NULL;

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
CREATE INDEX forge_jobs_runner ON forge_jobs (runner) WHERE runner <> '';
CREATE INDEX forge_jobs_run ON forge_jobs (host, run_id);
CREATE INDEX forge_jobs_seen ON forge_jobs (seen_at);

-- Through which connections a job was heard of: where it may be demand. 0: everywhere.
-- Rank is how far it has come by what was heard there: what is sent to the connection of
-- one environment takes no job away from another.
CREATE TABLE job_scopes (
    host           TEXT NOT NULL,
    job_id         INTEGER NOT NULL,
    environment_id INTEGER NOT NULL,
    rank           INTEGER NOT NULL,
    PRIMARY KEY (host, job_id, environment_id),
    FOREIGN KEY (host, job_id) REFERENCES forge_jobs (host, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX job_scopes_queued ON job_scopes (host, job_id) WHERE rank = 2;

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
) STRICT;

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

CREATE TABLE cluster_view (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    runtime_class INTEGER NOT NULL CHECK (runtime_class IN (0, 1)),
    looked_at     TEXT,
    missed        TEXT NOT NULL,
    nodes         TEXT NOT NULL CHECK (json_valid(nodes))
) STRICT;
