// Command cluster starts and stops the test cluster, and brings images into it.
//
// It is called by cluster.sh, which installs what the machine lacks and compiles this
// program. Every subcommand may be repeated, and is bounded by a time-out. Nothing here
// decides anything about the cluster; that is package node's.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"slipway.dev/slipway/test/cluster/node"
)

// command is one subcommand.
type command struct {
	name, arguments, help string
	run                   func(ctx context.Context, cluster node.Cluster, arguments []string) error
}

var commands = []command{
	{"up", "", "start the cluster, or what of it does not run", up},
	{"down", "", "stop it, and leave nothing behind", down},
	{"status", "", "say how each part is; the exit code is 1 unless all are well", status},
	{"load-image", "FILE.tar...", "make the images of tarballs usable by pods", loadImage},
	{"build-image", "[flags] PROGRAM", "make an image of a static program, and load it", buildImage},
	{"build-guestbook", "", "compile the guestbook's versions, and load their images", buildGuestbook},
	{"build-runner", "", "make the images that stand in for GitHub's runner and its Docker, and load them", buildRunner},
	{"build-postgres", "", "make an image of the machine's PostgreSQL, and load it", buildPostgres},
}

func main() {
	// The first interruption ends the work in an orderly way; up goes on where it was.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, arguments []string, out, problems io.Writer) int {
	if len(arguments) == 0 || slices.Contains([]string{"help", "-h", "--help"}, arguments[0]) {
		usage(out)
		return 0
	}
	cluster := node.Cluster{
		Dir:    node.DefaultDir(),
		Source: os.Getenv("SLIPWAY_CLUSTER_SOURCE"),
		Report: func(format string, arguments ...any) { fmt.Fprintf(out, format+"\n", arguments...) },
	}
	for _, each := range commands {
		if each.name != arguments[0] {
			continue
		}
		if err := each.run(ctx, cluster, arguments[1:]); err != nil {
			fmt.Fprintf(problems, "cluster %s: %v\n", each.name, err)
			return 1
		}
		return 0
	}
	fmt.Fprintf(problems, "cluster: there is no command %q\n", arguments[0])
	usage(problems)
	return 2
}

func usage(out io.Writer) {
	fmt.Fprintln(out, "cluster runs a real one-node Kubernetes for tests.\n\nusage: cluster COMMAND")
	for _, each := range commands {
		fmt.Fprintf(out, "  %-36s %s\n", each.name+" "+each.arguments, each.help)
	}
	fmt.Fprintf(out, `
environment:
  SLIPWAY_CLUSTER_DIR            where the cluster keeps everything (%s)
  SLIPWAY_CACHE                  where compiled programs are kept (the user's cache, slipway)
  SLIPWAY_CLUSTER_OUTSIDE_NAMES  yes: pods can ask for names outside the cluster (no)
  SLIPWAY_CLUSTER_SOURCE         the folder test/cluster; cluster.sh sets it
`, node.DefaultDir())
}
