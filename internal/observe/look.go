package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/redact"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// wanted is how an application is to stand, as our rows have it.
type wanted struct {
	app      slipway.Application
	applied  slipway.Revision // the revision on the cluster
	states   []slipway.ComponentState
	secrets  []slipway.Secret
	sealed   map[string][]byte
	busy     string // the task that is at work; empty: none
	standing map[string]kube.Standing
}

func (o *Observer) read(ctx context.Context, id int64) (w wanted, err error) {
	err = o.Store.Read(ctx, func(tx *store.Tx) error {
		w, err = readWanted(ctx, tx, id)
		return err
	})
	return w, err
}

func readWanted(ctx context.Context, tx *store.Tx, id int64) (w wanted, err error) {
	if w.app, err = tx.Application(ctx, id); err != nil || w.app.Applied == 0 || w.app.State == slipway.AppDeleted {
		return w, err
	}
	if w.applied, err = tx.Revision(ctx, id, w.app.Applied); err != nil {
		return w, err
	}
	open, err := tx.Tasks(ctx, store.TaskFilter{ApplicationID: id, Open: true}, store.Page{Limit: 1})
	if err != nil {
		return w, err
	}
	for _, t := range open.Items {
		w.busy = fmt.Sprintf("task %d is at work: %s", t.ID, t.Title)
	}
	if w.states, err = tx.ComponentStates(ctx, id); err != nil {
		return w, err
	}
	w.standing = map[string]kube.Standing{}
	for name, c := range w.applied.Spec.Components {
		w.standing[name] = kube.Standing{Replicas: c.Replicas}
	}
	for _, c := range w.states {
		s := w.standing[c.Component]
		s.Stopped = c.Stopped
		w.standing[c.Component] = s
	}
	used := spec.SecretsOf(w.applied.Spec)
	if len(used) == 0 {
		return w, nil
	}
	all, err := tx.Secrets(ctx, w.app.EnvironmentID)
	if err != nil {
		return w, err
	}
	w.sealed = map[string][]byte{}
	for _, s := range all {
		if !slices.Contains(used, s.Name) {
			continue
		}
		w.secrets = append(w.secrets, s)
		if w.sealed[s.Name], err = tx.SecretSealed(ctx, w.app.EnvironmentID, s.Name); err != nil {
			return w, err
		}
	}
	return w, nil
}

// see asks the cluster.
func (o *Observer) see(ctx context.Context, w wanted, began time.Time) (Sight, error) {
	s := Sight{Began: began, Revision: w.app.Applied}
	if o.NoCluster != nil {
		return s, o.NoCluster
	}
	release := spec.HelmRelease(w.app.Name)
	values, err := o.values(w)
	if err != nil {
		return s, err
	}
	ms, err := o.Charts.Applied(ctx, w.app, release)
	if slipway.Is(err, slipway.NotFound) {
		// Without Helm's record nobody knows what else is missing; a deploy makes it anew.
		s.Differences = append(s.Differences, slipway.Difference{Object: "Release " + release, Kind: slipway.DiffMissing})
		return s, nil
	}
	if err != nil {
		return s, err
	}
	known := make([]string, 0, len(values))
	for _, v := range values {
		known = append(known, string(v))
	}
	found, err := o.Cluster.Compare(ctx, w.app, kube.Standings(ms, w.standing), kube.CompareOptions{Mask: kube.MaskBy(redact.New(known...).String)})
	if err != nil {
		return s, err
	}
	s.Differences, s.Unable = found.Differences, found.Unable
	if used := spec.SecretsOf(w.applied.Spec); len(used) > 0 {
		more, err := o.Cluster.CompareSecret(ctx, w.app.Namespace, spec.SecretObject(release), w.written(values, kube.SecretVersions(ms)))
		if err != nil {
			return s, err
		}
		s.Differences = append(s.Differences, more...)
	}
	if w.app.Revision != w.app.Applied {
		return s, nil // the record may name a change that failed before anything was applied
	}
	more, err := o.Cluster.CompareRecord(ctx, w.app, kube.Record{
		Revision: w.app.Applied, Version: w.app.AppVersion,
		Driver: slipway.DriverRef{Name: w.app.DriverName, Version: w.app.DriverVersion},
	})
	s.Differences = append(s.Differences, more...)
	return s, err
}

// values opens the secrets that the application uses.
func (o *Observer) values(w wanted) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, sealed := range w.sealed {
		v, err := o.Box.Open(secret.Place{Installation: o.Installation.ID, Environment: w.app.EnvironmentID, Name: name}, sealed)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

// written is what the application's Secret was written with. A secret that was given
// another value since is known by its name alone: the new value comes with the next change.
func (w wanted) written(values map[string][]byte, versions string) map[string][]byte {
	out := map[string][]byte{}
	for _, name := range spec.SecretsOf(w.applied.Spec) {
		out[name] = nil
	}
	for _, s := range w.secrets {
		if slices.Contains(strings.Fields(versions), fmt.Sprintf("%s@%d", s.Name, s.Version)) {
			out[s.Name] = values[s.Name]
		}
	}
	return out
}

// longestMessage bounds what the record in the cluster says.
const longestMessage = 1000

// tellCluster writes the outcome on the application's record there, for those who read it
// with kubectl. The row is the truth; a cluster that does not take it hears it next time.
func (o *Observer) tellCluster(ctx context.Context, app slipway.Application, was, now slipway.Drift) {
	ctx, stop := context.WithTimeout(ctx, o.Within)
	defer stop()
	err := o.Cluster.SetRecordDrift(ctx, app, now.State(), Sentence(now))
	if err == nil || slipway.Is(err, slipway.NotFound) {
		return
	}
	level := o.Log.DebugContext
	if news(was, now) {
		level = o.Log.WarnContext
	}
	level(ctx, "the cluster's record does not say what drifted", "application", app.Ref(), "error", err)
}

// Sentence says in one line what differs.
func Sentence(d slipway.Drift) string {
	if len(d.Found) == 0 {
		return "the cluster is as it was applied"
	}
	var b strings.Builder
	for i, f := range d.Found {
		text := f.Object + " " + f.Text()
		if b.Len()+len(text) > longestMessage {
			fmt.Fprintf(&b, "; and %d more", len(d.Found)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(text)
	}
	return b.String()
}

func asError(err error, into **slipway.Error) bool { return errors.As(err, into) }
