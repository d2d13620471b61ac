-- +goose Up
-- The page of the GitHub App whose hook a connection is.
ALTER TABLE connections ADD COLUMN app_url TEXT NOT NULL DEFAULT '';

-- An App that is being made for a connection: begun here, carried out in a browser at
-- GitHub, and finished here with the code that GitHub gives. At most one at a time.
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
