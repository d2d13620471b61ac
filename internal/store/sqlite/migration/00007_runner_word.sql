-- +goose Up
-- On whose runner a job is, as an environment was told: a word of one environment says
-- nothing of the runners of another.
ALTER TABLE job_scopes ADD COLUMN runner TEXT NOT NULL DEFAULT '';
UPDATE job_scopes SET runner = (SELECT j.runner FROM forge_jobs j WHERE j.host = job_scopes.host AND j.id = job_scopes.job_id)
    WHERE rank > 2;
CREATE INDEX job_scopes_runner ON job_scopes (runner) WHERE runner <> '';
-- The runner in the job itself is only shown.
DROP INDEX forge_jobs_runner;
