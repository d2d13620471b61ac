package cli

import (
	"context"
	"io"
	"strings"

	"slipway.dev/slipway/internal/author"
	"slipway.dev/slipway/internal/config"
)

// Process is what a command line runs in. Nothing else of the operating system's process
// is looked at, so that a test can stand in its place.
type Process struct {
	Args    []string // without the program's name
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string // NAME=value
	Version string
	Commands
}

// Commands are the parts that are no clients of the API. A nil one is answered with an
// error that says so.
type Commands struct {
	// Server runs the server until ctx ends. It writes what people should read to out.
	Server func(ctx context.Context, c config.Config, out io.Writer) error
	// PythonInstall makes the virtual environment of actions and says what it does on out.
	PythonInstall func(ctx context.Context, c config.Config, out io.Writer) error
	// FindPython returns the environment that PythonInstall made.
	FindPython func(ctx context.Context, c config.Config) (author.Python, error)
	// Mover does the order that stands in the environment, inside a Job of a backup.
	Mover func(ctx context.Context, getenv func(string) string) error
}

// Run carries out one command line and returns its exit code.
func Run(ctx context.Context, p Process) int {
	s := &session{Process: p}
	root := s.root()
	root.SetArgs(p.Args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	return s.exit(ctx, root.ExecuteContext(ctx))
}

// session is one command line being carried out: the process and the global flags.
type session struct {
	Process
	context string // --context
	server  string // --server
	caFile  string // --ca-file
	format  string // -o
}

// getenv returns the value of a variable, or "".
func (s *session) getenv(name string) string {
	for i := len(s.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(s.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}
