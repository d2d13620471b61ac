package prefect

import (
	"bytes"
	"os"
	"strconv"
)

// processStart returns the start time of a process, and whether it runs. A zombie has
// ended: only its exit status is left.
func processStart(pid int) (uint64, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The second field is the command in parentheses, and may itself hold any of " ()".
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return 0, false
	}
	fields := bytes.Fields(data[end+1:])
	const state, startTime = 0, 19 // fields 3 and 22 of proc_pid_stat(5)
	if len(fields) <= startTime || fields[state][0] == 'Z' || fields[state][0] == 'X' {
		return 0, false
	}
	start, err := strconv.ParseUint(string(fields[startTime]), 10, 64)
	return start, err == nil
}
