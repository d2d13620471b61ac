package prefect

import (
	"fmt"
	"os"
	"syscall"
)

// exitHints say what usually lies behind an exit status of Python or the shell.
var exitHints = map[int]string{
	1:   "the action could not be loaded, or its parameters have other names",
	126: "the interpreter could not be executed",
	127: "the interpreter was not found",
}

// exitText says how a process ended, for people. It explains; it decides nothing.
func exitText(s *os.ProcessState) string {
	if s == nil {
		return "exit status not known"
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		text := fmt.Sprintf("killed by signal %d (%s)", int(ws.Signal()), ws.Signal())
		if ws.Signal() == sigKill {
			text += "; it may have run out of memory"
		}
		return text
	}
	text := fmt.Sprintf("exit code %d", s.ExitCode())
	if hint := exitHints[s.ExitCode()]; hint != "" {
		text += "; " + hint
	}
	return text
}
