-- +goose Up
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

-- Which kinds of changes there are is the program's to know. The list in the table could
-- not grow with it: SQLite changes no constraint in place, and to make the table anew would
-- take the tasks that refer to it along.
ALTER TABLE changes ADD COLUMN of_kind TEXT NOT NULL DEFAULT '';
UPDATE changes SET of_kind = kind;
ALTER TABLE changes DROP COLUMN kind;
ALTER TABLE changes RENAME COLUMN of_kind TO kind;
