package prefect

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"
)

// Process identifies one process on one machine for good, although process ids are used
// again. The caller stores it, as JSON, before it trusts that the process runs.
type Process struct {
	// Host is where the process runs: "machine-id/boot-id/pid-namespace/hostname".
	// Compare it with ThisHost.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// StartTime is the kernel's, in clock ticks since boot (Linux).
	StartTime uint64 `json:"start_time"`
	// Output is the file that takes what the process prints. It may hold secrets: redact
	// what is read of it before it is cut, stored or shown.
	Output string `json:"output,omitempty"`
}

// Known says whether there is a process at all; the zero value says that none was started.
// Nor is 1 one of ours: to signal its "group" would be to signal every process there is.
func (p Process) Known() bool { return p.PID > 1 }

// ThisHost returns the identity of the machine, its boot, the process-id namespace and the
// host name that this process runs under. In a cluster the host name is the pod's.
var ThisHost = sync.OnceValue(func() string {
	machine := firstLine("/etc/machine-id")
	boot := firstLine("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	name, _ := os.Hostname()
	return strings.Join([]string{machine, boot, strings.Trim(namespace, "pid:[]"), name}, "/")
})

// where says what this process can know about a process of the given host.
type where int

const (
	here      where = iota // its processes can be looked at and signalled
	gone                   // its processes ended with their boot or their container
	elsewhere              // nothing can be known from here
)

func locate(host string) where {
	if host == ThisHost() {
		return here
	}
	theirs, ours := strings.SplitN(host, "/", 4), strings.SplitN(ThisHost(), "/", 4)
	if len(theirs) != 4 || theirs[3] != ours[3] || theirs[0] != ours[0] {
		return elsewhere
	}
	// The same machine under the same name, and it was started anew: nothing survived.
	// Only another namespace is not enough, since two containers may share a host name,
	// but a Kubernetes pod's name is its own, and there the machine id is empty or the image's.
	if theirs[1] != ours[1] || os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return gone
	}
	return elsewhere
}

// standing is what the kernel says of a process id.
type standing struct {
	start   uint64
	session int  // 0 where it is not known
	ended   bool // a zombie: only its exit status is left
}

// alive says whether the process still runs. A zombie does not.
func (p Process) alive() bool {
	if !p.Known() || locate(p.Host) != here {
		return false
	}
	s, there := lookUp(p.PID)
	return there && !s.ended && s.start == p.StartTime
}

// endGroup ends the process and its whole group: TERM, then KILL after grace (at once when
// grace is zero). It returns when the leader is gone, or with ctx's error.
func (p Process) endGroup(ctx context.Context, grace time.Duration, mark string) error {
	if grace > 0 && p.alive() {
		signalGroup(p.PID, sigTerm)
		timeout, cancel := context.WithTimeout(ctx, grace)
		_ = p.awaitEnd(timeout) // that it did not end is what KILL is for
		cancel()
	}
	p.killGroup(mark)
	return p.awaitEnd(ctx)
}

// killGroup sends KILL to the process and its whole group, also when the leader has ended.
// Mark is an entry of the environment, "NAME=value", that only this process's own children
// inherited; empty when there can be none.
//
// Numbers are used again within minutes on a busy machine, for processes and so for groups.
// While the leader is there, be it as a zombie, its start time proves that the group is
// ours. Without it nothing does, and each process is looked at for itself.
func (p Process) killGroup(mark string) {
	if !p.Known() || locate(p.Host) != here {
		return
	}
	if s, there := lookUp(p.PID); there {
		if s.start == p.StartTime {
			signalGroup(p.PID, sigKill)
		}
		return
	}
	if mark == "" {
		return
	}
	for _, pid := range orphans(p.PID, mark) {
		signalOne(pid, sigKill)
	}
}

// awaitEnd returns when the process has ended. It looks instead of waiting for a signal,
// because an adopted process is not our child.
func (p Process) awaitEnd(ctx context.Context) error {
	for p.alive() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func firstLine(path string) string {
	data, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}
