// Command slipway is the server, and the command line that speaks to it. What it does is
// in package cli; here is only what belongs to the process: its version, its signals and
// its exit code.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // the time zones of schedules, wherever this runs

	"slipway.dev/slipway/internal/cli"
	"slipway.dev/slipway/internal/config"
	"slipway.dev/slipway/internal/mover"
	"slipway.dev/slipway/internal/server"
)

// version is set when a release is linked.
var version string

func main() {
	// The first signal asks for a graceful end; a second one ends the process at once,
	// since the handler is gone by then.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := cli.Run(ctx, cli.Process{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Version: buildVersion(),
		Commands: cli.Commands{
			Server: func(ctx context.Context, c config.Config, out io.Writer) error {
				return server.Run(ctx, c, buildVersion(), out)
			},
			PythonInstall: server.PythonInstall,
			FindPython:    server.FindPython,
			Mover:         mover.Run,
		},
	})
	stop()
	os.Exit(code)
}

// buildVersion is the linked version, or what the Go tool knows of a build without one.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
