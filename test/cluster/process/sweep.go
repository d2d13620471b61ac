package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Sweep ends, at once, every process that carries the mark, and returns how many there
// were. It repeats until none is left, since a process may start another meanwhile.
func (k Keeper) Sweep(ctx context.Context) (int, error) {
	killed := map[int]bool{}
	deadline := time.Now().Add(15 * time.Second)
	for {
		found, err := k.marked()
		if err != nil {
			return len(killed), err
		}
		if len(found) == 0 {
			return len(killed), nil
		}
		if time.Now().After(deadline) {
			return len(killed), fmt.Errorf("sweeping: processes %v are still there after SIGKILL", found)
		}
		for _, pid := range found {
			killed[pid] = true
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return len(killed), fmt.Errorf("sweeping process %d: %w", pid, err)
			}
		}
		select {
		case <-ctx.Done():
			return len(killed), ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// StopUnrecorded ends the processes with our mark and exactly these arguments. There is
// one when the starter was killed after the start and before the record: it would hold
// the ports of the one that is to be started now.
func (k Keeper) StopUnrecorded(ctx context.Context, arguments []string, grace time.Duration) error {
	found, err := k.marked()
	if err != nil {
		return err
	}
	boot, err := BootID()
	if err != nil {
		return err
	}
	wanted := []byte(strings.Join(arguments, "\x00") + "\x00")
	for _, pid := range found {
		entry, err := readStat(pid)
		if err != nil {
			continue // it has ended
		}
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil || !bytes.Equal(line, wanted) {
			continue // it has ended, or is another
		}
		if err := end(ctx, Record{PID: pid, StartTicks: entry.startTicks, BootID: boot}, grace); err != nil {
			return fmt.Errorf("stopping an earlier process %d: %w", pid, err)
		}
	}
	return nil
}

// marked lists the living processes that carry the mark, and never this one: the
// command itself may have been started from a shell that carries it.
func (k Keeper) marked() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	mark := []byte(k.Mark)
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environment, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil {
			continue // it ended between the listing and the look
		}
		for _, variable := range bytes.Split(environment, []byte{0}) {
			if !bytes.Equal(variable, mark) {
				continue
			}
			if entry, err := readStat(pid); err == nil && entry.state != 'Z' {
				found = append(found, pid)
			}
			break
		}
	}
	return found, nil
}
