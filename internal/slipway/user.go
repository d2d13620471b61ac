package slipway

import (
	"strings"
	"time"
)

// Role says what a user or a token may do. Each role may do what the one before it may.
type Role string

const (
	ReadOnly      Role = "read-only"
	ReadWrite     Role = "read-write"
	Administrator Role = "administrator"
)

var roleRank = map[Role]int{ReadOnly: 1, ReadWrite: 2, Administrator: 3}

// Roles lists the roles, weakest first.
func Roles() []Role { return []Role{ReadOnly, ReadWrite, Administrator} }

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return roleRank[r] > 0 }

// Allows reports whether a bearer of role r may do what needs need.
func (r Role) Allows(need Role) bool { return roleRank[r] > 0 && roleRank[r] >= roleRank[need] }

// Min returns the weaker of the two roles: what a token may do is the least of its own
// role and its user's.
func (r Role) Min(o Role) Role {
	if roleRank[o] < roleRank[r] {
		return o
	}
	return r
}

// ActionsUser is the built-in user in whose name actions call the API. It has no password
// and gets none; only a reconciliation makes tokens for it.
const ActionsUser = "slipway-actions"

// reservedUsers cannot be taken by people: the built-in user, also under its older name.
var reservedUsers = map[string]bool{ActionsUser: true, "styrmin-actions": true}

// ReservedUser reports whether name is kept for a built-in user, in any mix of cases.
func ReservedUser(name string) bool { return reservedUsers[strings.ToLower(strings.TrimSpace(name))] }

// User is a person, or the built-in user of actions.
type User struct {
	ID          int64
	Name        string
	Role        Role
	Active      bool
	BuiltIn     bool
	HasPassword bool // the hash itself never leaves package store and auth
	CreatedAt   time.Time
	LastLoginAt time.Time // zero when never
}

// Token lets a program act as its user. Its value is shown once and stored as a hash.
type Token struct {
	ID          int64
	UserID      int64
	UserName    string
	Name        string
	Hint        string // the first characters, to recognise it by: slw_Ab3x…
	Role        Role   // never more than its user's role counts
	Project     string // when set, the token sees this project only
	Environment string // when set, together with Project
	TaskID      int64  // when set, the token belongs to the actions of this task
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: does not expire
	LastUsedAt  time.Time // zero: never; written at most once a minute
	RevokedAt   time.Time // zero: still valid
}

// Caller is who asks: what authentication made of a request. The zero Caller is nobody.
type Caller struct {
	UserID      int64
	UserName    string
	Role        Role // what counts: the least of the user's and the token's
	TokenID     int64
	SessionID   string
	TaskID      int64  // set for a token of actions
	Project     string // set when confined to a project
	Environment string
	Remote      string // address, for the audit
	RequestID   string
}

// System is the caller of what Slipway does by itself.
func System() Caller { return Caller{UserName: "slipway", Role: Administrator} }

// Sees reports whether the caller's scope covers an environment.
func (c Caller) Sees(project, environment string) bool {
	return (c.Project == "" || c.Project == project) && (c.Environment == "" || c.Environment == environment)
}
