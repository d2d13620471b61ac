package node

import (
	"context"
	"errors"
	"fmt"

	"slipway.dev/slipway/test/cluster/prepare"
)

// Health is the state of one part.
type Health struct {
	Part  string
	PID   int
	Log   string
	Error error // nil when it runs as it should
}

// Status asks every part for its health, and then the node.
func (c Cluster) Status(ctx context.Context) ([]Health, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	owned, err := c.owned()
	if err != nil {
		return nil, err
	}
	if !owned {
		return nil, fmt.Errorf("no cluster is up in %s; start it with: test/cluster/cluster.sh up", c.Dir)
	}
	if err := prepare.CheckMachine(); err != nil {
		return nil, err
	}
	var all []Health
	for _, each := range c.parts(binaries{}) {
		record, alive, err := c.keeper().Find(each.name)
		if err != nil {
			return nil, err
		}
		health := Health{Part: each.name, PID: record.PID, Log: c.keeper().Log(each.name)}
		if alive {
			health.Error = each.healthy(ctx)
		} else {
			health.Error = errors.New("it does not run")
		}
		all = append(all, health)
	}
	return append(all, Health{Part: "node", Error: c.nodeReady(ctx)}), nil
}
