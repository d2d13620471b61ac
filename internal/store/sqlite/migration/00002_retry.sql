-- +goose Up
-- A retry is a task of its own that takes over what the attempts before it have done.
ALTER TABLE tasks ADD COLUMN retry_of INTEGER REFERENCES tasks (id) ON DELETE SET NULL;
ALTER TABLE tasks ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1);
ALTER TABLE tasks ADD COLUMN resume TEXT CHECK (resume IS NULL OR json_valid(resume));
CREATE UNIQUE INDEX tasks_retry ON tasks (retry_of) WHERE retry_of IS NOT NULL;
