//go:build !linux

package prefect

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// lookUp asks ps, since there is no /proc. The start time is then in Unix seconds.
func lookUp(pid int) (standing, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"} // the date is in the language of the environment
	out, err := cmd.Output()
	state, started, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !found {
		return standing{}, false
	}
	t, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", strings.TrimSpace(started), time.Local)
	return standing{start: uint64(t.Unix()), ended: strings.HasPrefix(state, "Z")}, err == nil
}

// orphans finds nobody: what an adopted action leaves behind stays on these systems.
func orphans(int, string) []int { return nil }

func awaitExit(int) {}
