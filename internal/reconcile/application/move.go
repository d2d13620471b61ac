package application

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/redact"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// objectPath is where a file of the snapshot's backup stands in its location.
func objectPath(s Snapshot, name string) string {
	return path.Join(s.Location.Prefix(), s.Backup.Path, name)
}

// order is what the mover is told, as far as the location says it.
func order(do slipway.MoveKind, l slipway.BackupLocation) slipway.MoveOrder {
	o := slipway.MoveOrder{Do: do, Kind: l.Kind}
	if l.Kind == slipway.LocationVolume {
		o.Root = slipway.MoverStore
		return o
	}
	o.S3 = l.S3
	return o
}

// moveFiles are files of a backup as the mover knows them.
func moveFiles(s Snapshot, files []slipway.BackupFile) []slipway.MoveFile {
	out := make([]slipway.MoveFile, len(files))
	for i, f := range files {
		out[i] = slipway.MoveFile{Object: objectPath(s, f.Name), Size: f.Size, SHA256: f.SHA256}
	}
	return out
}

// carry has the mover do an order in a Job, and gives its result to keep before the Job
// goes: a process that dies in between finds the Job again, or what was kept.
func (r *Reconciler) carry(ctx context.Context, w *work, what string, m kube.MoveSpec, keep func(slipway.MoveResult) error) error {
	s := w.snap
	keys, err := r.credentials(ctx, s.Application, s.Location)
	if err != nil {
		return err
	}
	m.App, m.TaskID, m.TaskKind, m.StepID, m.Image = s.Application, s.Task.ID, s.Task.Kind, w.step.ID, r.MoverImage
	m.Name = kube.MoveName(spec.HelmRelease(s.Application.Name), s.Task.ID, what)
	m.Credentials = keys.files
	if s.Location.Kind == slipway.LocationVolume {
		m.StoreClaim = s.Location.Volume.Claim
	}
	mask := keys.mask(r.redactor(ctx, s.Application, s.Wanted.Spec))
	result, err := r.Cluster.RunMove(ctx, m, kube.JobOptions{Redact: mask, ImageAfter: r.ImageAfter})
	switch {
	case err != nil && errors.Is(context.Cause(ctx), task.ErrCancelled):
		return errors.Join(task.ErrCancelled, r.endMove(ctx, w, m.Name))
	case err != nil && (interrupted(ctx, err) || kube.Away(err)):
		return err // the Job goes on, and is found again
	case err != nil:
		if result.Output != "" {
			if keep := w.step.SetOutput(result.Output, result.Cut); keep != nil {
				return bookErr(keep)
			}
		}
		return errors.Join(err, r.endMove(ctx, w, m.Name))
	}
	for _, line := range result.Notes {
		if err := w.note(mask(line)); err != nil {
			return err
		}
	}
	if keep != nil {
		if err := keep(result.MoveResult); err != nil {
			return err
		}
	}
	return r.endMove(ctx, w, m.Name)
}

// endMove removes a Job of the mover and its Secret. It does so also in a cancelled task.
func (r *Reconciler) endMove(ctx context.Context, w *work, name string) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer stop()
	if err := r.Cluster.EndMove(ctx, w.snap.Application, name); err != nil {
		return fmt.Errorf("remove the Job %s: %w", name, err)
	}
	return nil
}

// keys are the credentials of a location while they are on their way to a Job.
type keys struct{ files map[string][]byte }

// mask covers the credentials beside what is covered anyway.
func (k keys) mask(also func(string) string) func(string) string {
	var values []string
	for _, v := range k.files {
		values = append(values, string(v))
	}
	own := redact.New(values...).String
	return func(text string) string { return also(own(text)) }
}

// credentials opens the secrets that a location names.
func (r *Reconciler) credentials(ctx context.Context, app slipway.Application, l slipway.BackupLocation) (keys, error) {
	if l.Kind == slipway.LocationVolume {
		return keys{}, nil
	}
	out := keys{map[string][]byte{}}
	for file, name := range map[string]string{"access-key": l.S3.AccessKeySecret, "secret-key": l.S3.SecretKeySecret} {
		var sealed []byte
		err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
			sealed, err = tx.SecretSealed(ctx, l.EnvironmentID, name)
			return err
		})
		if slipway.Is(err, slipway.NotFound) {
			return keys{}, slipway.Errorf(slipway.NotFound, "the backup location %s needs the secret %q, and %s/%s has none of that name", l.Name, name, app.Project, app.Environment).
				WithHint("set it with  slipway secrets set %s -e %s/%s", name, app.Project, app.Environment)
		}
		if err != nil {
			return keys{}, bookErr(err)
		}
		if out.files[file], err = r.Box.Open(secret.Place{Installation: r.Installation.ID, Environment: l.EnvironmentID, Name: name}, sealed); err != nil {
			return keys{}, err
		}
	}
	return out, nil
}
