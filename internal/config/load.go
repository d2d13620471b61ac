package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Load reads the file at path when path is not empty, then the variables of environ
// ("NAME=value", as os.Environ gives them), then flags by the names of Key.Flag. The
// error, when there is one, is an *Error with every fault.
func Load(path string, environ []string, flags map[string]string) (Config, error) {
	l := newLoader(environ)
	for _, k := range l.keys {
		if k.Default != "" {
			l.set(k, k.Default, Origin{})
		}
	}
	if path != "" {
		src, err := readFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			l.fault(Fault{Origin: Origin{Name: path}, Msg: "there is no such file"})
		case err != nil:
			l.fault(Fault{Origin: Origin{Name: path}, Msg: "it cannot be read: " + reason(err)})
		default:
			l.applyFile(path, src)
		}
	}
	l.applyEnv()
	l.applyFlags(flags)
	l.readDatabaseFile()
	l.defaultDataDir()
	l.check()
	if len(l.faults) > 0 {
		return Config{}, &Error{Faults: l.faults}
	}
	slices.Sort(l.c.Warnings)
	return l.c, nil
}

// loader gathers one configuration and what is wrong with it.
type loader struct {
	c      Config
	keys   []Key
	byName map[string]Key
	names  []string // of keys, for suggestions
	env    map[string]string
	origin map[string]Origin // of each key that was set
	faults []Fault
}

func newLoader(environ []string) *loader {
	l := &loader{keys: Keys(), byName: map[string]Key{}, env: map[string]string{}, origin: map[string]Origin{}}
	for _, k := range l.keys {
		l.byName[k.Name] = k
		l.names = append(l.names, k.Name)
	}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok {
			l.env[name] = value
		}
	}
	return l
}

func (l *loader) fault(f Fault) { l.faults = append(l.faults, f) }

// wrong reports a fault of a key where that key was set.
func (l *loader) wrong(key, hint, format string, args ...any) {
	l.fault(Fault{Key: key, Origin: l.origin[key], Msg: fmt.Sprintf(format, args...), Hint: hint})
}

func (l *loader) set(k Key, text string, at Origin) {
	if err := k.set(&l.c, text); err != nil {
		l.fault(Fault{Key: k.Name, Origin: at, Msg: err.Error()})
		return
	}
	if at != (Origin{}) {
		l.origin[k.Name] = at
	}
}

func (l *loader) isTable(name string) bool {
	return slices.ContainsFunc(l.names, func(n string) bool { return strings.HasPrefix(n, name+".") })
}

// unknownTable and unknownKey each suggest among their own kind only.
func (l *loader) unknownTable(name string, at Origin) {
	var tables []string
	for _, n := range l.names {
		if t, _, ok := strings.Cut(n, "."); ok && !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
	}
	l.unknown(name, at, suggest(name, tables))
}

func (l *loader) unknownKey(name string, at Origin) {
	s := suggest(name, l.names)
	if i := strings.LastIndexByte(name, '.'); s == "" && i >= 0 {
		// A key in the wrong table is as common as a misspelt one: find it by its last part.
		for _, n := range l.names {
			if n == name[i+1:] || strings.HasSuffix(n, name[i:]) {
				s = n
			}
		}
	}
	l.unknown(name, at, s)
}

func (l *loader) unknown(name string, at Origin, instead string) {
	f := Fault{Key: name, Origin: at, Msg: "there is no such key"}
	if instead != "" {
		f.Hint = "did you mean " + instead + "?"
	}
	l.fault(f)
}

// notOurs are variables of that prefix which are not settings of the server: those of the
// command line, of actions, and of what stands around the program in its repository.
var notOurs = []string{
	"SLIPWAY_URL", "SLIPWAY_TOKEN", "SLIPWAY_CONTEXT", "SLIPWAY_CONFIG", "SLIPWAY_SECRET_KEY", "SLIPWAY_CA_FILE",
	"SLIPWAY_VERIFY_KEYS", "SLIPWAY_STEP", "SLIPWAY_CONTEXT_FILE", "SLIPWAY_CACHE",
}

