//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// inGroup makes the end of cmd the end of all that it started.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
