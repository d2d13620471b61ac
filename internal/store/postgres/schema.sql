-- What the migrations make: ours, goose's and River's. Written by: go test ./internal/store/postgres -update

CREATE TYPE public.river_job_state AS ENUM (
    'available',
    'cancelled',
    'completed',
    'discarded',
    'pending',
    'retryable',
    'running',
    'scheduled'
);

CREATE FUNCTION public.river_job_state_in_bitmask(bitmask bit, state public.river_job_state) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE state
        WHEN 'available' THEN get_bit(bitmask, 7)
        WHEN 'cancelled' THEN get_bit(bitmask, 6)
        WHEN 'completed' THEN get_bit(bitmask, 5)
        WHEN 'discarded' THEN get_bit(bitmask, 4)
        WHEN 'pending'   THEN get_bit(bitmask, 3)
        WHEN 'retryable' THEN get_bit(bitmask, 2)
        WHEN 'running'   THEN get_bit(bitmask, 1)
        WHEN 'scheduled' THEN get_bit(bitmask, 0)
        ELSE 0
    END = 1;
$$;

CREATE TABLE public.action_calls (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    step_id bigint NOT NULL,
    flow_run_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    primitive text NOT NULL,
    args json,
    child_task bigint,
    state text NOT NULL,
    result json,
    code text NOT NULL,
    error text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT action_calls_check CHECK (((state = 'running'::text) = (ended_at IS NULL))),
    CONSTRAINT action_calls_state_check CHECK ((state = ANY (ARRAY['running'::text, 'succeeded'::text, 'failed'::text])))
);

ALTER TABLE public.action_calls ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.action_calls_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.action_runs (
    id bigint NOT NULL,
    step_id bigint NOT NULL,
    action text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    flow_run_id text NOT NULL COLLATE pg_catalog."C",
    host text NOT NULL,
    pid integer NOT NULL,
    pid_start bigint NOT NULL,
    state text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);

ALTER TABLE public.action_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.action_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.app_creations (
    connection_id bigint NOT NULL,
    environment_id bigint NOT NULL,
    secret text NOT NULL,
    organization text NOT NULL,
    state_hash bytea NOT NULL,
    session text NOT NULL,
    user_id bigint NOT NULL,
    begun_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    asked_at timestamp with time zone,
    lost boolean NOT NULL,
    why text NOT NULL
);

CREATE TABLE public.applications (
    id bigint NOT NULL,
    environment_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    revision bigint NOT NULL,
    applied bigint NOT NULL,
    app_version text NOT NULL,
    driver_name text NOT NULL COLLATE pg_catalog."C",
    driver_version text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL,
    message text NOT NULL,
    last_change bigint NOT NULL,
    deleting boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT applications_check CHECK (((state = 'deleted'::text) = (deleted_at IS NOT NULL))),
    CONSTRAINT applications_state_check CHECK ((state = ANY (ARRAY['accepted'::text, 'changing'::text, 'running'::text, 'failed'::text, 'deleting'::text, 'deleted'::text])))
);

ALTER TABLE public.applications ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.applications_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.audit (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    user_name text NOT NULL COLLATE pg_catalog."C",
    token_id bigint NOT NULL,
    remote text NOT NULL,
    request_id text NOT NULL,
    action text NOT NULL COLLATE pg_catalog."C",
    noun text NOT NULL COLLATE pg_catalog."C",
    noun_id bigint NOT NULL,
    noun_name text NOT NULL COLLATE pg_catalog."C",
    before json,
    after json
);

ALTER TABLE public.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.backup_locations (
    id bigint NOT NULL,
    environment_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    config json NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT backup_locations_kind_check CHECK ((kind = ANY (ARRAY['s3'::text, 'volume'::text])))
);

ALTER TABLE public.backup_locations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.backup_locations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.backup_schedules (
    application_id bigint NOT NULL,
    schedule text NOT NULL,
    time_zone text NOT NULL,
    next_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone
);

