// Command guestbook is the sample application that Slipway's examples and tests deploy.
//
// It is small, and yet has what makes an upgrade hard: a store whose data changes shape
// from one version to the next (migrate), a worker that must not write meanwhile, and a
// web server that serves only the shape it knows. Readers sign the book on the page; the
// page puts what they write into a queue; the worker enters it into the book.
//
//	web ── queue ──▶ store ◀── worker        migrate, check, backup: run once, by a driver
//
// It stands for somebody else's program. So it knows nothing of Slipway or Kubernetes,
// is configured by its environment alone, and may use nothing but Go's standard library.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set when the program is linked. It decides what the program does; see
// releases.go.
var version = "dev"

// command is one subcommand.
type command struct {
	name, help string
	run        func(ctx context.Context, c configuration, arguments []string, out io.Writer) error
}

var commands = []command{
	{"web", "serve the page", runWeb},
	{"worker", "enter what readers wrote into the book", runWorker},
	{"store", "keep the book, in a file", runStore},
	{"migrate", "bring the store's data into this version's shape", runMigrate},
	{"check", "see that the release works, as a reader would", runCheck},
	{"backup", "have the store keep a copy of the book", runBackup},
	{"version", "print the version", func(_ context.Context, _ configuration, _ []string, out io.Writer) error {
		_, err := fmt.Fprintln(out, version)
		return err
	}},
}

// errUsage is an error of the person who called the program; it ends with code 2.
var errUsage = errors.New("wrong use")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

func run(ctx context.Context, arguments []string, env func(string) string, out, problems io.Writer) int {
	for _, each := range commands {
		if len(arguments) == 0 || each.name != arguments[0] {
			continue
		}
		c, err := readConfiguration(env)
		if err == nil {
			err = each.run(ctx, c, arguments[1:], out)
		}
		switch {
		case errors.Is(err, errUsage):
			fmt.Fprintf(problems, "guestbook %s: %v\n", each.name, err)
			return 2
		case err != nil:
			fmt.Fprintf(problems, "guestbook %s: %v\n", each.name, err)
			return 1
		}
		return 0
	}
	fmt.Fprintf(problems, "guestbook %s\nusage: guestbook COMMAND\n", version)
	for _, each := range commands {
		fmt.Fprintf(problems, "  %-9s %s\n", each.name, each.help)
	}
	return 2
}
