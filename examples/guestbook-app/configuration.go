package main

import (
	"fmt"
	"log/slog"
	"net/mail"
	"net/url"
	"os"
	"time"
)

// configuration is everything the environment says. Each field names its variable, and
// an unset variable has the value given in brackets.
type configuration struct {
	StoreURL string // STORE_URL [http://localhost:8081]: where the store is
	Password string // DATABASE_PASSWORD: the store's; empty means that it asks for none
	// DATABASE_URL, when set, takes the place of both: http://:password@host:port

	AdminEmail string     // ADMIN_EMAIL: whom the page names for questions
	Greeting   string     // GREETING [Welcome]: the page's first word
	LogLevel   slog.Level // LOG_LEVEL [info]: debug, info, warn or error

	WebURL       string        // WEB_URL [http://localhost:8080]: what check looks at
	CheckTimeout time.Duration // CHECK_TIMEOUT [30s]: how long check waits for each thing

	WebListen    string // WEB_LISTEN [:8080]
	StoreListen  string // STORE_LISTEN [:8081]
	WorkerListen string // WORKER_LISTEN [:8082]: the worker's health
	StoreFile    string // STORE_FILE [/data/guestbook.json]: where the store keeps the book

	WorkerInterval time.Duration // WORKER_INTERVAL [500ms]: how often the worker looks for work
	WorkerName     string        // WORKER_NAME [the host's name]
	MigrateDelay   time.Duration // MIGRATE_DELAY [200ms]: a rest after each part of the work, so that it can be watched
	BackupName     string        // BACKUP_NAME [made from the time]: the same name twice makes one backup
}

func readConfiguration(env func(string) string) (configuration, error) {
	or := func(name, otherwise string) string {
		if value := env(name); value != "" {
			return value
		}
		return otherwise
	}
	c := configuration{
		StoreURL: or("STORE_URL", "http://localhost:8081"), Password: env("DATABASE_PASSWORD"),
		AdminEmail: env("ADMIN_EMAIL"), Greeting: or("GREETING", "Welcome"),
		WebURL:    or("WEB_URL", "http://localhost:8080"),
		WebListen: or("WEB_LISTEN", ":8080"), StoreListen: or("STORE_LISTEN", ":8081"), WorkerListen: or("WORKER_LISTEN", ":8082"),
		StoreFile: or("STORE_FILE", "/data/guestbook.json"), BackupName: env("BACKUP_NAME"),
	}
	if given := env("DATABASE_URL"); given != "" {
		parsed, err := url.Parse(given)
		if err != nil {
			// The error itself would print the password.
			return c, fmt.Errorf("%w: DATABASE_URL is not a URL", errUsage)
		}
		c.Password, _ = parsed.User.Password()
		parsed.User = nil
		c.StoreURL = parsed.String()
	}
	if err := c.LogLevel.UnmarshalText([]byte(or("LOG_LEVEL", "info"))); err != nil {
		return c, fmt.Errorf("%w: LOG_LEVEL is %q; it may be debug, info, warn or error", errUsage, env("LOG_LEVEL"))
	}
	if c.AdminEmail != "" {
		if _, err := mail.ParseAddress(c.AdminEmail); err != nil {
			return c, fmt.Errorf("%w: ADMIN_EMAIL is %q, which is no e-mail address", errUsage, c.AdminEmail)
		}
	}
	for name, wanted := range map[string]struct {
		value     *time.Duration
		otherwise string
	}{
		"CHECK_TIMEOUT":   {&c.CheckTimeout, "30s"},
		"WORKER_INTERVAL": {&c.WorkerInterval, "500ms"},
		"MIGRATE_DELAY":   {&c.MigrateDelay, "200ms"},
	} {
		duration, err := time.ParseDuration(or(name, wanted.otherwise))
		if err != nil || duration < 0 {
			return c, fmt.Errorf("%w: %s is %q; write it like 500ms or 30s", errUsage, name, env(name))
		}
		*wanted.value = duration
	}
	host, err := os.Hostname()
	if err != nil {
		return c, fmt.Errorf("asking for the host's name: %w", err)
	}
	c.WorkerName = or("WORKER_NAME", host)
	return c, nil
}
