package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"slipway.dev/slipway/test/cluster/prepare"
	"slipway.dev/slipway/test/cluster/process"
)

// upTimeout bounds a start, once everything is compiled.
const upTimeout = 10 * time.Minute

// Up brings the cluster to where a pod runs on it. It starts only what does not run, and
// may be called at any time, also beside another Up.
func (c Cluster) Up(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := prepare.CheckMachine(); err != nil {
		return err
	}
	built, err := c.build(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	begun := time.Now()
	started, err := c.start(ctx, built)
	if err != nil {
		return err
	}
	if !started {
		c.Report("the cluster is already up")
		return nil
	}
	c.Report("the cluster is up, after %s", seconds(begun))
	return nil
}

// start does the work of Up, and reports whether there was any.
func (c Cluster) start(ctx context.Context, built binaries) (bool, error) {
	if err := c.makeFolders(ctx); err != nil {
		return false, err
	}
	if err := c.rememberMachine(); err != nil {
		return false, err
	}
	if err := c.writeConfiguration(); err != nil {
		return false, err
	}
	made, err := ensureNetwork(ctx)
	if err != nil {
		return false, err
	}
	if err := c.linkKubectl(built); err != nil {
		return false, err
	}
	started := map[string]bool{}
	for _, each := range c.parts(built) {
		if started[each.name], err = c.ensure(ctx, each, started[each.after]); err != nil {
			return false, err
		}
		switch each.name {
		case "containerd":
			if err := c.ensureImages(ctx); err != nil {
				return false, err
			}
		case "kube-apiserver":
			if err := c.ensureObjects(ctx, built); err != nil {
				return false, err
			}
		}
		made = made || started[each.name]
	}
	begun := time.Now()
	if err := waitFor(ctx, 2*time.Minute, c.nodeReady, nil); err != nil {
		return false, fmt.Errorf("waiting for the node: %w\n%s", err, c.keeper().LogTail("kubelet", 15))
	}
	// Runner pods are only put on nodes that say they are prepared.
	if err := run(ctx, c.path("kubectl"), "--kubeconfig", c.Kubeconfig(), "label", "--overwrite", "node", NodeName, runnersLabel); err != nil {
		return false, fmt.Errorf("marking the node as prepared for runners: %w", err)
	}
	if !made {
		return false, nil
	}
	c.Report("node %s is ready, after %s", NodeName, seconds(begun))
	begun = time.Now()
	if err := c.tryPod(ctx); err != nil {
		return false, err
	}
	c.Report("a pod ran on it, after %s", seconds(begun))
	return true, nil
}

// ensure makes the part run as it should, and reports whether it had to start it. A part
// that runs with other arguments or files than today's is replaced, and so is one that
// runs and does not answer.
func (c Cluster) ensure(ctx context.Context, p part, dependencyStarted bool) (bool, error) {
	keeper := c.keeper()
	spec, err := c.spec(p)
	if err != nil {
		return false, err
	}
	record, alive, err := keeper.Find(p.name)
	if err != nil {
		return false, err
	}
	switch {
	case record.PID != 0 && !alive:
		c.Report("%s had ended; starting it again", p.name)
	case alive && dependencyStarted:
		c.Report("%s goes by %s, and is started again", p.name, p.after)
	case alive && record.Fingerprint != spec.Fingerprint:
		c.Report("%s runs with other arguments or files; starting it again", p.name)
	case alive:
		if err := waitFor(ctx, 20*time.Second, p.healthy, nil); err == nil {
			return false, nil
		}
		c.Report("%s runs but does not answer; starting it again", p.name)
	}
	if err := keeper.Stop(ctx, p.name, 10*time.Second); err != nil {
		return false, err
	}
	if err := keeper.StopUnrecorded(ctx, spec.Args, 10*time.Second); err != nil {
		return false, err
	}
	if err := portsAreFree(ctx, p.listens); err != nil {
		return false, fmt.Errorf("starting %s: %w", p.name, err)
	}
	begun := time.Now()
	started, err := keeper.Start(spec)
	if err != nil {
		return false, err
	}
	err = waitFor(ctx, p.within, p.healthy, func() error {
		if alive, err := process.Alive(started); err != nil || !alive {
			return errors.Join(err, errors.New("it ended"))
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("starting %s: %w\nthe end of %s:\n%s", p.name, err, keeper.Log(p.name), keeper.LogTail(p.name, 15))
	}
	c.Report("%s started in %s", p.name, seconds(begun))
	return true, nil
}

// portsAreFree refuses to start a part whose port somebody else has: the part would end,
// and the other might even answer in its place. One that has just ended may still hold
// it for a moment.
func portsAreFree(ctx context.Context, addresses []string) error {
	for _, address := range addresses {
		err := waitFor(ctx, 5*time.Second, func(ctx context.Context) error {
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
			if err != nil {
				return fmt.Errorf("the address %s is taken by another program: %w", address, err)
			}
			return listener.Close()
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// build compiles what must be compiled. It is not under the cluster's lock: a build
// takes minutes, and has a lock of its own.
func (c Cluster) build(ctx context.Context) (binaries, error) {
	builder, err := c.builder()
	if err != nil {
		return binaries{}, err
	}
	var built binaries
	if built.kubernetes, err = builder.Build(ctx, prepare.Kubernetes); err != nil {
		return binaries{}, err
	}
	if built.dns, err = builder.Build(ctx, prepare.DNS); err != nil {
		return binaries{}, err
	}
	if built.policy, err = builder.Build(ctx, prepare.Policy); err != nil {
		return binaries{}, err
	}
	return built, nil
}

func (c Cluster) builder() (prepare.Builder, error) {
	cache, err := prepare.CacheDir()
	if err != nil {
		return prepare.Builder{}, err
	}
	return prepare.Builder{Source: c.Source, Cache: cache, Report: c.Report}, nil
}

// lock lets one command at a time change the cluster. The file lies outside the
// cluster's folder, which Down removes, and is left behind empty: removing a lock's file
// would let two hold it.
func (c Cluster) lock(ctx context.Context) (unlock func(), err error) {
	sum := sha256.Sum256([]byte(c.Dir))
	path := filepath.Join("/run/lock", "slipway-test-cluster-"+hex.EncodeToString(sum[:4])+".lock")
	unlock, err = prepare.Lock(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("waiting for another command on this cluster: %w", err)
	}
	return unlock, nil
}

func seconds(begun time.Time) time.Duration {
	return time.Since(begun).Round(100 * time.Millisecond)
}
