package main

import (
	"context"
	"errors"
	"fmt"

	"slipway.dev/slipway/test/cluster/node"
)

func up(ctx context.Context, cluster node.Cluster, _ []string) error {
	if err := cluster.Up(ctx); err != nil {
		return err
	}
	// Last, and by itself, so that a script can read it.
	cluster.Report("KUBECONFIG=%s", cluster.Kubeconfig())
	return nil
}

func down(ctx context.Context, cluster node.Cluster, _ []string) error {
	return cluster.Down(ctx)
}

func status(ctx context.Context, cluster node.Cluster, _ []string) error {
	all, err := cluster.Status(ctx)
	if err != nil {
		return err
	}
	var unwell int
	for _, each := range all {
		word, who := "ok", ""
		if each.PID != 0 {
			who = fmt.Sprintf("process %d", each.PID)
		}
		if each.Error != nil {
			unwell++
			word = each.Error.Error()
			if each.Log != "" {
				word += "; see " + each.Log
			}
		}
		cluster.Report("%-24s %-16s %s", each.Part, who, word)
	}
	cluster.Report("KUBECONFIG=%s", cluster.Kubeconfig())
	if unwell > 0 {
		return errors.New("some parts are not well; start them again with: test/cluster/cluster.sh up")
	}
	return nil
}
