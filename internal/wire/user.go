package wire

import "time"

// User is a person, or the built-in user of actions.
type User struct {
	Name        string     `json:"name"`
	Role        string     `json:"role" enum:"read-only,read-write,administrator"`
	Active      bool       `json:"active"`
	BuiltIn     bool       `json:"built_in,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	LastLoginAt *time.Time `json:"last_login_at,omitempty"`
}

// NewUser asks for a user.
type NewUser struct {
	Name     string `json:"name" minLength:"1" maxLength:"64"`
	Role     string `json:"role" enum:"read-only,read-write,administrator"`
	Password string `json:"password" minLength:"1" maxLength:"1000" writeOnly:"true"`
}

// UserChange changes what it names and leaves the rest.
type UserChange struct {
	Role            *string `json:"role,omitempty" enum:"read-only,read-write,administrator"`
	Active          *bool   `json:"active,omitempty"`
	Password        *string `json:"password,omitempty" minLength:"1" maxLength:"1000" writeOnly:"true"`
	CurrentPassword string  `json:"current_password,omitempty" maxLength:"1000" writeOnly:"true" doc:"Needed to change one's own password."`
}

// Token is what is recorded of an API token. Its value is not.
type Token struct {
	ID          int64      `json:"id"`
	User        string     `json:"user"`
	Name        string     `json:"name"`
	Hint        string     `json:"hint" example:"slw_Ab3x…" doc:"The first characters, to recognise it by."`
	Role        string     `json:"role" enum:"read-only,read-write,administrator"`
	Project     string     `json:"project,omitempty"`
	Environment string     `json:"environment,omitempty"`
	TaskID      int64      `json:"task_id,omitempty" doc:"The task whose actions it belongs to."`
	CreatedAt   time.Time  `json:"created_at"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty" doc:"Absent: does not expire."`
	LastUsedAt  *time.Time `json:"last_used_at,omitempty" doc:"Absent: never; kept to the minute."`
	RevokedAt   *time.Time `json:"revoked_at,omitempty" doc:"Absent: still valid."`
}

// NewToken asks for a token of the caller, or, by an administrator, of another user.
type NewToken struct {
	User        string `json:"user,omitempty" maxLength:"64" doc:"Absent: the caller."`
	Name        string `json:"name" minLength:"1" maxLength:"64"`
	Role        string `json:"role,omitempty" enum:"read-only,read-write,administrator" doc:"At most the user's own, which it is when absent."`
	Project     string `json:"project,omitempty" maxLength:"40"`
	Environment string `json:"environment,omitempty" maxLength:"40" doc:"Needs a project."`
	ExpiresIn   int64  `json:"expires_in,omitempty" minimum:"60" doc:"Seconds; absent: does not expire."`
}

// TokenValue is a new token. Value is shown this once.
type TokenValue struct {
	Value string `json:"value" doc:"It is not shown again."`
	Info  Token  `json:"info"`
}
