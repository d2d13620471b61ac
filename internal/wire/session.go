package wire

// Login exchanges a password for a personal token.
type Login struct {
	Username  string `json:"username" minLength:"1" maxLength:"64"`
	Password  string `json:"password" minLength:"1" maxLength:"1000"`
	TokenName string `json:"token_name,omitempty" maxLength:"64" doc:"How the token is listed; the name of the host that asks is a good one."`
}

// Session is the answer to a login. Token is shown this once.
type Session struct {
	Token string `json:"token" doc:"Send it as Authorization: Bearer. It is not shown again."`
	Info  Token  `json:"info" doc:"What is recorded of the token."`
}

// Whoami says who the server takes the caller for.
type Whoami struct {
	User        string `json:"user"`
	Role        string `json:"role" enum:"read-only,read-write,administrator" doc:"What counts: the least of the user's role and the token's."`
	TokenID     int64  `json:"token_id,omitempty"`
	TaskID      int64  `json:"task_id,omitempty" doc:"Set for the token of a task's actions."`
	Project     string `json:"project,omitempty" doc:"Set when the token sees this project only."`
	Environment string `json:"environment,omitempty" doc:"Set when the token sees this environment only."`
}
