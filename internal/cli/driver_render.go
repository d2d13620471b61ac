package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/author"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// renderFlags say which application a driver is rendered for.
type renderFlags struct {
	version, file, env, only, kube string
	set                            []string
}

func (s *session) driverRenderCommand() *cobra.Command {
	var f renderFlags
	var at authorFlags
	c := &cobra.Command{
		Use: "render [DIRECTORY]", Short: "Show the values and manifests that a driver makes", Args: args(0, 1),
		Long: `Show what a driver makes of an application: the chart's values, and the
manifests as they would be applied, with what the team sets on components in
them. Nothing is applied; neither a server nor a cluster is asked.

Parameters have their defaults, those of --application's file, and on top what
--set says: text as it is, everything else as JSON (--set workers=3,
--set 'hosts=["a","b"]'), a secret by the name it is stored under
(--set license=secret:NAME). No secret's value is ever needed or shown: where
one is meant stands a reference.

With -o json or -o yaml, values and manifests are one document. Otherwise each
is YAML; --only manifests prints what kubectl takes.`,
		Example: `  slipway driver render --app-version 1.1.0 --set log_level=debug
  slipway driver render ./guestbook --application guestbook.toml -e shop/dev
  slipway driver render --only manifests | kubectl apply --dry-run=server -f -`,
		ValidArgsFunction: directories,
		RunE: func(c *cobra.Command, a []string) error {
			tools, clean, err := s.authorTools(at)
			if err != nil {
				return err
			}
			defer clean()
			p, err := s.preview(directory(a), f)
			if err != nil {
				return err
			}
			out, err := tools.Preview(c.Context(), p)
			if err != nil {
				return err
			}
			return s.showRendered(p, out, f.only)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.version, "app-version", "", "the application's version (default: the file's, or the lowest that the driver supports)")
	fl.StringArrayVar(&f.set, "set", nil, "a parameter: NAME=VALUE; may be repeated")
	fl.StringVar(&f.file, "application", "", "an application's file, whose parameters and components count")
	fl.StringVar(&f.only, "only", "", "print one part: values or manifests")
	fl.StringVar(&f.kube, "kube-version", "", "the Kubernetes version that the chart is told (default: "+author.KubeVersion+")")
	fl.StringVarP(&f.env, "environment", "e", "", "the environment that it is rendered for: PROJECT/ENVIRONMENT (default: example/check)")
	must(c.MarkFlagFilename("application", "toml"))
	must(c.RegisterFlagCompletionFunc("only", cobra.FixedCompletions([]string{"values", "manifests"}, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

// preview gathers a driver and the application that it is to be looked at with.
func (s *session) preview(dir string, f renderFlags) (author.Preview, error) {
	p := author.Preview{Kube: f.kube}
	if f.only != "" && f.only != "values" && f.only != "manifests" {
		return p, usagef("--only is %q", f.only).hint("use values or manifests")
	}
	var err error
	if p.Bundle, err = spec.ReadBundleDir(dir); err != nil {
		return p, err
	}
	d, notes, err := spec.ParseDriver(p.Bundle)
	if err != nil {
		return p, located(dir, err)
	}
	for _, n := range notes {
		s.say("%s %s", s.yellow(s.Stderr, "warning:"), n)
	}
	p.Spec = d
	if f.env != "" {
		project, name, err := s.environment(f.env)
		if err != nil {
			return p, err
		}
		p.Environment = slipway.Environment{Project: project, Name: name, Namespace: project + "-" + name}
	}
	if f.file != "" {
		if p.App, p.At, err = s.readApplication(f.file); err != nil {
			return p, err
		}
		if p.App.Driver.Version != d.Version {
			s.say("%s %s names version %s of the driver; this is %s", s.yellow(s.Stderr, "warning:"), f.file, p.App.Driver.Version, d.Version)
		}
	} else {
		parameters, err := spec.ExampleParameters(d)
		if err != nil {
			return p, err
		}
		p.App = spec.ExampleApplication(d, "", parameters)
	}
	p.App.App.Version = cmp.Or(f.version, p.App.App.Version, spec.SupportedBounds(d)[0])
	for _, pair := range f.set {
		name, text, ok := strings.Cut(pair, "=")
		if !ok {
			return p, usagef("--set %s has no value", pair).hint("write --set NAME=VALUE")
		}
		v, err := spec.ParameterFromText(d, name, text)
		if err != nil {
			return p, err
		}
		if p.App.Parameters == nil {
			p.App.Parameters = map[string]any{}
		}
		p.App.Parameters[name] = v
	}
	return p, nil
}

// readApplication reads an application's file and where its parts stand.
func (s *session) readApplication(path string) (slipway.ApplicationSpec, spec.Positions, error) {
	in, _, err := s.readSpec(path)
	if err != nil {
		return slipway.ApplicationSpec{}, spec.Positions{}, err
	}
	app, err := spec.ParseApplication([]byte(in.Spec), in.File)
	return app, spec.PositionsOf([]byte(in.Spec), in.File), err
}

// located gives the faults of an error the path that an editor opens.
func located(dir string, err error) error {
	var e *slipway.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		return err
	}
	out := *e
	out.Fields = inDirectory(dir, e.Fields)
	return &out
}

// rendering is what a program reads.
type rendering struct {
	Driver     string           `json:"driver"`
	AppVersion string           `json:"app_version"`
	Values     map[string]any   `json:"values,omitempty"`
	Manifests  []map[string]any `json:"manifests,omitempty"`
	Hooks      []string         `json:"chart_hooks,omitempty"`
	Notes      []string         `json:"notes,omitempty"`
}

func (s *session) showRendered(p author.Preview, out author.Rendered, only string) error {
	for _, n := range out.Notes {
		s.say("%s %s", s.yellow(s.Stderr, "note:"), n)
	}
	if s.format == "table" {
		if only != "manifests" {
			text, err := yaml.Marshal(out.Values)
			if err != nil {
				return fmt.Errorf("write the values: %w", err)
			}
			s.print("# values of %s %s, for version %s", p.Spec.Name, p.Spec.Version, p.App.App.Version)
			if _, err := s.Stdout.Write(text); err != nil {
				return err
			}
		}
		if only == "values" {
			return nil
		}
		_, err := s.Stdout.Write(out.Manifests)
		if len(out.Hooks) > 0 {
			s.say("%s the chart has hooks of its own, which Helm runs: %s", s.yellow(s.Stderr, "note:"), strings.Join(out.Hooks, ", "))
		}
		return err
	}
	r := rendering{Driver: p.Spec.Name + " " + p.Spec.Version, AppVersion: p.App.App.Version, Hooks: out.Hooks, Notes: out.Notes}
	if only != "manifests" {
		r.Values = out.Values
	}
	if only != "values" {
		var err error
		if r.Manifests, err = documents(out.Manifests); err != nil {
			return err
		}
	}
	_, err := s.machine(r)
	return err
}

// documents reads a stream of YAML documents.
func documents(text []byte) ([]map[string]any, error) {
	out := []map[string]any{}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc map[string]any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the manifests: %w", err)
		}
		if doc != nil {
			out = append(out, doc)
		}
	}
}
