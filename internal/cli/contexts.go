package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// contexts is contexts.toml: the installations that this user speaks to. It holds tokens,
// so it is private, and it is replaced whole, so that a crash cannot leave half of it.
type contexts struct {
	Current  string                 `toml:"current"`
	Contexts map[string]savedServer `toml:"contexts"`
}

// savedServer is one installation and who one is there.
type savedServer struct {
	URL         string `toml:"url"`
	User        string `toml:"user,omitempty"`
	Token       string `toml:"token,omitempty"`
	CAFile      string `toml:"ca_file,omitempty"`     // trusted beside the system's certificates
	Environment string `toml:"environment,omitempty"` // for commands without -e: shop/dev
}

func (s *session) contextsPath() (string, error) {
	if dir := s.getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "slipway", "contexts.toml"), nil
	}
	if home := s.getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "slipway", "contexts.toml"), nil
	}
	return "", usagef("neither HOME nor XDG_CONFIG_HOME is set, so there is no place for contexts.toml").
		hint("say everything by --server and SLIPWAY_TOKEN")
}

// loadContexts reads contexts.toml; without the file, or a place for it, there are none.
func (s *session) loadContexts() (contexts, error) {
	none := contexts{Contexts: map[string]savedServer{}}
	path, err := s.contextsPath()
	if err != nil {
		return none, nil //nolint:nilerr // no file is no contexts
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("read the contexts: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return none, usagef("%s can be read by others, and it holds tokens", path).hint("chmod 600 %s", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return none, fmt.Errorf("read the contexts: %w", err)
	}
	c := none
	dec := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return none, usagef("%s:%d:%d: it cannot be read as contexts", path, line, column).hint("correct it, or remove it and log in again")
		}
		return none, usagef("%s has a key that is not known", path).hint("correct it, or remove it and log in again")
	}
	if c.Contexts == nil {
		c.Contexts = map[string]savedServer{}
	}
	return c, nil
}

func (s *session) saveContexts(c contexts) error {
	path, err := s.contextsPath()
	if err != nil {
		return err
	}
	raw, err := toml.Marshal(c)
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	f, err := os.CreateTemp(dir, ".contexts-*") // CreateTemp makes it 0600
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	defer os.Remove(f.Name()) // fails, and may, once it is renamed
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	return nil
}

// remember stores a login and makes it the current context. What else the context held,
// such as its default environment, stays when it is the same server.
func (s *session) remember(name string, in savedServer) error {
	c, err := s.loadContexts()
	if err != nil {
		return err
	}
	if old, ok := c.Contexts[name]; ok && old.URL == in.URL {
		in.Environment = old.Environment
	}
	c.Contexts[name] = in
	c.Current = name
	return s.saveContexts(c)
}

// contextName makes a context's name of a server's URL: its host.
func contextName(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return "default"
	}
	return strings.ToLower(u.Host)
}
