//go:build !unix

package prefect

import (
	"os/exec"
	"syscall"
)

// Actions are run on Unix alone; this file lets the rest of the binary (the command line)
// be built elsewhere.

const (
	sigTerm = syscall.Signal(15)
	sigKill = syscall.Signal(9)
)

func inOwnSession(*exec.Cmd)          {}
func endWithChildren(*exec.Cmd)       {}
func signalGroup(int, syscall.Signal) {}
func signalOne(int, syscall.Signal)   {}
func lockFile(uintptr) error          { return nil }
