package slipway

import "time"

// AppCreation is a GitHub App that is being made for a connection. It is begun here,
// carried out by a person in a browser at GitHub, and finished here: the code that GitHub
// gives is exchanged, once, for the App's key.
//
//	begun ──a code comes──▶ asked ──the key is stored──▶ gone: the connection has the App
//	  ▲                       │
//	  └──no, or no answer─────┘ the code may be given again until it expires
type AppCreation struct {
	ConnectionID  int64
	EnvironmentID int64 // where the App's credential is saved
	Project       string
	Environment   string
	Secret        string // under which name
	Organization  string // whose App it is to be; empty: it was given as a code alone
	StateHash     []byte // of what GitHub brings back, so that nobody else's App comes in
	Session       string // of the browser that began it; empty: none did
	UserID        int64
	BegunAt       time.Time
	ExpiresAt     time.Time
	AskedAt       time.Time // the code is being exchanged since then; zero: it is not
	Lost          bool      // an exchange had no answer: the App may be there
	Why           string    // what the last exchange was refused with; empty: it was not
}
