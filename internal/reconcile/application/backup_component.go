package application

import (
	"context"
	"fmt"
	"slices"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// dumpFile is the name of a database's dump in a backup.
const dumpFile = "database.dump"

// workloadsOf lists the workloads of a component, of which there must be one.
func (r *Reconciler) workloadsOf(ctx context.Context, w *work, c slipway.BackedUp) ([]kube.Workload, error) {
	ws, err := r.Cluster.Workloads(ctx, w.snap.Application, c.Selector)
	if err != nil {
		return nil, err
	}
	if len(ws) == 0 {
		return nil, slipway.Errorf(slipway.Conflict, "the component %s has no workload on the cluster, so its data cannot be found", c.Name).
			WithHint("deploy the application again, then back it up")
	}
	return ws, nil
}

// canBackUp finds out whether a component's data can be found, before anything stops.
func (r *Reconciler) canBackUp(ctx context.Context, w *work, c slipway.BackedUp) error {
	switch c.Backup.Kind {
	case slipway.BackupDisk:
		ws, err := r.workloadsOf(ctx, w, c)
		if err != nil {
			return err
		}
		_, err = r.Cluster.Claims(ctx, ws, c.Backup.Volumes)
		return err
	case slipway.BackupPostgres:
		_, err := r.database(ctx, w, c)
		return err
	}
	return nil
}

// backupComponent copies the data of one component into the location. What was recorded
// by a process that died is not copied again.
func (r *Reconciler) backupComponent(ctx context.Context, w *work, name string) error {
	c := slipway.BackedUp{Name: name, Component: w.snap.Driver.Spec.Components[name]}
	if c.Backup.Kind == slipway.BackupPostgres {
		return r.dump(ctx, w, c)
	}
	ws, err := r.workloadsOf(ctx, w, c)
	if err != nil {
		return err
	}
	claims, err := r.Cluster.Claims(ctx, ws, c.Backup.Volumes)
	if err != nil {
		return err
	}
	for _, claim := range claims {
		if err := r.copyClaim(ctx, w, c, claim); err != nil {
			return err
		}
	}
	return nil
}

// recorded returns a file of the backup by its name.
func recorded(b slipway.Backup, name string) (slipway.BackupFile, bool) {
	i := slices.IndexFunc(b.Files, func(f slipway.BackupFile) bool { return f.Name == name })
	if i < 0 {
		return slipway.BackupFile{}, false
	}
	return b.Files[i], true
}

func (r *Reconciler) copyClaim(ctx context.Context, w *work, c slipway.BackedUp, claim kube.Claim) error {
	file := slipway.BackupFile{Component: c.Name, Kind: string(slipway.BackupDisk), Volume: claim.Name, Name: c.Name + "/" + claim.Name + ".tar.zst"}
	o := order(slipway.MovePut, w.snap.Location)
	o.Object, o.Path, o.Tree = objectPath(w.snap, file.Name), slipway.MoverData, true
	return r.put(ctx, w, file, kube.MoveSpec{Order: o, Claim: claim.Name, Node: claim.Node, Like: &claim.Workload})
}

func (r *Reconciler) dump(ctx context.Context, w *work, c slipway.BackedUp) error {
	database, err := r.database(ctx, w, c)
	if err != nil {
		return err
	}
	database.Script = dumpScript
	file := slipway.BackupFile{Component: c.Name, Kind: string(slipway.BackupPostgres), Name: c.Name + "/" + dumpFile}
	o := order(slipway.MovePut, w.snap.Location)
	o.Object, o.Path = objectPath(w.snap, file.Name), slipway.MoverFiles+"/"+dumpFile
	return r.put(ctx, w, file, kube.MoveSpec{Order: o, Database: database})
}

// put carries one file to the location, and records it with its checksum.
func (r *Reconciler) put(ctx context.Context, w *work, file slipway.BackupFile, m kube.MoveSpec) error {
	what := "put " + file.Name
	if _, done := recorded(w.snap.Backup, file.Name); done {
		return r.endMove(ctx, w, kube.MoveName(w.release(), w.snap.Task.ID, what))
	}
	return r.carry(ctx, w, what, m, func(res slipway.MoveResult) error {
		if res.Size == 0 || len(res.SHA256) != 64 {
			return failed("the mover did not say what it wrote, so %s counts for nothing", file.Name)
		}
		file.Size, file.SHA256 = res.Size, res.SHA256
		err := w.write(func(ctx context.Context, tx *store.Tx) error { return tx.AddBackupFile(ctx, w.snap.Backup.ID, file) })
		if err != nil {
			return err
		}
		return w.note(fmt.Sprintf("%s: %s", file.Name, sizeText(file.Size)))
	})
}

// sizeText writes a size as people read it.
func sizeText(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	value, i := float64(n), -1
	for value >= unit && i < 4 {
		value, i = value/unit, i+1
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTP"[i])
}
