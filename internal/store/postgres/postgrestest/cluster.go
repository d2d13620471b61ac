// Package postgrestest gives tests a real PostgreSQL: a throwaway cluster per test binary,
// from the server that the distribution installs, and a database per test.
//
// It fails loudly when there is no server. A test that skips itself where PostgreSQL is
// missing would say that both databases work when one was never asked.
//
// Set SLIPWAY_TEST_POSTGRES to the address of a running server to use that one; its user
// must be allowed to create databases.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Env names the variable with the address of a running server.
const Env = "SLIPWAY_TEST_POSTGRES"

// Main is the TestMain of a package whose tests use DSN. It stops the cluster at the end.
func Main(m *testing.M) {
	code := m.Run()
	if err := cluster.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the test's PostgreSQL:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// DSN returns the address of a new, empty database, which goes when the test ends.
func DSN(tb testing.TB) string {
	tb.Helper()
	return create(tb, "")
}

// Prepared returns the address of a new database that is a copy of one that prepare has
// filled. All calls in a test binary use the first one's prepare: to migrate once is much
// quicker than to migrate for every test.
func Prepared(tb testing.TB, prepare func(dsn string) error) string {
	tb.Helper()
	template.Lock()
	defer template.Unlock()
	if template.name == "" {
		admin, err := cluster.start()
		if err != nil {
			tb.Fatalf("PostgreSQL for the tests: %v", err)
		}
		name := fmt.Sprintf("slipway_%d_template", os.Getpid())
		if err := do(admin, "CREATE DATABASE "+name); err != nil {
			tb.Fatal(err)
		}
		dsn, err := address(admin, name)
		if err == nil {
			err = prepare(dsn)
		}
		if err != nil {
			tb.Fatal(err)
		}
		template.name = name
	}
	return create(tb, template.name)
}

var template struct {
	sync.Mutex
	name string
}

func create(tb testing.TB, from string) string {
	tb.Helper()
	admin, err := cluster.start()
	if err != nil {
		tb.Fatalf("PostgreSQL for the tests: %v", err)
	}
	name := fmt.Sprintf("slipway_%d_%d", os.Getpid(), databases.next())
	statement := "CREATE DATABASE " + name
	if from != "" {
		statement += " TEMPLATE " + from
	}
	if err := do(admin, statement); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := do(admin, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	dsn, err := address(admin, name)
	if err != nil {
		tb.Fatal(err)
	}
	return dsn
}

// address is that of another database of the same server.
func address(admin, name string) (string, error) {
	c, err := pgx.ParseConfig(admin)
	if err != nil {
		return "", err
	}
	parts := []string{
		"host=" + quote(c.Host), "port=" + strconv.Itoa(int(c.Port)), "user=" + quote(c.User), "dbname=" + name,
	}
	if c.Password != "" {
		parts = append(parts, "password="+quote(c.Password))
	}
	if c.TLSConfig == nil {
		parts = append(parts, "sslmode=disable")
	}
	return strings.Join(parts, " "), nil
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func do(dsn, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // the answer has been read
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

var (
	databases counter
	cluster   server
)

// server is the cluster of this test binary.
type server struct {
	once sync.Once
	dsn  string
	err  error
	dir  string
	cmd  *exec.Cmd
}

func (s *server) start() (dsn string, err error) {
	s.once.Do(func() {
		if dsn := os.Getenv(Env); dsn != "" {
			s.dsn = dsn
			return
		}
		if s.err = s.launch(); s.err != nil {
			s.err = errors.Join(s.err, s.stop())
		}
	})
	return s.dsn, s.err
}

func (s *server) launch() error {
	bin, err := binaries()
	if err != nil {
		return err
	}
	// The socket's path is in it, which may have a hundred characters at most.
	if s.dir, err = os.MkdirTemp("/tmp", "slipway-postgres-"); err != nil {
		return err
	}
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // the server refuses to be root
		if attr.Credential, err = unprivileged(s.dir); err != nil {
			return err
		}
	}
	data := filepath.Join(s.dir, "data")
	initdb := exec.CommandContext(context.Background(), filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = attr, s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	run := *attr
	run.Pdeathsig = syscall.SIGQUIT // a test that is killed takes its server along
	s.cmd = exec.CommandContext(context.Background(), filepath.Join(bin, "postgres"), "-D", data, "-k", s.dir, "-c", "listen_addresses=",
		"-c", "max_connections=300", "-c", "shared_buffers=64MB",
		// The data is thrown away: nothing needs to survive a power cut.
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	s.cmd.SysProcAttr, s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = &run, s.dir, log, log
	if err := startOnOwnThread(s.cmd); err != nil {
		return err
	}
	s.dsn = fmt.Sprintf("host=%s user=postgres dbname=postgres sslmode=disable", quote(s.dir))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := do(s.dsn, "SELECT 1")
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(log.Name()) // best effort: for the message only
			return fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, out)
		}
	}
}

// startOnOwnThread starts a command from a thread that stays: the kernel sends Pdeathsig
// when the thread ends that started the child, and not only when the process does.
func startOnOwnThread(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		started <- cmd.Start()
		select {}
	}()
	return <-started
}

func (s *server) stop() error {
	var err error
	if s.cmd == nil && template.name != "" { // somebody's server, which goes on
		err = do(s.dsn, "DROP DATABASE "+template.name)
	}
	if s.cmd != nil && s.cmd.Process != nil {
		err = s.cmd.Process.Signal(syscall.SIGINT)       // a fast shutdown
		if e := s.cmd.Wait(); e != nil && s.err == nil { // after a failed start the first error says more
			err = errors.Join(err, e)
		}
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// binaries finds the newest server that is installed.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("there is no server under /usr/lib/postgresql/*/bin: install the package postgresql, or set %s to the address of a running one", Env)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // not a number: not a version, so the last choice
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

// unprivileged gives the directory to the user that the distribution made for the server.
func unprivileged(dir string) (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("root cannot run PostgreSQL, and there is no other user for it: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
