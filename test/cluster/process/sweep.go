package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
