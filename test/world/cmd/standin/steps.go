package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// steps are what a line of a job may begin with. There is no shell: the image has none but
// for the preparation of the pod, and a test should say what it tries.
var steps = map[string]struct {
	usage string
	do    func(ctx context.Context, args []string) (log string, err error)
}{
	"echo":  {"echo TEXT: write TEXT into the log", func(_ context.Context, args []string) (string, error) { return strings.Join(args, " ") + "\n", nil }},
	"fail":  {"fail TEXT: fail", func(_ context.Context, args []string) (string, error) { return "", errors.New(strings.Join(args, " ")) }},
	"sleep": {"sleep 5s: take as long", pause},
	"write": {"write 100MiB [FILE]: fill a file in the workspace", write},
	"hold":  {"hold 100MiB: use as much memory", hold},
	"read":  {"read FILE: put a file into the log", read},
	"env":   {"env: put the names of the environment's variables into the log", environment},
	"exit":  {"exit 3: end the runner at once with this code, without a word to the forge", leave},
	"probe": {"probe tcp HOST:PORT | dns NAME | http URL: say in the log whether that is reached", probe},
	"reach": {"reach (as probe): fail unless that is reached", func(ctx context.Context, args []string) (string, error) {
		return tried(ctx, args, true)
	}},
	"deny": {"deny (as probe): fail if that is reached", func(ctx context.Context, args []string) (string, error) { return tried(ctx, args, false) }},
}

// carryOut does one line.
func carryOut(ctx context.Context, line string) (string, error) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return "", nil
	}
	step, ok := steps[fields[0]]
	if !ok {
		var all []string
		for _, s := range steps {
			all = append(all, "  "+s.usage+"\n")
		}
		slices.Sort(all)
		return strings.Join(all, ""), fmt.Errorf("%s: command not found", fields[0])
	}
	return step.do(ctx, fields[1:])
}

func pause(ctx context.Context, args []string) (string, error) {
	d, err := time.ParseDuration(strings.Join(args, ""))
	if err != nil {
		seconds, fault := strconv.ParseFloat(strings.Join(args, ""), 64)
		if fault != nil {
			return "", err
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(d):
		return "", nil
	}
}

// size reads 100MiB, 2GiB, 64KiB or a number of bytes.
func size(s string) (int64, error) {
	for suffix, unit := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			v, err := strconv.ParseInt(n, 10, 64)
			return v * unit, err
		}
	}
	return strconv.ParseInt(s, 10, 64)
}

func write(ctx context.Context, args []string) (string, error) {
	if len(args) == 0 {
		return "", errors.New("write what?")
	}
	n, err := size(args[0])
	if err != nil {
		return "", err
	}
	name := "written"
	if len(args) > 1 {
		name = args[1]
	}
	if !filepath.IsAbs(name) {
		if home, err := os.Getwd(); err == nil {
			name = filepath.Join(home, "_work", name)
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for left := n; left > 0; left -= int64(len(block)) {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if _, err := f.Write(block[:min(left, int64(len(block)))]); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("wrote %d bytes to %s\n", n, name), f.Close()
}

var held [][]byte

func hold(ctx context.Context, args []string) (string, error) {
	n, err := size(strings.Join(args, ""))
	if err != nil {
		return "", err
	}
	for left := n; left > 0 && ctx.Err() == nil; left -= 1 << 20 {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1 // or the kernel would not give it
		}
		held = append(held, block)
	}
	return fmt.Sprintf("hold %d bytes\n", n), ctx.Err()
}

func read(_ context.Context, args []string) (string, error) {
	f, err := os.Open(strings.Join(args, " "))
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return string(text) + "\n", err
}

// environment tells names alone: a log is kept, and values may be secret.
func environment(context.Context, []string) (string, error) {
	var names []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, "\n") + "\n", nil
}

func leave(_ context.Context, args []string) (string, error) {
	code, err := strconv.Atoi(strings.Join(args, ""))
	if err != nil {
		return "", err
	}
	os.Exit(code)
	return "", nil
}

// probeTimeout is how long something may take to answer. What a network policy denies
// does not answer at all.
const probeTimeout = 3 * time.Second

func probe(ctx context.Context, args []string) (string, error) {
	what, err := try(ctx, args)
	return fmt.Sprintf("%s: %s\n", strings.Join(args, " "), what), err
}

func tried(ctx context.Context, args []string, want bool) (string, error) {
	what, err := try(ctx, args)
	log := fmt.Sprintf("%s: %s\n", strings.Join(args, " "), what)
	if err == nil && strings.HasPrefix(what, "reached") != want {
		err = fmt.Errorf("%s is %s", strings.Join(args, " "), what)
	}
	return log, err
}

// try says "reached", or "not reached" and why. An error is a line that cannot be read.
func try(ctx context.Context, args []string) (string, error) {
	if len(args) != 2 {
		return "", errors.New("write  tcp HOST:PORT,  dns NAME  or  http URL")
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var err error
	said := ""
	switch args[0] {
	case "tcp":
		var c net.Conn
		if c, err = (&net.Dialer{}).DialContext(ctx, "tcp", args[1]); err == nil {
			err = c.Close()
		}
	case "dns":
		var found []string
		found, err = net.DefaultResolver.LookupHost(ctx, args[1])
		said = " " + strings.Join(found, " ")
		// That there is no such name is an answer too.
		if e := (*net.DNSError)(nil); errors.As(err, &e) && e.IsNotFound {
			err, said = nil, " (no such name)"
		}
	case "http":
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodGet, args[1], nil); err != nil {
			return "", err
		}
		var res *http.Response
		if res, err = http.DefaultClient.Do(req); err == nil {
			said = " " + res.Status
			err = res.Body.Close()
		}
	default:
		return "", fmt.Errorf("%s is neither tcp, dns nor http", args[0])
	}
	if err != nil {
		return fmt.Sprintf("not reached (%v)", err), nil
	}
	return "reached" + said, nil
}
