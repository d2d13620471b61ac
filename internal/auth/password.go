package auth

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"slipway.dev/slipway/internal/slipway"
)

// Limits of a password. The longest is far beyond what people type; it keeps a request
// from having us hash megabytes.
const (
	MinPassword = 12   // characters
	MaxPassword = 1024 // bytes
)

// params cost about a tenth of a second and 19 MiB per hash: OWASP's first choice.
var params = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// hashWait is how long a sign-in may wait for its turn to hash.
const hashWait = 10 * time.Second

// hasher hashes passwords, a few at a time: each hash takes memory and a core on purpose,
// and many sign-ins at once must not take them from everything else.
type hasher struct {
	slots chan struct{}
	decoy string // a hash of no one's password, to spend the same time on
}

func newHasher() (*hasher, error) {
	decoy, err := argon2id.CreateHash(random62(32), params)
	if err != nil {
		return nil, fmt.Errorf("hash a password: %w", err)
	}
	return &hasher{slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))), decoy: decoy}, nil
}

func (h *hasher) turn(ctx context.Context) (release func(), err error) {
	wait, cancel := context.WithTimeout(ctx, hashWait)
	defer cancel()
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots }, nil
	case <-wait.Done():
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &slipway.Error{Kind: slipway.Throttled, Msg: "too many people sign in at this moment",
			Hint: "try again in a few seconds", RetryAfter: hashWait}
	}
}

// HashPassword checks the rules for a new password and returns its hash.
func (c Credentials) HashPassword(ctx context.Context, password string) (string, error) {
	if err := checkNewPassword(password); err != nil {
		return "", err
	}
	release, err := c.hasher.turn(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	hash, err := argon2id.CreateHash(password, params)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return hash, nil
}

// CheckPassword reports whether password is the one of hash. An empty hash matches
// nothing, and takes as long.
func (c Credentials) CheckPassword(ctx context.Context, password, hash string) (bool, error) {
	release, err := c.hasher.turn(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	// The comparison itself takes the same time wherever the first difference is.
	if hash == "" || len(password) > MaxPassword {
		_, err := argon2id.ComparePasswordAndHash("", c.hasher.decoy)
		return false, err
	}
	ok, err := argon2id.ComparePasswordAndHash(password, hash)
	if err != nil {
		return false, fmt.Errorf("check a password: %w", err)
	}
	return ok, nil
}

// outdated reports whether a hash was made with other costs than today's.
func outdated(hash string) bool {
	p, _, _, err := argon2id.DecodeHash(hash)
	return err == nil && *p != *params
}

func checkNewPassword(password string) error {
	refuse := func(msg, hint string) error {
		return &slipway.Error{Kind: slipway.Invalid, Msg: msg, Hint: hint,
			Fields: []slipway.FieldError{{Path: "password", Msg: msg, Hint: hint}}}
	}
	switch {
	case !utf8.ValidString(password):
		return refuse("the password is not valid text", "use a text in UTF-8")
	case utf8.RuneCountInString(password) < MinPassword:
		return refuse(fmt.Sprintf("the password is shorter than %d characters", MinPassword), "several words make a good one")
	case len(password) > MaxPassword:
		return refuse(fmt.Sprintf("the password is longer than %d bytes", MaxPassword), "shorten it")
	case strings.TrimSpace(password) == "":
		return refuse("the password is blank", "several words make a good one")
	}
	return nil
}
