package application

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// checkRestore finds out whatever can be known before anything stops, and freezes the
// context of the restore's actions.
func (r *Reconciler) checkRestore(ctx context.Context, w *work) error {
	s := w.snap
	if err := r.canMove(ctx); err != nil {
		return err
	}
	if err := spec.MayRestore(s.Backup, s.Application.Name, s.Wanted.Spec, s.Driver.Spec); err != nil {
		return err
	}
	for _, c := range s.Driver.Spec.BackedUp() {
		if err := r.canBackUp(ctx, w, c); err != nil { // what it needs is the same
			return err
		}
	}
	if err := r.filesFit(ctx, w); err != nil {
		return err
	}
	if _, err := r.credentials(ctx, s.Application, s.Location); err != nil {
		return err
	}
	return r.freezeBackup(ctx, w)
}

// filesFit holds the files of the backup against the components that are there: each file
// has its place, and each place its file.
func (r *Reconciler) filesFit(ctx context.Context, w *work) error {
	places, err := r.places(ctx, w)
	if err != nil {
		return err
	}
	for _, f := range w.snap.Backup.Files {
		if _, there := places[f.Name]; !there {
			return slipway.Errorf(slipway.Conflict, "backup %d holds %s, for which the application has no place now", w.snap.Backup.ID, f.Name).
				WithHint("deploy the configuration that it was taken of (revision %d), then restore", w.snap.Backup.Revision)
		}
		delete(places, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if err := w.note(fmt.Sprintf("the backup holds no %s; what is there now stays", name)); err != nil {
			return err
		}
	}
	return nil
}

// place is where a file of a backup goes.
type place struct {
	component slipway.BackedUp
	claim     kube.Claim // of disk
}

// places lists, by the names that the files of a backup have, where data is now.
func (r *Reconciler) places(ctx context.Context, w *work) (map[string]place, error) {
	out := map[string]place{}
	for _, c := range w.snap.Driver.Spec.BackedUp() {
		switch c.Backup.Kind {
		case slipway.BackupPostgres:
			out[c.Name+"/"+dumpFile] = place{component: c}
		case slipway.BackupDisk:
			ws, err := r.workloadsOf(ctx, w, c)
			if err != nil {
				return nil, err
			}
			claims, err := r.Cluster.Claims(ctx, ws, c.Backup.Volumes)
			if err != nil {
				return nil, err
			}
			for _, claim := range claims {
				out[c.Name+"/"+claim.Name+".tar.zst"] = place{c, claim}
			}
		}
	}
	return out, nil
}

// verifyBackup reads every file and compares it with what was recorded.
func (r *Reconciler) verifyBackup(ctx context.Context, w *work) error {
	o := order(slipway.MoveVerify, w.snap.Location)
	o.Files = moveFiles(w.snap, w.snap.Backup.Files)
	return r.carry(ctx, w, "verify", kube.MoveSpec{Order: o}, func(res slipway.MoveResult) error {
		if res.Objects != len(o.Files) {
			return failed("the mover checked %d of %d files", res.Objects, len(o.Files))
		}
		return w.note(fmt.Sprintf("%d files are as they were backed up, %s", res.Objects, sizeText(res.Size)))
	})
}

// stopForRestore stops everything but the servers into which a dump is read: whoever
// writes meanwhile would write into two states of the data.
func (r *Reconciler) stopForRestore(ctx context.Context, w *work) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(w.snap.Driver.Spec.Components)) {
		b := w.snap.Driver.Spec.Components[name].Backup
		if b != nil && b.Kind == slipway.BackupPostgres && r.ownServer(ctx, w, name) {
			continue
		}
		names = append(names, name)
	}
	return r.stopForTask(ctx, w, names)
}

// ownServer reports whether a postgres component is the server itself, and not a program
// that only knows its address.
func (r *Reconciler) ownServer(_ context.Context, w *work, name string) bool {
	return w.snap.Driver.Spec.Components[name].Backup.URLEnv == ""
}

// restoreComponent puts the data of one component back. Done again, it reaches the same.
func (r *Reconciler) restoreComponent(ctx context.Context, w *work, name string) error {
	places, err := r.places(ctx, w)
	if err != nil {
		return err
	}
	for _, f := range w.snap.Backup.Files {
		at, there := places[f.Name]
		if f.Component != name || !there {
			continue
		}
		o := order(slipway.MoveGet, w.snap.Location)
		o.Files = moveFiles(w.snap, []slipway.BackupFile{f})
		m := kube.MoveSpec{}
		if at.component.Backup.Kind == slipway.BackupPostgres {
			if m.Database, err = r.database(ctx, w, at.component); err != nil {
				return err
			}
			m.Database.Script = restoreScript
			o.Path = slipway.MoverFiles + "/" + dumpFile
		} else {
			m.Claim, m.Node, m.Like = at.claim.Name, at.claim.Node, &at.claim.Workload
			o.Path, o.Tree = slipway.MoverData, true
		}
		m.Order = o
		if err := r.carry(ctx, w, "get "+f.Name, m, func(slipway.MoveResult) error { return w.note(fmt.Sprintf("%s: %s", f.Name, sizeText(f.Size))) }); err != nil {
			return err
		}
	}
	return nil
}
