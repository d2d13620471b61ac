-- +goose Up
CREATE TABLE drift (
    application_id BIGINT PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    revision       BIGINT NOT NULL,
    looked_at      TIMESTAMPTZ NOT NULL,
    checked_at     TIMESTAMPTZ,
    missed         TEXT NOT NULL,
    found          JSON NOT NULL,
    suspected      JSON NOT NULL,
    unable         JSON NOT NULL,
    since          TIMESTAMPTZ
);
CREATE INDEX drift_looked ON drift (looked_at);
CREATE INDEX drift_since ON drift (since) WHERE since IS NOT NULL;

-- Which kinds of changes there are is the program's to know.
ALTER TABLE changes DROP CONSTRAINT IF EXISTS changes_kind_check;
