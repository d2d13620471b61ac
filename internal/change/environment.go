package change

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Limits of an environment's settings, which every context of an action carries.
const (
	maxSettings     = 100
	maxSettingName  = 100
	maxSettingValue = 4 << 10
)

// maxNamespace is Kubernetes' limit.
const maxNamespace = 63

// CreateEnvironment makes an environment of a project. Administrators may: it takes a
// namespace of the cluster.
func (s *Service) CreateEnvironment(ctx context.Context, c slipway.Caller, in CreateEnvironmentInput) (slipway.Environment, error) {
	if err := needWhole(c, slipway.Administrator); err != nil {
		return slipway.Environment{}, err
	}
	if in.Namespace == "" {
		in.Namespace = defaultNamespace(in.Project, in.Name)
	}
	var f faults
	f.is("project", slipway.CheckName("a project", in.Project))
	f.is("name", slipway.CheckName("an environment", in.Name))
	checkNamespace(&f, in.Namespace)
	checkSettings(&f, in.Settings)
	if err := f.err("the environment"); err != nil {
		return slipway.Environment{}, err
	}
	r := request{c, in.IdempotencyKey, "environment.create", []any{in.Project, in.Name, in.Namespace, in.Settings}}
	e, _, err := once(ctx, s.Store, r, func(tx *store.Tx) (slipway.Environment, error) {
		p, err := tx.ProjectByName(ctx, in.Project)
		if e, ok := errorOf(err); ok && e.Kind == slipway.NotFound {
			return slipway.Environment{}, e.WithHint("slipway projects create %s", in.Project)
		} else if err != nil {
			return slipway.Environment{}, err
		}
		e, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: in.Name, Namespace: in.Namespace, Settings: in.Settings})
		if err != nil {
			return e, err
		}
		return e, record(ctx, tx, c, deed{"environment.create", "environment", e.ID, e.Ref(), nil,
			facts{"namespace": e.Namespace, "settings": e.Settings}})
	})
	return e, err
}

// SetEnvironmentSettings replaces an environment's settings. Applications take them up at
// their next change. Administrators may.
func (s *Service) SetEnvironmentSettings(ctx context.Context, c slipway.Caller, project, name string, settings map[string]string) (e slipway.Environment, err error) {
	if err := need(c, slipway.Administrator); err != nil {
		return e, err
	}
	var f faults
	checkSettings(&f, settings)
	if err := f.err("the environment"); err != nil {
		return e, err
	}
	err = s.Store.InTx(ctx, func(tx *store.Tx) error {
		before, err := environment(ctx, tx, c, project, name)
		if err != nil {
			return err
		}
		if err := tx.SetEnvironmentSettings(ctx, before.ID, settings); err != nil {
			return err
		}
		if e, err = tx.Environment(ctx, before.ID); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"environment.settings", "environment", e.ID, e.Ref(),
			facts{"settings": before.Settings}, facts{"settings": e.Settings}})
	})
	return e, err
}

// DeleteEnvironment removes an environment without applications, with its secrets.
// Administrators may.
func (s *Service) DeleteEnvironment(ctx context.Context, c slipway.Caller, project, name string) error {
	if err := needWhole(c, slipway.Administrator); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		e, err := environment(ctx, tx, c, project, name)
		if err != nil {
			return err
		}
		if err := tx.DeleteEnvironment(ctx, e.ID); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"environment.delete", "environment", e.ID, e.Ref(),
			facts{"namespace": e.Namespace, "settings": e.Settings}, nil})
	})
}

// defaultNamespace is <project>-<environment>, cut with a part of its hash when that is
// too long.
func defaultNamespace(project, environment string) string {
	ns := project + "-" + environment
	if len(ns) <= maxNamespace {
		return ns
	}
	sum := sha256.Sum256([]byte(ns))
	return strings.TrimRight(ns[:maxNamespace-9], "-") + "-" + hex.EncodeToString(sum[:4])
}

var namespacePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func checkNamespace(f *faults, ns string) {
	switch {
	case len(ns) > maxNamespace || !namespacePattern.MatchString(ns):
		f.add("namespace", fmt.Sprintf("%q cannot name a namespace", ns), "use lower-case letters, digits and hyphens, at most 63 characters")
	case slipway.IsRunnerNamespace(ns):
		f.add("namespace", fmt.Sprintf("%q is how the namespaces of runner applications are called", ns), "name another")
	case ns == "default" || strings.HasPrefix(ns, "kube-"):
		// What a driver's chart does in there could take the cluster down.
		f.add("namespace", fmt.Sprintf("the namespace %s belongs to the cluster itself", ns), "leave it out, or name another")
	}
}

var settingPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func checkSettings(f *faults, settings map[string]string) {
	if len(settings) > maxSettings {
		f.add("settings", fmt.Sprintf("there are %d settings; at most %d are allowed", len(settings), maxSettings), "leave some out")
		return
	}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		switch {
		case !settingPattern.MatchString(k) || len(k) > maxSettingName:
			f.add("settings", fmt.Sprintf("%q cannot name a setting", k), "use letters, digits and _ . -, at most 100 characters")
		case len(settings[k]) > maxSettingValue:
			f.add("settings."+k, fmt.Sprintf("it has %d bytes; at most %d are allowed", len(settings[k]), maxSettingValue), "shorten it")
		}
	}
}
