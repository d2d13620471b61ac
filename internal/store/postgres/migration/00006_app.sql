-- +goose Up
-- The page of the GitHub App whose hook a connection is.
ALTER TABLE connections ADD COLUMN app_url TEXT NOT NULL DEFAULT '';

-- An App that is being made for a connection: begun here, carried out in a browser at
-- GitHub, and finished here with the code that GitHub gives. At most one at a time.
CREATE TABLE app_creations (
    connection_id  BIGINT PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
    environment_id BIGINT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    secret         TEXT NOT NULL,
    organization   TEXT NOT NULL,
    state_hash     BYTEA NOT NULL,
    session        TEXT NOT NULL,
    user_id        BIGINT NOT NULL,
    begun_at       TIMESTAMPTZ NOT NULL,
    expires_at     TIMESTAMPTZ NOT NULL,
    asked_at       TIMESTAMPTZ,
    lost           BOOLEAN NOT NULL,
    why            TEXT NOT NULL
);
