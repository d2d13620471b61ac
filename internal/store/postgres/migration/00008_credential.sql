-- +goose Up
-- The secret that holds the credential of a connection's App: project/environment/name. The
-- name may be another than was asked for.
ALTER TABLE connections ADD COLUMN app_credential TEXT NOT NULL DEFAULT '';
