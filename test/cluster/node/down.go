package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// downTimeout bounds a whole stop.
const downTimeout = 5 * time.Minute

// Down ends everything the cluster started, puts the machine back as it was, and removes
// the cluster's folder. Each step is tried even when one before it failed, since what is
// left behind would be in the next cluster's way. The folder goes last, and only when
// everything else went well: it holds what a second Down needs.
func (c Cluster) Down(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("the test cluster must be stopped by root, who started it")
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	owned, err := c.owned()
	if err != nil {
		return err
	}
	if !owned {
		return c.downWithoutState(ctx)
	}
	remembered, err := c.machineBefore()
	if err != nil {
		return err
	}
	begun := time.Now()
	problems := []error{c.endPods(ctx), c.endProcesses(ctx)}
	for _, step := range []func() error{
		func() error { return unmountUnder(ctx, c.Dir) },
		func() error { return removeChains(ctx, remembered) },
		func() error { return removeBridge(ctx) },
		func() error { return c.removeOutside(remembered) },
		func() error { return restoreSettings(remembered) },
	} {
		problems = append(problems, step())
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("stopping the cluster: %w", err)
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	c.Report("the cluster is down, after %s; nothing of it is left", seconds(begun))
	return nil
}

// downWithoutState is for a cluster whose folder is gone, or that never was. Processes
// still carry its mark, and the bridge has a name that nobody else gives.
func (c Cluster) downWithoutState(ctx context.Context) error {
	killed, err := c.keeper().Sweep(ctx)
	if err != nil {
		return fmt.Errorf("stopping the cluster: %w", err)
	}
	if killed == 0 {
		c.Report("no cluster is up in %s", c.Dir)
		return nil
	}
	c.Report("ended %d processes of a cluster whose folder %s is gone", killed, c.Dir)
	return removeBridge(ctx)
}

// endPods removes every pod by way of containerd, which is started for that purpose if
// it was killed: it alone knows how to undo a pod's network.
func (c Cluster) endPods(ctx context.Context) error {
	keeper := c.keeper()
	// First the kubelet, or it would start again what is being ended.
	if err := keeper.Stop(ctx, "kubelet", 10*time.Second); err != nil {
		return err
	}
	if _, err := os.Stat(c.path("config", "containerd.toml")); os.IsNotExist(err) {
		return nil // it never came so far
	}
	for _, each := range c.parts(binaries{}) {
		if each.name != "containerd" {
			continue
		}
		if _, err := c.ensure(ctx, each, false); err != nil {
			return fmt.Errorf("ending the pods: %w", err)
		}
	}
	count, err := c.removeSandboxes(ctx)
	if err != nil {
		return err
	}
	c.Report("%d pods removed", count)
	return nil
}

// endProcesses stops the parts in the reverse of the order in which they were started,
// then whatever else is left that was started by us.
func (c Cluster) endProcesses(ctx context.Context) error {
	keeper := c.keeper()
	parts := c.parts(binaries{})
	slices.Reverse(parts)
	var problems []error
	for _, each := range parts {
		problems = append(problems, keeper.Stop(ctx, each.name, 10*time.Second))
	}
	containers, err := c.deleteContainers(ctx)
	problems = append(problems, err)
	killed, err := keeper.Sweep(ctx)
	problems = append(problems, err)
	if containers+killed > 0 {
		c.Report("ended by force: %d containers, %d other processes", containers, killed)
	}
	return errors.Join(problems...)
}

// unmountUnder takes away every mount below a folder, the deepest first. Removing a
// folder with a mount in it would empty what is mounted there.
func unmountUnder(ctx context.Context, dir string) error {
	for range 5 { // one mount may lie over another
		mounts, err := mountsUnder(dir)
		if err != nil {
			return err
		}
		if len(mounts) == 0 {
			return nil
		}
		for _, mount := range mounts {
			err := syscall.Unmount(mount, syscall.MNT_DETACH)
			if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
				return fmt.Errorf("unmounting %s: %w", mount, err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("mounts are left under %s", dir)
}

// mountsUnder lists the mounts below a folder, the deepest first.
func mountsUnder(dir string) ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading the mounts: %w", err)
	}
	return parseMounts(string(table), dir), nil
}

func parseMounts(table, dir string) []string {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var found []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape.Replace(fields[4]); strings.HasPrefix(point, dir+"/") {
			found = append(found, point)
		}
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found
}
