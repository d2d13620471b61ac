//go:build !linux

package prefect

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// processStart asks ps, since there is no /proc. The start time is then Unix seconds.
func processStart(pid int) (uint64, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"} // the date is in the language of the environment
	out, err := cmd.Output()
	state, started, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !found || strings.HasPrefix(state, "Z") {
		return 0, false
	}
	t, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", strings.TrimSpace(started), time.Local)
	return uint64(t.Unix()), err == nil
}
