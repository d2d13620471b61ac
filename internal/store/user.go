package store

import (
	"context"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// nameKey is the form in which two names of users are the same.
func nameKey(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

const userColumns = `id, name, role, active, built_in, password_hash <> '', created_at, last_login_at`

func readUser(scan scan) (u slipway.User, err error) {
	return u, scan(&u.ID, &u.Name, &u.Role, &u.Active, &u.BuiltIn, &u.HasPassword, at(&u.CreatedAt), at(&u.LastLoginAt))
}

// CreateUser adds a user. An empty passwordHash means that nobody can sign in as it. A
// name taken in any mix of cases is a Conflict.
func (tx *Tx) CreateUser(ctx context.Context, u slipway.User, passwordHash string) (slipway.User, error) {
	u.CreatedAt, u.HasPassword = tx.Now, passwordHash != ""
	id, err := tx.insert(ctx, `INSERT INTO users (name, name_key, role, active, built_in, password_hash, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		u.Name, nameKey(u.Name), u.Role, u.Active, u.BuiltIn, passwordHash, u.CreatedAt)
	if err != nil {
		return u, fmt.Errorf("create user %s: %w", u.Name, orExists(err, "there is a user %s already", u.Name))
	}
	u.ID = id
	return u, nil
}

func (tx *Tx) User(ctx context.Context, id int64) (slipway.User, error) {
	return one(ctx, tx, fmt.Sprintf("user %d", id), readUser, `SELECT `+userColumns+` FROM users WHERE id = ?`, id)
}

// UserByName finds a user by its name in any mix of cases.
func (tx *Tx) UserByName(ctx context.Context, name string) (slipway.User, error) {
	return one(ctx, tx, "user "+name, readUser, `SELECT `+userColumns+` FROM users WHERE name_key = ?`, nameKey(name))
}

// UserPasswordHash returns "" for a user that has none.
func (tx *Tx) UserPasswordHash(ctx context.Context, id int64) (string, error) {
	return one(ctx, tx, fmt.Sprintf("user %d", id), func(scan scan) (h string, err error) {
		return h, scan(&h)
	}, `SELECT password_hash FROM users WHERE id = ?`, id)
}

// Users lists the users by name.
func (tx *Tx) Users(ctx context.Context, p Page) (List[slipway.User], error) {
	after, _, err := p.after(1)
	if err != nil {
		return List[slipway.User]{}, err
	}
	rows, err := all(ctx, tx, readUser, `SELECT `+userColumns+` FROM users WHERE name_key > ? ORDER BY name_key LIMIT ?`,
		after[0], p.more())
	if err != nil {
		return List[slipway.User]{}, fmt.Errorf("list users: %w", err)
	}
	return list(p, rows, func(u slipway.User) []string { return []string{nameKey(u.Name)} }), nil
}

func (tx *Tx) SetUserRole(ctx context.Context, id int64, role slipway.Role) error {
	return tx.setUser(ctx, id, `UPDATE users SET role = ? WHERE id = ?`, role, id)
}

func (tx *Tx) SetUserActive(ctx context.Context, id int64, active bool) error {
	return tx.setUser(ctx, id, `UPDATE users SET active = ? WHERE id = ?`, active, id)
}

func (tx *Tx) SetUserPassword(ctx context.Context, id int64, passwordHash string) error {
	return tx.setUser(ctx, id, `UPDATE users SET password_hash = ? WHERE id = ?`, passwordHash, id)
}

// TouchLogin records that the user signed in now.
func (tx *Tx) TouchLogin(ctx context.Context, id int64) error {
	return tx.setUser(ctx, id, `UPDATE users SET last_login_at = ? WHERE id = ?`, tx.Now, id)
}

func (tx *Tx) setUser(ctx context.Context, id int64, query string, args ...any) error {
	n, err := tx.exec(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("change user %d: %w", id, err)
	}
	if n == 0 {
		return slipway.Errorf(slipway.NotFound, "there is no user %d", id)
	}
	return nil
}

// CountActiveAdministrators counts them and, where several processes write, keeps others
// from changing them until the transaction ends: the last one must not go while a second
// transaction removes the one before.
func (tx *Tx) CountActiveAdministrators(ctx context.Context) (int, error) {
	ids, err := all(ctx, tx, func(scan scan) (id int64, err error) { return id, scan(&id) },
		`SELECT id FROM users WHERE role = ? AND active = ? ORDER BY id`+tx.forUpdate(), slipway.Administrator, true)
	if err != nil {
		return 0, fmt.Errorf("count the administrators: %w", err)
	}
	return len(ids), nil
}
