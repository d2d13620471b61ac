package spec

import (
	"regexp"
	"slices"

	"slipway.dev/slipway/internal/slipway"
)

var (
	backupKinds = []string{string(slipway.BackupDisk), string(slipway.BackupPostgres), string(slipway.BackupAction)}
	// laterBackups are strategies of the format that this slipway does not have. Drivers with
	// one load, and are backed up by an action of theirs or not at all.
	laterBackups = []string{"mariadb", "mongodb", "neo4j"}
	shellName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// backup reads how a component is backed up.
func (d *driverReader) backup(n *node, path string) *slipway.ComponentBackup {
	if !d.table(n, path, "kind", "order", "volume", "volumes", "stop", "url_env", "image") {
		return nil
	}
	kind := d.need(n, path, "kind", "write kind: "+listOf(backupKinds, "or"))
	b := slipway.ComponentBackup{
		Kind:   slipway.BackupKind(d.filled(kind, path+".kind", "")),
		Order:  int(d.whole(n.get("order"), path+".order", -1000, 1000)),
		Stop:   d.boolean(n.get("stop"), path+".stop"),
		URLEnv: d.text(n.get("url_env"), path+".url_env"),
		Image:  d.text(n.get("image"), path+".image"),
	}
	switch k := string(b.Kind); {
	case k == "":
	case slices.Contains(laterBackups, k):
		d.note(kind.pos, path+".kind", "write kind: action", "this slipway has no strategy %s; the actions of the hooks backup and restore have to do it", k)
	case !slices.Contains(backupKinds, k):
		d.fault(kind.pos, path+".kind", didYouMean(k, slices.Concat(backupKinds, laterBackups)), "%q is no strategy", cut(k, 40))
	}
	b.Volumes = d.volumes(n, path, b.Kind)
	for key, of := range map[string]slipway.BackupKind{"volume": slipway.BackupDisk, "volumes": slipway.BackupDisk,
		"url_env": slipway.BackupPostgres, "image": slipway.BackupPostgres} {
		if v := n.get(key); v != nil && b.Kind != of && b.Kind != "" {
			d.fault(v.pos, path+"."+key, "leave it out", "belongs to kind: %s", of)
		}
	}
	if b.URLEnv != "" && !shellName.MatchString(b.URLEnv) {
		d.fault(n.get("url_env").pos, path+".url_env", "write url_env: DATABASE_URL", "%q cannot name a variable", cut(b.URLEnv, 60))
	}
	if b.Kind == slipway.BackupPostgres && b.Stop {
		d.fault(n.get("stop").pos, path+".stop", "leave it out: the dump sees one moment of the database", "a server that is stopped cannot be dumped")
	}
	return &b
}

// volumes reads volume or volumes: names in the pod template.
func (d *driverReader) volumes(n *node, path string, kind slipway.BackupKind) []string {
	var out []string
	single, several := n.get("volume"), n.get("volumes")
	add := func(v *node, p string) {
		name := d.filled(v, p, "")
		if name != "" && !dnsLabel.MatchString(name) {
			d.fault(v.pos, p, "it is the name of a volume in the pod template", "%q cannot name a volume", cut(name, 80))
		}
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if single != nil && several != nil {
		d.fault(single.pos, path+".volume", "keep volumes", "is there beside volumes")
	}
	if single != nil {
		add(single, path+".volume")
	}
	if d.shaped(several, path+".volumes", listShape, "write a list: [data]") {
		for i, v := range several.list {
			add(v, item(path+".volumes", i))
		}
	}
	if kind == slipway.BackupDisk && len(out) == 0 {
		d.fault(n.pos, path+".volumes", "name the volumes of the pod template that hold the data: volumes: [data]", "is missing")
	}
	return out
}

// backedUp looks at strategies and actions together.
func (d *driverReader) backedUp(s slipway.DriverSpec, components *node) {
	for _, c := range s.BackedUp() {
		if !c.Backup.Kind.ByAction() {
			continue
		}
		for _, h := range []slipway.Hook{slipway.BackupHook, slipway.RestoreHook} {
			if len(s.ActionsOf(h, slipway.Core)) > 0 {
				continue
			}
			n := components.get(c.Name)
			if n == nil {
				n = components // a list of components
			}
			tell := d.note
			if c.Backup.Kind == slipway.BackupAction && h == slipway.BackupHook {
				tell = d.fault
			}
			tell(n.pos, join("spec.components", c.Name)+".backup.kind", "add an action with hook: "+string(h),
				"leaves it to an action, and no action has hook: %s", h)
		}
	}
}