CREATE TABLE public.backups (
    id bigint NOT NULL,
    application_id bigint NOT NULL,
    location_id bigint NOT NULL,
    path text NOT NULL,
    app_version text NOT NULL,
    driver_name text NOT NULL,
    driver_version text NOT NULL,
    driver_digest text NOT NULL,
    revision bigint NOT NULL,
    state text NOT NULL,
    cause text NOT NULL,
    task_id bigint,
    size bigint NOT NULL,
    files json NOT NULL,
    context json,
    error text NOT NULL,
    requested_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    taken_at timestamp with time zone,
    expires_at timestamp with time zone,
    CONSTRAINT backups_cause_check CHECK ((cause = ANY (ARRAY['asked'::text, 'schedule'::text, 'upgrade'::text]))),
    CONSTRAINT backups_check CHECK (((state <> 'complete'::text) OR (taken_at IS NOT NULL))),
    CONSTRAINT backups_state_check CHECK ((state = ANY (ARRAY['taking'::text, 'complete'::text, 'failed'::text, 'deleting'::text, 'deleted'::text])))
);

ALTER TABLE public.backups ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.backups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.changes (
    id bigint NOT NULL,
    application_id bigint NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL,
    revision bigint NOT NULL,
    from_revision bigint NOT NULL,
    task_id bigint,
    overtake boolean NOT NULL,
    context json,
    requested_by text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE public.changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.cluster_view (
    id integer NOT NULL,
    runtime_class boolean NOT NULL,
    looked_at timestamp with time zone,
    missed text NOT NULL,
    nodes json NOT NULL,
    CONSTRAINT cluster_view_id_check CHECK ((id = 1))
);

CREATE TABLE public.component_states (
    application_id bigint NOT NULL,
    component text NOT NULL COLLATE pg_catalog."C",
    stopped boolean NOT NULL,
    stopped_by_task bigint,
    stopped_at timestamp with time zone
);

CREATE TABLE public.connections (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    environment_id bigint,
    forge text NOT NULL,
    base_url text NOT NULL,
    hook text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    app_id bigint NOT NULL,
    app_sealed bytea,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_delivery timestamp with time zone,
    recovered_at timestamp with time zone,
    recover_error text NOT NULL,
    app_url text DEFAULT ''::text NOT NULL,
    app_credential text DEFAULT ''::text NOT NULL
);

ALTER TABLE public.connections ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.connections_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.deliveries (
    connection_id bigint NOT NULL,
    guid text NOT NULL COLLATE pg_catalog."C",
    event text NOT NULL,
    action text NOT NULL,
    outcome text NOT NULL,
    why text NOT NULL,
    job_id bigint NOT NULL,
    size bigint NOT NULL,
    received_at timestamp with time zone NOT NULL
);

CREATE TABLE public.drift (
    application_id bigint NOT NULL,
    revision bigint NOT NULL,
    looked_at timestamp with time zone NOT NULL,
    checked_at timestamp with time zone,
    missed text NOT NULL,
    found json NOT NULL,
    suspected json NOT NULL,
    unable json NOT NULL,
    since timestamp with time zone
);

CREATE TABLE public.driver_bundles (
    digest text NOT NULL COLLATE pg_catalog."C",
    content bytea NOT NULL
);

CREATE TABLE public.drivers (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    spec json NOT NULL,
    source text NOT NULL,
    size bigint NOT NULL,
    loaded_by text NOT NULL,
    loaded_at timestamp with time zone NOT NULL,
    warnings json NOT NULL
);

ALTER TABLE public.drivers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.drivers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.environments (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    settings json NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE public.environments ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.environments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.events (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    noun text NOT NULL,
    noun_id bigint NOT NULL,
    project text NOT NULL,
    environment text NOT NULL
);

ALTER TABLE public.events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.forge_jobs (
    host text NOT NULL COLLATE pg_catalog."C",
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    attempt integer NOT NULL,
    owner text NOT NULL,
    owner_key text NOT NULL COLLATE pg_catalog."C",
    repository text NOT NULL,
    repository_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL,
    branch text NOT NULL,
    url text NOT NULL,
    labels json NOT NULL,
    state text NOT NULL,
    rank integer NOT NULL,
    runner text NOT NULL COLLATE pg_catalog."C",
    runner_id bigint NOT NULL,
    conclusion text NOT NULL,
    queued_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    seen_at timestamp with time zone NOT NULL
);

CREATE TABLE public.goose_db_version (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.goose_db_version ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.goose_db_version_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.idempotency (
    user_id bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    input_hash text NOT NULL,
    answer json NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.installation (
    singleton integer NOT NULL,
    id text NOT NULL,
    external_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    setup_done boolean NOT NULL,
    CONSTRAINT installation_singleton_check CHECK ((singleton = 1))
);

CREATE TABLE public.job_scopes (
    host text NOT NULL COLLATE pg_catalog."C",
    job_id bigint NOT NULL,
    environment_id bigint NOT NULL,
    rank integer NOT NULL,
    runner text DEFAULT ''::text NOT NULL
);

CREATE TABLE public.leases (
    name text NOT NULL,
    holder text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.login_throttle (
    key text NOT NULL COLLATE pg_catalog."C",
    failures integer NOT NULL,
    last_at timestamp with time zone NOT NULL
);

CREATE TABLE public.pool_activity (
    pool_id bigint NOT NULL,
    last_job_event timestamp with time zone NOT NULL
);

CREATE TABLE public.pool_status (
    pool_id bigint NOT NULL,
    state text NOT NULL,
    why text NOT NULL,
    demand integer NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    failures integer NOT NULL,
    hold_until timestamp with time zone,
    hold_why text NOT NULL,
    group_id bigint NOT NULL,
    listed_at timestamp with time zone,
    list_error text NOT NULL,
    version text NOT NULL,
    warning text NOT NULL,
    newest text NOT NULL,
    newest_at timestamp with time zone,
    outdated text NOT NULL,
    generation bigint NOT NULL,
    credential bigint NOT NULL,
    failed_at timestamp with time zone,
    ledger json NOT NULL
);

CREATE TABLE public.projects (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE public.projects ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.replicas (
    id text NOT NULL,
    host text NOT NULL,
    role text NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL
);

CREATE TABLE public.restores (
    task_id bigint NOT NULL,
    backup_id bigint NOT NULL,
    application_id bigint NOT NULL,
    context json
);

CREATE TABLE public.revisions (
    application_id bigint NOT NULL,
    number bigint NOT NULL,
    spec json NOT NULL,
    source text NOT NULL,
    driver_digest text NOT NULL COLLATE pg_catalog."C",
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.river_job (
    id bigint NOT NULL,
    state public.river_job_state DEFAULT 'available'::public.river_job_state NOT NULL,
    attempt smallint DEFAULT 0 NOT NULL,
    max_attempts smallint DEFAULT 25 NOT NULL,
    attempted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finalized_at timestamp with time zone,
    scheduled_at timestamp with time zone DEFAULT now() NOT NULL,
    priority smallint DEFAULT 1 NOT NULL,
    args jsonb NOT NULL,
    attempted_by text[],
    errors jsonb[],
    kind text NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    queue text DEFAULT 'default'::text NOT NULL,
    tags character varying(255)[] DEFAULT '{}'::character varying[] NOT NULL,
    unique_key bytea,
    unique_states bit(8),
    CONSTRAINT finalized_or_finalized_at_null CHECK ((((finalized_at IS NULL) AND (state <> ALL (ARRAY['cancelled'::public.river_job_state, 'completed'::public.river_job_state, 'discarded'::public.river_job_state]))) OR ((finalized_at IS NOT NULL) AND (state = ANY (ARRAY['cancelled'::public.river_job_state, 'completed'::public.river_job_state, 'discarded'::public.river_job_state]))))),
    CONSTRAINT kind_length CHECK (((char_length(kind) > 0) AND (char_length(kind) < 128))),
    CONSTRAINT max_attempts_is_positive CHECK ((max_attempts > 0)),
    CONSTRAINT priority_in_range CHECK (((priority >= 1) AND (priority <= 4))),
    CONSTRAINT queue_length CHECK (((char_length(queue) > 0) AND (char_length(queue) < 128)))
);

CREATE SEQUENCE public.river_job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.river_job_id_seq OWNED BY public.river_job.id;

CREATE UNLOGGED TABLE public.river_leader (
    elected_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    leader_id text NOT NULL,
    name text DEFAULT 'default'::text NOT NULL,
    CONSTRAINT leader_id_length CHECK (((char_length(leader_id) > 0) AND (char_length(leader_id) < 128))),
    CONSTRAINT name_length CHECK ((name = 'default'::text))
);

CREATE TABLE public.river_migration (
    line text NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT line_length CHECK (((char_length(line) > 0) AND (char_length(line) < 128))),
    CONSTRAINT version_gte_1 CHECK ((version >= 1))
);

CREATE TABLE public.river_notification (
    id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    payload text NOT NULL,
    topic text NOT NULL,
    CONSTRAINT topic_length CHECK (((length(topic) > 0) AND (length(topic) < 128)))
);

CREATE SEQUENCE public.river_notification_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.river_notification_id_seq OWNED BY public.river_notification.id;

CREATE TABLE public.river_queue (
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    paused_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);

CREATE TABLE public.runner_pools (
    id bigint NOT NULL,
    application_id bigint NOT NULL,
    service text NOT NULL COLLATE pg_catalog."C",
    host text NOT NULL COLLATE pg_catalog."C",
    owner_key text NOT NULL COLLATE pg_catalog."C",
    spec json NOT NULL,
    generation bigint NOT NULL,
    paused boolean NOT NULL,
    deleting boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE public.runner_pools ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.runner_pools_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.runner_slots (
    id bigint NOT NULL,
    pool_id bigint NOT NULL,
    generation bigint NOT NULL,
    scope json NOT NULL,
    credential text NOT NULL,
    runner text NOT NULL COLLATE pg_catalog."C",
    runner_id bigint NOT NULL,
    state text NOT NULL,
    since timestamp with time zone NOT NULL,
    job bigint NOT NULL,
    reason text NOT NULL,
    failure text NOT NULL,
    failures integer NOT NULL,
    retry_at timestamp with time zone,
    pod text NOT NULL,
    node text NOT NULL,
    seen text NOT NULL,
    image text NOT NULL,
    version text NOT NULL,
    result text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    registered_at timestamp with time zone,
    started_at timestamp with time zone,
    online_at timestamp with time zone,
    busy_at timestamp with time zone,
    ended_at timestamp with time zone,
    closed_at timestamp with time zone
);

ALTER TABLE public.runner_slots ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.runner_slots_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.secrets (
    id bigint NOT NULL,
    environment_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    sealed bytea NOT NULL,
    updated_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE public.secrets ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.secrets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.sessions (
    token_hash bytea NOT NULL,
    user_id bigint,
    data bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.step_notes (
    id bigint NOT NULL,
    step_id bigint NOT NULL,
    text text NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE public.step_notes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.step_notes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.steps (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    seq integer NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    state text NOT NULL,
    error text NOT NULL,
    output text NOT NULL,
    output_cut boolean NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT steps_check CHECK (((state = 'running'::text) = (ended_at IS NULL))),
    CONSTRAINT steps_state_check CHECK ((state = ANY (ARRAY['running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
);

ALTER TABLE public.steps ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.steps_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.tasks (
    id bigint NOT NULL,
    kind text NOT NULL,
    title text NOT NULL,
    application_id bigint,
    change_id bigint,
    root_id bigint,
    parent_step_id bigint,
    args json,
    state text NOT NULL,
    epoch bigint NOT NULL,
    holder text NOT NULL,
    cancelled_by text NOT NULL,
    requested_by text NOT NULL,
    error text NOT NULL,
    hint text NOT NULL,
    result json,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    retry_of bigint,
    attempt bigint DEFAULT 1 NOT NULL,
    resume json,
    CONSTRAINT tasks_attempt_check CHECK ((attempt >= 1)),
    CONSTRAINT tasks_check CHECK (((state = ANY (ARRAY['queued'::text, 'running'::text])) = (ended_at IS NULL))),
    CONSTRAINT tasks_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
);

ALTER TABLE public.tasks ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.tokens (
    id bigint NOT NULL,
    hash bytea NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    hint text NOT NULL,
    role text NOT NULL,
    project text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL COLLATE pg_catalog."C",
    task_id bigint,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT tokens_role_check CHECK ((role = ANY (ARRAY['read-only'::text, 'read-write'::text, 'administrator'::text])))
);

ALTER TABLE public.tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.users (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    name_key text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL,
    active boolean NOT NULL,
    built_in boolean NOT NULL,
    password_hash text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_login_at timestamp with time zone,
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['read-only'::text, 'read-write'::text, 'administrator'::text])))
);

ALTER TABLE public.users ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.wakeups (
    noun text NOT NULL COLLATE pg_catalog."C",
    noun_id bigint NOT NULL,
    generation bigint NOT NULL,
    job_id bigint,
    next_at timestamp with time zone,
    queue text NOT NULL,
    priority integer NOT NULL,
    failures integer NOT NULL
);

ALTER TABLE ONLY public.river_job ALTER COLUMN id SET DEFAULT nextval('public.river_job_id_seq'::regclass);

ALTER TABLE ONLY public.river_notification ALTER COLUMN id SET DEFAULT nextval('public.river_notification_id_seq'::regclass);

ALTER TABLE ONLY public.action_calls
    ADD CONSTRAINT action_calls_key_key UNIQUE (key);

ALTER TABLE ONLY public.action_calls
    ADD CONSTRAINT action_calls_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.action_runs
    ADD CONSTRAINT action_runs_key_key UNIQUE (key);

ALTER TABLE ONLY public.action_runs
    ADD CONSTRAINT action_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.app_creations
    ADD CONSTRAINT app_creations_pkey PRIMARY KEY (connection_id);

ALTER TABLE ONLY public.applications
    ADD CONSTRAINT applications_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.backup_locations
    ADD CONSTRAINT backup_locations_environment_id_name_key UNIQUE (environment_id, name);

ALTER TABLE ONLY public.backup_locations
    ADD CONSTRAINT backup_locations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.backup_schedules
    ADD CONSTRAINT backup_schedules_pkey PRIMARY KEY (application_id);

ALTER TABLE ONLY public.backups
    ADD CONSTRAINT backups_path_key UNIQUE (path);

ALTER TABLE ONLY public.backups
    ADD CONSTRAINT backups_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_application_id_number_key UNIQUE (application_id, number);

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.cluster_view
    ADD CONSTRAINT cluster_view_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.component_states
    ADD CONSTRAINT component_states_pkey PRIMARY KEY (application_id, component);

ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_hook_key UNIQUE (hook);

ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_name_key UNIQUE (name);

ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (connection_id, guid);

ALTER TABLE ONLY public.drift
    ADD CONSTRAINT drift_pkey PRIMARY KEY (application_id);

ALTER TABLE ONLY public.driver_bundles
    ADD CONSTRAINT driver_bundles_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.drivers
    ADD CONSTRAINT drivers_digest_key UNIQUE (digest);

ALTER TABLE ONLY public.drivers
    ADD CONSTRAINT drivers_name_version_key UNIQUE (name, version);

ALTER TABLE ONLY public.drivers
    ADD CONSTRAINT drivers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_namespace_key UNIQUE (namespace);

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_project_id_name_key UNIQUE (project_id, name);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.forge_jobs
    ADD CONSTRAINT forge_jobs_pkey PRIMARY KEY (host, id);

ALTER TABLE ONLY public.goose_db_version
    ADD CONSTRAINT goose_db_version_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (user_id, key);

ALTER TABLE ONLY public.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY public.job_scopes
    ADD CONSTRAINT job_scopes_pkey PRIMARY KEY (host, job_id, environment_id);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.login_throttle
    ADD CONSTRAINT login_throttle_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.pool_activity
    ADD CONSTRAINT pool_activity_pkey PRIMARY KEY (pool_id);

ALTER TABLE ONLY public.pool_status
    ADD CONSTRAINT pool_status_pkey PRIMARY KEY (pool_id);

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_name_key UNIQUE (name);

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.replicas
    ADD CONSTRAINT replicas_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.restores
    ADD CONSTRAINT restores_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY public.revisions
    ADD CONSTRAINT revisions_pkey PRIMARY KEY (application_id, number);

ALTER TABLE ONLY public.river_job
    ADD CONSTRAINT river_job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.river_leader
    ADD CONSTRAINT river_leader_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.river_migration
    ADD CONSTRAINT river_migration_pkey1 PRIMARY KEY (line, version);

ALTER TABLE ONLY public.river_notification
    ADD CONSTRAINT river_notification_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.river_queue
    ADD CONSTRAINT river_queue_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.runner_pools
    ADD CONSTRAINT runner_pools_application_id_service_key UNIQUE (application_id, service);

ALTER TABLE ONLY public.runner_pools
    ADD CONSTRAINT runner_pools_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.runner_slots
    ADD CONSTRAINT runner_slots_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.runner_slots
    ADD CONSTRAINT runner_slots_runner_key UNIQUE (runner);

ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_environment_id_name_key UNIQUE (environment_id, name);

ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token_hash);

ALTER TABLE ONLY public.step_notes
    ADD CONSTRAINT step_notes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.steps
    ADD CONSTRAINT steps_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.steps
    ADD CONSTRAINT steps_task_id_seq_key UNIQUE (task_id, seq);

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_hash_key UNIQUE (hash);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_name_key_key UNIQUE (name_key);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.wakeups
    ADD CONSTRAINT wakeups_pkey PRIMARY KEY (noun, noun_id);

CREATE INDEX action_calls_child ON public.action_calls USING btree (child_task);

CREATE INDEX action_calls_open ON public.action_calls USING btree (id) WHERE (ended_at IS NULL);

CREATE INDEX action_calls_step ON public.action_calls USING btree (step_id);

CREATE INDEX action_calls_task ON public.action_calls USING btree (task_id);

CREATE UNIQUE INDEX action_runs_flow_run ON public.action_runs USING btree (flow_run_id) WHERE (flow_run_id <> ''::text);

CREATE INDEX action_runs_open ON public.action_runs USING btree (id) WHERE (ended_at IS NULL);

CREATE INDEX action_runs_step ON public.action_runs USING btree (step_id);

CREATE INDEX applications_environment ON public.applications USING btree (environment_id);

CREATE UNIQUE INDEX applications_name ON public.applications USING btree (environment_id, name) WHERE (deleted_at IS NULL);

CREATE INDEX audit_noun ON public.audit USING btree (noun, noun_id, id);

CREATE INDEX audit_user ON public.audit USING btree (user_name, id);

CREATE INDEX backups_application ON public.backups USING btree (application_id, id);

CREATE INDEX backups_location ON public.backups USING btree (location_id);

CREATE INDEX backups_task ON public.backups USING btree (task_id);

CREATE INDEX changes_task ON public.changes USING btree (task_id);

CREATE INDEX deliveries_received ON public.deliveries USING btree (received_at);

CREATE INDEX drift_looked ON public.drift USING btree (looked_at);

CREATE INDEX drift_since ON public.drift USING btree (since) WHERE (since IS NOT NULL);

CREATE INDEX events_age ON public.events USING btree (at);

CREATE INDEX forge_jobs_open ON public.forge_jobs USING btree (host, owner_key, state) WHERE (state <> 'completed'::text);

CREATE INDEX forge_jobs_run ON public.forge_jobs USING btree (host, run_id);

CREATE INDEX forge_jobs_seen ON public.forge_jobs USING btree (seen_at);

CREATE INDEX idempotency_age ON public.idempotency USING btree (created_at);

CREATE INDEX job_scopes_queued ON public.job_scopes USING btree (host, job_id) WHERE (rank = 2);

CREATE INDEX job_scopes_runner ON public.job_scopes USING btree (runner) WHERE (runner <> ''::text);

CREATE INDEX restores_application ON public.restores USING btree (application_id);

CREATE INDEX restores_backup ON public.restores USING btree (backup_id);

CREATE INDEX revisions_driver ON public.revisions USING btree (driver_digest);

CREATE INDEX river_job_args_index ON public.river_job USING gin (args);

CREATE INDEX river_job_kind ON public.river_job USING btree (kind);

CREATE INDEX river_job_metadata_index ON public.river_job USING gin (metadata);

CREATE INDEX river_job_prioritized_fetching_index ON public.river_job USING btree (state, queue, priority, scheduled_at, id);

CREATE INDEX river_job_state_and_finalized_at_index ON public.river_job USING btree (state, finalized_at) WHERE (finalized_at IS NOT NULL);

CREATE UNIQUE INDEX river_job_unique_idx ON public.river_job USING btree (unique_key) WHERE ((unique_key IS NOT NULL) AND (unique_states IS NOT NULL) AND public.river_job_state_in_bitmask(unique_states, state));

CREATE INDEX river_notification_created_at_idx ON public.river_notification USING btree (created_at);

CREATE INDEX river_notification_topic_id_idx ON public.river_notification USING btree (topic, id);

CREATE INDEX runner_pools_owner ON public.runner_pools USING btree (host, owner_key);

CREATE INDEX runner_slots_closed ON public.runner_slots USING btree (closed_at) WHERE (closed_at IS NOT NULL);

CREATE INDEX runner_slots_open ON public.runner_slots USING btree (pool_id) WHERE (closed_at IS NULL);

CREATE INDEX runner_slots_pool ON public.runner_slots USING btree (pool_id, id);

CREATE INDEX sessions_expiry ON public.sessions USING btree (expires_at);

CREATE INDEX sessions_user ON public.sessions USING btree (user_id);

CREATE INDEX step_notes_step ON public.step_notes USING btree (step_id);

CREATE UNIQUE INDEX steps_key ON public.steps USING btree (task_id, key) WHERE (state = ANY (ARRAY['running'::text, 'succeeded'::text]));

CREATE INDEX tasks_application ON public.tasks USING btree (application_id, id);

CREATE INDEX tasks_change ON public.tasks USING btree (change_id);

CREATE INDEX tasks_open ON public.tasks USING btree (id) WHERE (ended_at IS NULL);

CREATE INDEX tasks_parent ON public.tasks USING btree (parent_step_id) WHERE (parent_step_id IS NOT NULL);

CREATE UNIQUE INDEX tasks_retry ON public.tasks USING btree (retry_of) WHERE (retry_of IS NOT NULL);

CREATE INDEX tasks_root ON public.tasks USING btree (root_id);

CREATE INDEX tokens_task ON public.tokens USING btree (task_id) WHERE (task_id IS NOT NULL);

CREATE INDEX tokens_user ON public.tokens USING btree (user_id);

CREATE INDEX wakeups_due ON public.wakeups USING btree (next_at) WHERE (next_at IS NOT NULL);

ALTER TABLE ONLY public.action_calls
    ADD CONSTRAINT action_calls_child_task_fkey FOREIGN KEY (child_task) REFERENCES public.tasks(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.action_calls
    ADD CONSTRAINT action_calls_step_id_fkey FOREIGN KEY (step_id) REFERENCES public.steps(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.action_calls
    ADD CONSTRAINT action_calls_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.action_runs
    ADD CONSTRAINT action_runs_step_id_fkey FOREIGN KEY (step_id) REFERENCES public.steps(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.app_creations
    ADD CONSTRAINT app_creations_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES public.connections(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.app_creations
    ADD CONSTRAINT app_creations_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES public.environments(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.applications
    ADD CONSTRAINT applications_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES public.environments(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.backup_locations
    ADD CONSTRAINT backup_locations_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES public.environments(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.backup_schedules
    ADD CONSTRAINT backup_schedules_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.backups
    ADD CONSTRAINT backups_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.backups
    ADD CONSTRAINT backups_location_id_fkey FOREIGN KEY (location_id) REFERENCES public.backup_locations(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.backups
    ADD CONSTRAINT backups_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.component_states
    ADD CONSTRAINT component_states_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES public.environments(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES public.connections(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.drift
    ADD CONSTRAINT drift_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.drivers
    ADD CONSTRAINT drivers_digest_fkey FOREIGN KEY (digest) REFERENCES public.driver_bundles(digest);

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_scopes
    ADD CONSTRAINT job_scopes_host_job_id_fkey FOREIGN KEY (host, job_id) REFERENCES public.forge_jobs(host, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pool_activity
    ADD CONSTRAINT pool_activity_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES public.runner_pools(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pool_status
    ADD CONSTRAINT pool_status_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES public.runner_pools(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.restores
    ADD CONSTRAINT restores_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.restores
    ADD CONSTRAINT restores_backup_id_fkey FOREIGN KEY (backup_id) REFERENCES public.backups(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.restores
    ADD CONSTRAINT restores_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.revisions
    ADD CONSTRAINT revisions_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runner_pools
    ADD CONSTRAINT runner_pools_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runner_slots
    ADD CONSTRAINT runner_slots_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES public.runner_pools(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES public.environments(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.step_notes
    ADD CONSTRAINT step_notes_step_id_fkey FOREIGN KEY (step_id) REFERENCES public.steps(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.steps
    ADD CONSTRAINT steps_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_change_id_fkey FOREIGN KEY (change_id) REFERENCES public.changes(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_retry_of_fkey FOREIGN KEY (retry_of) REFERENCES public.tasks(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_root_id_fkey FOREIGN KEY (root_id) REFERENCES public.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
