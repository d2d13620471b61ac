package prefect

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"
)

// lookUp returns what the kernel says of a process id; false when nobody has it.
func lookUp(pid int) (standing, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return standing{}, false
	}
	// The second field is the command in parentheses, and may itself hold any of " ()".
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	const state, session, startTime = 0, 3, 19 // fields 3, 6 and 22 of proc_pid_stat(5)
	if len(fields) <= startTime {
		return standing{}, false
	}
	var s standing
	s.ended = fields[state][0] == 'Z' || fields[state][0] == 'X'
	s.session, _ = strconv.Atoi(string(fields[session]))
	s.start, err = strconv.ParseUint(string(fields[startTime]), 10, 64)
	return s, err == nil
}

// orphans returns the processes of a session whose environment holds the entry mark.
func orphans(session int, mark string) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if s, there := lookUp(pid); !there || s.ended || s.session != session {
			continue
		}
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+mark+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitExit returns when our child has ended, and leaves it a zombie, so that its number
// is still its own.
func awaitExit(pid int) {
	const pPID = 1
	var info [128]byte // siginfo_t
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), //nolint:gosec // the call has no other form
			syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
