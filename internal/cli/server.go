package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/config"
)

func (s *session) serverCommand() *cobra.Command {
	var load func(*cobra.Command) (config.Config, error)
	c := &cobra.Command{
		Use: "server", Short: "Run the server", Args: args(0, 0),
		Long: `Run the server: API, dashboard and workers in one process, with a SQLite
database in its data directory and a Prefect server of its own. It needs no
set-up.

Settings come from a file, then variables SLIPWAY_*, then flags, each stronger
than the one before. "slipway config check" shows what they come to.`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(c)
			if err != nil {
				return err
			}
			if s.Server == nil {
				return usagef("this program was built without the server")
			}
			return s.Server(c.Context(), cfg, s.Stdout)
		},
	}
	load = s.addConfig(c)
	return c
}

func (s *session) configCommand() *cobra.Command {
	var load func(*cobra.Command) (config.Config, error)
	check := &cobra.Command{
		Use: "check", Short: "Check the server's settings, and show what they come to", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(c)
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings {
				s.say("%s %s", s.yellow(s.Stderr, "warning:"), w)
			}
			all := map[string]string{}
			var pairs []string
			for _, k := range config.Keys() {
				all[k.Name] = k.Value(cfg)
				pairs = append(pairs, k.Name, k.Value(cfg))
			}
			return s.show(all, func() { s.fields(pairs...) })
		},
	}
	load = s.addConfig(check)
	return group("config", "Check the server's settings", nil, check)
}

func (s *session) pythonCommand() *cobra.Command {
	var load func(*cobra.Command) (config.Config, error)
	install := &cobra.Command{
		Use: "install", Short: "Make the virtual environment that actions run in", Args: args(0, 0),
		Long: "Make the virtual environment that actions run in, from the locked list that this\nslipway carries. Run it once on each machine that works; again after an upgrade.",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(c)
			if err != nil {
				return err
			}
			if s.PythonInstall == nil {
				return usagef("this program was built without the server")
			}
			return s.PythonInstall(c.Context(), cfg, s.Stdout)
		},
	}
	load = s.addConfig(install)
	return group("python", "Prepare Python for actions", nil, install)
}

// addConfig gives a command --config and one flag for each setting of the server, and
// returns what loads them.
func (s *session) addConfig(c *cobra.Command) func(*cobra.Command) (config.Config, error) {
	var file string
	c.Flags().StringVar(&file, "config", "", "the file of settings (default: SLIPWAY_CONFIG, or slipway.toml where one is)")
	must(c.MarkFlagFilename("config", "toml"))
	for _, k := range config.Keys() {
		usage := k.Doc
		if k.Default != "" {
			usage += " (default: " + k.Default + ")"
		}
		c.Flags().String(k.Flag, "", usage)
		if k.Bool {
			c.Flags().Lookup(k.Flag).NoOptDefVal = "true"
		}
		if len(k.OneOf) > 0 {
			must(c.RegisterFlagCompletionFunc(k.Flag, cobra.FixedCompletions(k.OneOf, cobra.ShellCompDirectiveNoFileComp)))
		}
	}
	return func(c *cobra.Command) (config.Config, error) {
		flags := map[string]string{}
		for _, k := range config.Keys() {
			if f := c.Flags().Lookup(k.Flag); f != nil && f.Changed {
				flags[k.Flag] = f.Value.String()
			}
		}
		return config.Load(s.configFile(file), s.Environ, flags)
	}
}

// configFile finds the file of settings: the one that is named, else slipway.toml in the
// current directory or in /etc/slipway, else none.
func (s *session) configFile(named string) string {
	if named != "" {
		return named
	}
	if named = s.getenv("SLIPWAY_CONFIG"); named != "" {
		return named
	}
	for _, path := range []string{"slipway.toml", filepath.Join("/etc", "slipway", "slipway.toml")} {
		if st, err := os.Stat(path); err == nil && !st.IsDir() {
			return path
		}
	}
	return ""
}

func (s *session) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version of this program", Args: args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			v := strings.TrimPrefix(s.Version, "v")
			return s.show(map[string]string{"version": v}, func() { s.print("slipway %s", v) })
		},
	}
}
