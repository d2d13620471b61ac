-- +goose Up
CREATE TABLE runner_pools (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    application_id BIGINT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    service        TEXT NOT NULL COLLATE "C",
    host           TEXT NOT NULL COLLATE "C",
    owner_key      TEXT NOT NULL COLLATE "C",
    spec           JSON NOT NULL,
    generation     BIGINT NOT NULL,
    paused         BOOLEAN NOT NULL,
    deleting       BOOLEAN NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    updated_at     TIMESTAMPTZ NOT NULL,
    UNIQUE (application_id, service)
);
CREATE INDEX runner_pools_owner ON runner_pools (host, owner_key);

-- Apart from the pool, because every delivery of a job moves it.
CREATE TABLE pool_activity (
    pool_id        BIGINT PRIMARY KEY REFERENCES runner_pools (id) ON DELETE CASCADE,
    last_job_event TIMESTAMPTZ NOT NULL
);

CREATE TABLE pool_status (
    pool_id    BIGINT PRIMARY KEY REFERENCES runner_pools (id) ON DELETE CASCADE,
    state      TEXT NOT NULL,
    why        TEXT NOT NULL,
    demand     INT NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    failures   INT NOT NULL,
    hold_until TIMESTAMPTZ,
    hold_why   TEXT NOT NULL,
    group_id   BIGINT NOT NULL,
    listed_at  TIMESTAMPTZ,
    list_error TEXT NOT NULL,
    version    TEXT NOT NULL,
    warning    TEXT NOT NULL,
    newest     TEXT NOT NULL,
    newest_at  TIMESTAMPTZ,
    outdated   TEXT NOT NULL,
    generation BIGINT NOT NULL,
    credential BIGINT NOT NULL,
    failed_at  TIMESTAMPTZ,
    ledger     JSON NOT NULL
);

CREATE TABLE runner_slots (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool_id       BIGINT NOT NULL REFERENCES runner_pools (id) ON DELETE CASCADE,
    generation    BIGINT NOT NULL,
    scope         JSON NOT NULL,
    credential    TEXT NOT NULL,
    runner        TEXT NOT NULL COLLATE "C" UNIQUE,
    runner_id     BIGINT NOT NULL,
    state         TEXT NOT NULL,
    since         TIMESTAMPTZ NOT NULL,
    job           BIGINT NOT NULL,
    reason        TEXT NOT NULL,
    failure       TEXT NOT NULL,
    failures      INT NOT NULL,
    retry_at      TIMESTAMPTZ,
    pod           TEXT NOT NULL,
    node          TEXT NOT NULL,
    seen          TEXT NOT NULL,
    image         TEXT NOT NULL,
    version       TEXT NOT NULL,
    result        TEXT NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    registered_at TIMESTAMPTZ,
    started_at    TIMESTAMPTZ,
    online_at     TIMESTAMPTZ,
    busy_at       TIMESTAMPTZ,
    ended_at      TIMESTAMPTZ,
    closed_at     TIMESTAMPTZ
);
CREATE INDEX runner_slots_open ON runner_slots (pool_id) WHERE closed_at IS NULL;
CREATE INDEX runner_slots_pool ON runner_slots (pool_id, id);
CREATE INDEX runner_slots_closed ON runner_slots (closed_at) WHERE closed_at IS NOT NULL;

CREATE TABLE forge_jobs (
    host          TEXT NOT NULL COLLATE "C",
    id            BIGINT NOT NULL,
    run_id        BIGINT NOT NULL,
    attempt       INT NOT NULL,
    owner         TEXT NOT NULL,
    owner_key     TEXT NOT NULL COLLATE "C",
    repository    TEXT NOT NULL,
    repository_id BIGINT NOT NULL,
    name          TEXT NOT NULL COLLATE "C",
    workflow      TEXT NOT NULL,
    branch        TEXT NOT NULL,
    url           TEXT NOT NULL,
    labels        JSON NOT NULL,
    state         TEXT NOT NULL,
    rank          INT NOT NULL,
    runner        TEXT NOT NULL COLLATE "C",
    runner_id     BIGINT NOT NULL,
    conclusion    TEXT NOT NULL,
    queued_at     TIMESTAMPTZ,
    started_at    TIMESTAMPTZ,
    ended_at      TIMESTAMPTZ,
    seen_at       TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (host, id)
);
CREATE INDEX forge_jobs_open ON forge_jobs (host, owner_key, state) WHERE state <> 'completed';
CREATE INDEX forge_jobs_runner ON forge_jobs (runner) WHERE runner <> '';
CREATE INDEX forge_jobs_run ON forge_jobs (host, run_id);
CREATE INDEX forge_jobs_seen ON forge_jobs (seen_at);

-- Through which connections a job was heard of: where it may be demand. 0: everywhere.
-- Rank is how far it has come by what was heard there: what is sent to the connection of
-- one environment takes no job away from another.
CREATE TABLE job_scopes (
    host           TEXT NOT NULL COLLATE "C",
    job_id         BIGINT NOT NULL,
    environment_id BIGINT NOT NULL,
    rank           INTEGER NOT NULL,
    PRIMARY KEY (host, job_id, environment_id),
    FOREIGN KEY (host, job_id) REFERENCES forge_jobs (host, id) ON DELETE CASCADE
);
CREATE INDEX job_scopes_queued ON job_scopes (host, job_id) WHERE rank = 2;

CREATE TABLE connections (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name           TEXT NOT NULL COLLATE "C" UNIQUE,
    environment_id BIGINT REFERENCES environments (id) ON DELETE CASCADE,
    forge          TEXT NOT NULL,
    base_url       TEXT NOT NULL,
    hook           TEXT NOT NULL COLLATE "C" UNIQUE,
    sealed         BYTEA NOT NULL,
    app_id         BIGINT NOT NULL,
    app_sealed     BYTEA,
    created_by     TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    last_delivery  TIMESTAMPTZ,
    recovered_at   TIMESTAMPTZ,
    recover_error  TEXT NOT NULL
);

CREATE TABLE deliveries (
    connection_id BIGINT NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    guid          TEXT NOT NULL COLLATE "C",
    event         TEXT NOT NULL,
    action        TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    why           TEXT NOT NULL,
    job_id        BIGINT NOT NULL,
    size          BIGINT NOT NULL,
    received_at   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (connection_id, guid)
);
CREATE INDEX deliveries_received ON deliveries (received_at);

CREATE TABLE cluster_view (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    runtime_class BOOLEAN NOT NULL,
    looked_at     TIMESTAMPTZ,
    missed        TEXT NOT NULL,
    nodes         JSON NOT NULL
);
