// Command standin stands in for the programs of a runner pod, where no image of GitHub's
// runner can be pulled and no GitHub is reached: under the name run.sh for the runner, and
// under dockerd, docker and iptables-legacy for the Docker daemon beside it.
//
// As the runner it takes a one-job configuration as GitHub's program does, by --jitconfig
// or the environment, reports to the fake forge that the configuration names, waits for a
// job, carries its steps out and ends with 0. Steps are lines in a small language of its
// own; see steps.go.
//
// It is for tests and the demonstration. It must never speak to a real GitHub: it could
// not, for it knows only the fake's protocol. What runs with it says nothing about the
// real runner but that the pod around it gives and takes what that needs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var err error
	switch name := filepath.Base(os.Args[0]); name {
	case "dockerd":
		err = dockerd(ctx, os.Args[1:])
	case "docker":
		err = docker(ctx, os.Args[1:])
	case "iptables-legacy":
		// The stand-in's Docker has no networks, so it needs no rule.
	default:
		err = runner(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
