-- +goose Up
-- A retry is a task of its own that takes over what the attempts before it have done.
ALTER TABLE tasks ADD COLUMN retry_of BIGINT REFERENCES tasks (id) ON DELETE SET NULL;
ALTER TABLE tasks ADD COLUMN attempt BIGINT NOT NULL DEFAULT 1 CHECK (attempt >= 1);
ALTER TABLE tasks ADD COLUMN resume JSON;
CREATE UNIQUE INDEX tasks_retry ON tasks (retry_of) WHERE retry_of IS NOT NULL;
