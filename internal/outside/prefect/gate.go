package prefect

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// gated is a command that waits for a word before it becomes the program it names.
type gated struct {
	Args   []string
	Env    []string
	Dir    string
	Output string // a file, appended to: a pipe would end with Slipway and kill the writer
}

// child is a process that this Slipway started, and which is therefore ours to reap.
type child struct {
	process Process
	gate    io.WriteCloser
	done    chan struct{} // closed when it has been reaped
	exit    *os.ProcessState
}

// The shell waits at the gate, then becomes the program under the same process id. If
// Slipway dies before the word, read meets the end of the pipe and nothing was started.
// Arguments and environment of the program are the shell's own, so no secret moves.
const gateScript = `read -r word && [ "$word" = go ] && exec "$@" </dev/null`

// startGated starts the command up to its gate. So its process id can be written down
// before it does anything: a crash in between must leave no process that nobody looks for.
func startGated(g gated) (*child, error) {
	out, err := os.OpenFile(g.Output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", gateScript, "slipway"}, g.Args...)...) //nolint:noctx // it outlives this process, so every context
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = g.Env, g.Dir, out, out
	return startChild(cmd, g.Output)
}

// startChild starts cmd as the leader of its own session, with a gate as its input.
func startChild(cmd *exec.Cmd, output string) (*child, error) {
	inOwnSession(cmd)
	gate, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{gate: gate, done: make(chan struct{})}
	c.process = Process{Host: ThisHost(), PID: cmd.Process.Pid, Output: output}
	// It cannot be reaped before the line that waits for it, so the number is still its own.
	s, _ := lookUp(cmd.Process.Pid)
	c.process.StartTime = s.start
	p := c.process // a spare's gets its output later
	go func() {
		// What it leaves behind is ended before it is reaped: until then its number, and so
		// its group's, belongs to nobody else.
		awaitExit(p.PID)
		p.killGroup("")
		_ = cmd.Wait() // the status is in ProcessState
		c.exit = cmd.ProcessState
		close(c.done)
	}()
	return c, nil
}

// open lets the command through its gate.
func (c *child) open() error {
	defer c.gate.Close()
	if _, err := io.WriteString(c.gate, "go\n"); err != nil {
		return fmt.Errorf("open the gate of process %d: %w", c.process.PID, err)
	}
	return nil
}

// abandon ends a child that has not done anything yet.
func (c *child) abandon() {
	c.gate.Close()
	c.process.killGroup("")
	<-c.done
}
