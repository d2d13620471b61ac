//go:build unix

package prefect

import (
	"os/exec"
	"syscall"
	"time"
)

const (
	sigTerm = syscall.SIGTERM
	sigKill = syscall.SIGKILL
)

// inOwnSession makes cmd the leader of its own session and process group: signals meant for
// Slipway (Ctrl-C in a terminal) do not reach it, and it can be ended with its children.
func inOwnSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// endWithChildren makes the end of cmd's context the end of its children too. Without it
// one that holds its output open would hold Run open as well.
func endWithChildren(cmd *exec.Cmd) {
	inOwnSession(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
}

// A process that has just ended cannot be signalled, which is what was wanted.
func signalGroup(leader int, s syscall.Signal) { _ = syscall.Kill(-leader, s) }
func signalOne(pid int, s syscall.Signal)      { _ = syscall.Kill(pid, s) }

// lockFile takes an exclusive lock that ends with the open file, so with the process.
func lockFile(fd uintptr) error { return syscall.Flock(int(fd), syscall.LOCK_EX) }