// notOursAt begin the names of whole families of such variables.
var notOursAt = []string{"SLIPWAY_TEST_", "SLIPWAY_CLUSTER_"}

func (l *loader) applyEnv() {
	known := slices.Clone(notOurs)
	for _, k := range l.keys {
		known = append(known, k.Env)
		if v, ok := l.env[k.Env]; ok && v != "" {
			l.set(k, v, Origin{Name: k.Env})
		}
	}
	for name := range l.env {
		if !strings.HasPrefix(name, "SLIPWAY_") || slices.Contains(known, name) || fromKubernetes(name) ||
			slices.ContainsFunc(notOursAt, func(family string) bool { return strings.HasPrefix(name, family) }) {
			continue
		}
		// A warning only: other programs and Kubernetes may set variables of our prefix.
		w := "the variable " + name + " sets nothing"
		if s := suggest(name, known); s != "" {
			w += "; did you mean " + s + "?"
		}
		l.c.Warnings = append(l.c.Warnings, w)
	}
}

// fromKubernetes recognises what a cluster sets in every pod beside a Service "slipway".
func fromKubernetes(name string) bool {
	return strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT_") || strings.HasSuffix(name, "_PORT")
}

func (l *loader) applyFlags(flags map[string]string) {
	byFlag := map[string]Key{}
	for _, k := range l.keys {
		byFlag[k.Flag] = k
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if k, ok := byFlag[name]; ok {
			l.set(k, flags[name], Origin{Name: "--" + name})
		} else {
			l.fault(Fault{Origin: Origin{Name: "--" + name}, Msg: "there is no such flag"})
		}
	}
}

// readDatabaseFile replaces the database's address by the file's content.
func (l *loader) readDatabaseFile() {
	path := l.home(l.c.DatabaseFile)
	if path == "" {
		return
	}
	if l.c.Database != "" {
		l.wrong("database_file", "leave one of them out", "database is set as well")
		return
	}
	src, err := readFile(path)
	if err != nil {
		l.wrong("database_file", "", "%s cannot be read: %s", path, reason(err))
		return
	}
	text := strings.TrimSpace(string(src))
	if text == "" {
		l.wrong("database_file", "", "%s is empty", path)
		return
	}
	l.c.Database, l.origin["database"] = DSN(text), Origin{Name: path}
}

// defaultDataDir picks the place that the XDG rules give to a program's data.
func (l *loader) defaultDataDir() {
	if l.c.DataDir == "" {
		switch {
		case l.env["XDG_DATA_HOME"] != "":
			l.c.DataDir = filepath.Join(l.env["XDG_DATA_HOME"], "slipway")
		case l.env["HOME"] != "":
			l.c.DataDir = filepath.Join(l.env["HOME"], ".local", "share", "slipway")
		default:
			l.wrong("data_dir", "set data_dir, or --data-dir", "there is no home directory to put it in")
			return
		}
	}
	abs, err := filepath.Abs(l.home(l.c.DataDir))
	if err != nil {
		l.wrong("data_dir", "write it from the root", "it has no absolute path here: %s", reason(err))
		return
	}
	l.c.DataDir = abs
	for _, p := range []*string{&l.c.TLS.CertFile, &l.c.TLS.KeyFile, &l.c.Secrets.KeyFile, &l.c.Kubernetes.Kubeconfig,
		&l.c.Prefect.AuthFile, &l.c.Python.Venv, &l.c.DatabaseFile} {
		*p = l.home(*p)
	}
}

// home replaces a leading ~/, which a file or a variable does not get replaced by a shell.
func (l *loader) home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && l.env["HOME"] != "" {
		return filepath.Join(l.env["HOME"], rest)
	}
	return path
}

// reason is the end of an error's chain: an os error without the path that we say already.
func reason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
