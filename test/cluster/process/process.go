// Package process starts programs that outlive the one who started them, and later
// finds and ends exactly those.
//
// A process is known by its number together with its start time and the machine's boot,
// because numbers are used again: a number alone, read from a file after a restart, may
// be somebody else's program by then. So nothing here may ever signal a number without
// comparing all three, and nothing is ever looked up by a program's name.
package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Spec says what to start.
type Spec struct {
	Name string   // the part's name, and the name of its record and its log
	Path string   // the program's file
	Args []string // the arguments, the first of which is the name to be called by
	Env  []string // the whole environment, in the form NAME=value
	Dir  string   // the working directory

	// Fingerprint changes whenever a running process should be replaced by a new one:
	// it covers the arguments, and the files that the program reads only once.
	Fingerprint string
}

// Record is what is remembered of a started process.
type Record struct {
	Name        string `json:"name"`
	PID         int    `json:"pid"`
	StartTicks  uint64 `json:"start_ticks"`
	BootID      string `json:"boot_id"`
	Fingerprint string `json:"fingerprint"`
}

// Keeper keeps the records and logs of one set of processes.
type Keeper struct {
	Records string // the folder of the records
	Logs    string // the folder of the logs

	// Mark is an environment variable, as NAME=value, that every process started here
	// carries and hands on to its children. It finds those whose record was never
	// written, because the starter was killed in between, and the children (containerd's
	// shims) that live on when their parent dies.
	Mark string
}

// logLimit is the size from which a log is set aside before the next start. The one
// before is kept, since it holds the reason for a crash.
const logLimit = 16 << 20

// Start starts the program detached, in a session of its own, and records it.
func (k Keeper) Start(spec Spec) (Record, error) {
	log, err := k.openLog(spec.Name)
	if err != nil {
		return Record{}, err
	}
	defer log.Close() // the child has its own copy

	command := exec.Command(spec.Path)
	command.Args = spec.Args
	command.Env = append([]string{k.Mark}, spec.Env...)
	command.Dir = spec.Dir
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return Record{}, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	// While we are its parent, somebody must take its exit status, or a dead process
	// would stay in the table and look alive. How it ended is in its log.
	go func() { _ = command.Wait() }()

	record := Record{Name: spec.Name, PID: command.Process.Pid, Fingerprint: spec.Fingerprint}
	if record.BootID, err = BootID(); err != nil {
		return Record{}, err
	}
	entry, err := readStat(record.PID)
	if err != nil {
		return Record{}, fmt.Errorf("starting %s: it ended at once; see %s", spec.Name, log.Name())
	}
	record.StartTicks = entry.startTicks
	return record, k.save(record)
}

// Find returns the record of a process, and whether that process is alive now.
func (k Keeper) Find(name string) (Record, bool, error) {
	data, err := os.ReadFile(k.recordPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("reading the record of %s: %w", name, err)
	}
	var record Record
	if err := json.Unmarshal(data, &record); err != nil {
		// Half a record is what a machine that lost its power leaves. The process itself
		// is gone then, and Sweep finds it otherwise.
		return Record{}, false, nil
	}
	alive, err := Alive(record)
	return record, alive, err
}

// Alive reports whether the recorded process, and not another with its number, runs.
func Alive(record Record) (bool, error) {
	boot, err := BootID()
	if err != nil {
		return false, err
	}
	if record.PID <= 0 || boot != record.BootID {
		return false, nil
	}
	entry, err := readStat(record.PID)
	if err != nil {
		return false, nil // no such process
	}
	return entry.startTicks == record.StartTicks && entry.state != 'Z' && entry.state != 'X', nil
}

// Stop asks the process to end, forces it after the grace time, and forgets it. A
// process that does not run is only forgotten. One that was never recorded is not seen;
// see StopUnrecorded.
func (k Keeper) Stop(ctx context.Context, name string, grace time.Duration) error {
	record, alive, err := k.Find(name)
	if err != nil {
		return err
	}
	if alive {
		if err := end(ctx, record, grace); err != nil {
			return fmt.Errorf("stopping %s: %w", name, err)
		}
	}
	if err := os.Remove(k.recordPath(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting %s: %w", name, err)
	}
	return nil
}

func end(ctx context.Context, record Record, grace time.Duration) error {
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, 10 * time.Second}} {
		if alive, err := Alive(record); err != nil || !alive {
			return err
		}
		if err := syscall.Kill(record.PID, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("sending %s to process %d: %w", step.signal, record.PID, err)
		}
		deadline := time.Now().Add(step.wait)
		for time.Now().Before(deadline) {
			if alive, err := Alive(record); err != nil || !alive {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return fmt.Errorf("process %d is still there after SIGKILL", record.PID)
}

// Log is the path of a part's log.
func (k Keeper) Log(name string) string {
	return filepath.Join(k.Logs, name+".log")
}

// LogTail returns the last lines of a part's log, for an error that a person reads.
func (k Keeper) LogTail(name string, lines int) string {
	data, err := os.ReadFile(k.Log(name))
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (k Keeper) openLog(name string) (*os.File, error) {
	path := k.Log(name)
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".before"); err != nil {
			return nil, fmt.Errorf("setting the log of %s aside: %w", name, err)
		}
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	return log, nil
}

func (k Keeper) recordPath(name string) string {
	return filepath.Join(k.Records, name+".json")
}

// save writes the record beside its place and moves it there, so that a reader never
// sees half of it.
func (k Keeper) save(record Record) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("recording %s: %w", record.Name, err)
	}
	path := k.recordPath(record.Name)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("recording %s: %w", record.Name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("recording %s: %w", record.Name, err)
	}
	return nil
}

type stat struct {
	state      byte
	startTicks uint64
}

// readStat reads the two fields of /proc/PID/stat that identify a process. The name in
// the second field may itself hold blanks and brackets, so counting begins after the
// last bracket.
func readStat(pid int) (stat, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, fmt.Errorf("reading the state of process %d: %w", pid, err)
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const startField = 22 - 3 // the third field, the state, is the first here
	if len(fields) <= startField {
		return stat{}, fmt.Errorf("reading the state of process %d: %d fields", pid, len(fields))
	}
	ticks, err := strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("reading the start time of process %d: %w", pid, err)
	}
	return stat{state: fields[0][0], startTicks: ticks}, nil
}

// BootID names this boot of the machine.
func BootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot's identity: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
