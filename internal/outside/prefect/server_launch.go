package prefect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// serverRecord is what is remembered of the server between two lives of Slipway.
type serverRecord struct {
	Process Process `json:"process"`
	Port    int     `json:"port"`
}

func (s *Server) logFile() string { return filepath.Join(s.Dir, "server.log") }

func readServerRecord(dir string) (record serverRecord, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "server.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return record, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil {
		return record, fmt.Errorf("read which server runs: %w", err)
	}
	return record, nil
}

func (s *Server) writeRecord(record serverRecord) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("write down which server runs: %w", err)
	}
	if err := writeFile(filepath.Join(s.Dir, "server.json"), data); err != nil {
		return err
	}
	s.mu.Lock()
	s.record = record
	s.mu.Unlock()
	return nil
}

// launch starts the server's process, and writes down which one before it does anything.
func (s *Server) launch(ctx context.Context) (Process, error) {
	port, err := freePort(ctx, s.port())
	if err != nil {
		return Process{}, err
	}
	c, err := startGated(gated{
		Args: []string{s.Python.Interpreter, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", strconv.Itoa(port)},
		Env:  environ(s.env(port)), Dir: s.Dir, Output: s.logFile(),
	})
	if err != nil {
		return Process{}, fmt.Errorf("start %s: %w", s.Python.Interpreter, err)
	}
	if err = s.writeRecord(serverRecord{Process: c.process, Port: port}); err == nil {
		err = c.open()
	}
	if err != nil {
		c.abandon()
		return Process{}, err
	}
	return c.process, nil
}

// mark is what every process of this server has in its environment, and no other.
func (s *Server) mark() string { return "PREFECT_HOME=" + s.Dir }

// env returns the server's environment. Its database and its auth string are Slipway's
// alone; what Slipway does not use of Prefect (schedules, triggers) is off.
func (s *Server) env(port int) map[string]string {
	env := childEnv(s.Python, s.Dir)
	for name, value := range map[string]string{
		"PREFECT_HOME":                               s.Dir, // and in it the database, prefect.db
		"PREFECT_SERVER_API_AUTH_STRING":             s.auth,
		"PREFECT_API_AUTH_STRING":                    s.auth, // the server calls itself
		"PREFECT_API_URL":                            fmt.Sprintf("http://127.0.0.1:%d/api", port),
		"PREFECT_SERVER_UI_ENABLED":                  "true",
		"PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
		// The default is inside the Python environment, which may be read-only or shared.
		"PREFECT_SERVER_UI_STATIC_DIRECTORY":        filepath.Join(s.Dir, "ui"),
		"PREFECT_SERVER_ANALYTICS_ENABLED":          "false",
		"PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": "false",
		"PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
		"PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED":  "false",
		// Slipway keeps its own record of every run; Prefect's is for looking at.
		"PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
		"PREFECT_SERVER_LOGGING_LEVEL":              "WARNING",
	} {
		env[name] = value
	}
	return env
}

// portPatience is how long a server that is started anew waits for its port.
const portPatience = 20 * time.Second

// awaitPort gives the port that the server had before a while to become free. Actions that
// run know no other address, and would report to nobody.
func (s *Server) awaitPort(ctx context.Context, port int) {
	deadline, stop := context.WithTimeout(ctx, s.portPatience)
	defer stop()
	for !isFree(ctx, port) {
		select {
		case <-deadline.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// freePort returns the wanted port when nobody listens there, or else one of the next
// hundred. The kernel gives ports from 32768 on to connections that go out, so a server
// that had one of those might not get it back when it is started anew.
func freePort(ctx context.Context, wanted int) (int, error) {
	for port := max(wanted, 1); port < min(wanted+100, 1<<16); port++ {
		if isFree(ctx, port) {
			return port, nil
		}
	}
	port, err := listenOnce(ctx, 0)
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return port, nil
}

func isFree(ctx context.Context, port int) bool {
	_, err := listenOnce(ctx, port)
	return err == nil
}

// listenOnce opens a port of loopback, 0 for any, and gives it back.
func listenOnce(ctx context.Context, port int) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return 0, err
	}
	_, text, err := net.SplitHostPort(l.Addr().String())
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}
