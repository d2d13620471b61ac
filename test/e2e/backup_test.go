//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// moverImage is the image with the built slipway, which the tests' script loads.
func moverImage() string {
	if name := os.Getenv("SLIPWAY_TEST_IMAGE"); name != "" {
		return name
	}
	return "registry.example.com/slipway:test"
}

// nodeAddress is where pods reach a server of this machine.
func (w *installation) nodeAddress() string {
	return w.Kubectl("get", "nodes", "-o", `jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}`)
}

// s3Python is the interpreter that has moto and boto3.
func s3Python() string {
	if p := os.Getenv("SLIPWAY_TEST_S3_PYTHON"); p != "" {
		return p
	}
	return "python3"
}

// bucket is a bucket of a real S3 server: that of moto, which this machine's Python has.
type bucket struct {
	w        *installation
	endpoint string // as pods reach it
	local    string // as this test does
	name     string
}

func newBucket(w *installation) *bucket {
	w.T.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		w.T.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	log, err := os.Create(filepath.Join(w.Dir, "s3.log"))
	if err != nil {
		w.T.Fatal(err)
	}
	cmd := exec.Command(s3Python(), "-m", "moto.server", "-H", "0.0.0.0", "-p", fmt.Sprint(port))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		w.T.Fatalf("these tests need an S3 server: pip install 'moto[server]': %v", err)
	}
	w.T.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		log.Close()
	})
	b := &bucket{w: w, endpoint: fmt.Sprintf("http://%s:%d", w.nodeAddress(), port), local: fmt.Sprintf("http://127.0.0.1:%d", port), name: "backups"}
	world.Eventually(w.T, time.Minute, "the S3 server answers", func() (bool, string) {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPut, b.local+"/"+b.name, nil)
		if err != nil {
			return false, err.Error()
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err.Error()
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK, resp.Status
	})
	return b
}

// python asks the store as another program would, by boto3.
func (b *bucket) python(script string) string {
	b.w.T.Helper()
	head := fmt.Sprintf("import boto3\ns3 = boto3.client('s3', endpoint_url=%q, aws_access_key_id='a', aws_secret_access_key='b', region_name='us-east-1')\nbucket=%q\n", b.local, b.name)
	cmd := exec.Command(s3Python(), "-c", head+script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.w.T.Fatalf("the S3 server: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *bucket) objects() []string {
	return strings.Fields(b.python("for o in s3.list_objects_v2(Bucket=bucket).get('Contents', []): print(o['Key'])"))
}

// files makes a volume of the node for the application's claim, and returns its folder.
func (w *installation) volume(claim string) string {
	w.T.Helper()
	dir := filepath.Join(w.Dir, "volume-"+claim)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		w.T.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // the pods are nobody
		w.T.Fatal(err)
	}
	name := "slipway-" + w.namespace() + "-" + claim
	w.apply(fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: { name: %s }
spec:
  capacity: { storage: 1Gi }
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  claimRef: { namespace: %s, name: %s }
  hostPath: { path: %s, type: Directory }
`, name, w.namespace(), claim, dir))
	w.T.Cleanup(func() { w.Kubectl("delete", "pv", name, "--ignore-not-found", "--wait=false") })
	return dir
}

func (w *installation) apply(manifest string) {
	w.T.Helper()
	file := w.Write("manifest.yaml", manifest)
	if out := w.Kubectl("apply", "-f", file); !strings.Contains(out, "created") && !strings.Contains(out, "configured") && !strings.Contains(out, "unchanged") {
		w.T.Fatalf("kubectl apply: %s", out)
	}
}

// sql asks the application's database.
func (w *installation) sql(query string) string {
	w.T.Helper()
	return w.Kubectl("-n", w.namespace(), "exec", "notes-database-0", "-c", "postgres", "--", "psql", "-h", "/tmp", "-U", "notes", "-d", "notes", "-X", "-A", "-t", "-c", query)
}

// notes is the sample application with a version and the lines of its [backup].
func notes(version, backup string) string {
	out := fmt.Sprintf("schema_version = 1\nname = \"notes\"\ndriver = { name = \"notes\", version = \"1.0.0\" }\napp = { version = %q }\n\n"+
		"[components.database]\nsecrets = { POSTGRES_PASSWORD = \"notes-db\" }\n", version)
	if backup != "" {
		out += "\n[backup]\n" + backup + "\n"
	}
	return out
}

// backupWorld is an installation with the notes, a bucket, and data in both components.
func backupWorld(t *testing.T, backup string) (*installation, *bucket, string) {
	t.Helper()
	w := newWorld(t, "--backup-image", moverImage())
	w.loadDriver("notes")
	b := newBucket(w)
	for name, value := range map[string]string{"notes-db": "a-password-of-the-notes", "s3-key-id": "AKIAEXAMPLEEXAMPLE42", "s3-key": "the-secret-key-of-the-bucket"} {
		w.Write("value", value)
		w.MustIn("value", "secrets", "set", name, "-e", w.Env)
	}
	w.Must("backup", "location", "create", "nightly", "-e", w.Env, "--endpoint", b.endpoint, "--bucket", b.name, "--prefix", "slipway",
		"--access-key-secret", "s3-key-id", "--secret-key-secret", "s3-key")
	dir := w.volume("notes-files")
	w.wantState(w.Deploy(notes("1.0.0", backup)), "succeeded")
	w.sql("CREATE TABLE note (id int PRIMARY KEY, body text)")
	w.sql("INSERT INTO note SELECT i, 'note ' || i FROM generate_series(1, 1000) i")
	if got := w.sql("SELECT count(*) FROM note"); got != "1000" {
		t.Fatalf("the database has %q rows, want 1000", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, "letters"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"letters/first": "dear reader", "index": "first"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return w, b, dir
}

// backups lists the application's backups.
func (w *installation) backups() []wire.Backup {
	w.T.Helper()
	project, environment, _ := strings.Cut(w.Env, "/")
	all, _, err := w.API.Backups(w.T.Context(), client.BackupFilter{Project: project, Environment: environment, Application: "notes"}, client.Page{})
	if err != nil {
		w.T.Fatal(err)
	}
	return all
}

func (w *installation) asked(a wire.Accepted, err error) wire.Task {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Wait(a.Task.ID)
}

// TestBackupAndRestore backs real rows and files up to a real S3 server, damages both, and
// has them back. World: real cluster, real PostgreSQL, real Prefect, moto's S3, SQLite.
func TestBackupAndRestore(t *testing.T) {
	w, b, dir := backupWorld(t, `location = "nightly"`)

	out := w.Must("backup", "create", "notes", "-e", w.Env, "--wait")
	for _, step := range []string{"✓ Check the backup", "✓ Run the backup pre-hook", "✓ Stop the components", "✓ Back up database", "✓ Back up files", "✓ Start the components", "✓ Record the backup"} {
		if !strings.Contains(out, step) {
			t.Errorf("backup create --wait does not show %q:\n%s", step, out)
		}
	}
	all := w.backups()
	if len(all) != 1 || all[0].State != "complete" || all[0].AppVersion != "1.0.0" || all[0].Size == 0 || len(all[0].Files) != 2 {
		t.Fatalf("the backups are %+v", all)
	}
	backup := all[0]
	for _, f := range backup.Files {
		if want := "slipway/" + backup.Path + "/" + f.Name; !slices.Contains(b.objects(), want) {
			t.Errorf("the store has no %s; it has %q", want, b.objects())
		}
	}
	w.wantNothingLeft()

	// Damage: rows gone, a table of a later version, files changed and gone.
	w.sql("DROP TABLE note")
	w.sql("CREATE TABLE later (x int)")
	if err := os.RemoveAll(filepath.Join(dir, "letters")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stray"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	plan := w.Must("restore", "notes", "-e", w.Env, "--from", fmt.Sprint(backup.ID), "--plan")
	if !strings.Contains(plan, "overwrites  database: the database") || !strings.Contains(plan, "stops meanwhile  files") {
		t.Errorf("the plan of the restore is:\n%s", plan)
	}
	if _, errs, code := w.Run("", "restore", "notes", "-e", w.Env, "--from", fmt.Sprint(backup.ID)); code != 2 || !strings.Contains(errs, "--confirm notes") {
		t.Errorf("a restore that nobody confirmed ended with %d: %s", code, errs)
	}
	out = w.Must("restore", "notes", "-e", w.Env, "--from", fmt.Sprint(backup.ID), "--confirm", "notes", "--wait")
	for _, step := range []string{"✓ Check the files of the backup", "✓ Stop the components", "✓ Restore database", "✓ Restore files", "✓ Start the components", "✓ Run the restore post-hook"} {
		if !strings.Contains(out, step) {
			t.Errorf("restore --wait does not show %q:\n%s", step, out)
		}
	}
	if got := w.sql("SELECT count(*) || ' ' || min(body) FROM note"); got != "1000 note 1" {
		t.Errorf("after the restore the rows are %q", got)
	}
	if got := w.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename = 'later'"); got != "0" {
		t.Errorf("a table that the backup does not have is still there")
	}
	if got := w.sql("SELECT nspowner::regrole || ' ' || array_to_string(nspacl, ',') FROM pg_namespace WHERE nspname = 'public'"); got != "pg_database_owner pg_database_owner=UC/pg_database_owner,=U/pg_database_owner" {
		t.Errorf("the schema public is not as in a new database: %q", got)
	}
	if got := world.ReadFile(t, filepath.Join(dir, "letters", "first")); got != "dear reader" {
		t.Errorf("the letter is %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "stray")); !os.IsNotExist(err) {
		t.Errorf("a file that the backup does not have is still there: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "index")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the index is %v: %v", info, err)
	}
	w.wantNothingLeft()

	// What is wrong with a backup is found before anything stops.
	b.python(fmt.Sprintf("s3.put_object(Bucket=bucket, Key=%q, Body=b'nonsense')", "slipway/"+backup.Path+"/"+backup.Files[0].Name))
	task := w.asked(w.API.Restore(t.Context(), w.application("notes").ID, wire.RestoreFrom{Backup: backup.ID, Confirm: "notes"}, ""))
	w.wantState(task, "failed")
	if last := task.Steps[len(task.Steps)-1]; last.Name != "Check the files of the backup" || !strings.Contains(last.Error, "is not what was backed up") {
		t.Errorf("a restore of a changed file failed at %q with %q", last.Name, last.Error)
	}
	if !strings.Contains(task.Hint, "the backup is intact; remove the cause") {
		t.Errorf("the hint is %q", task.Hint)
	}

	w.Must("backup", "delete", fmt.Sprint(backup.ID), "--yes", "--wait")
	if left := b.objects(); len(left) != 0 {
		t.Errorf("after the deletion the store has %q", left)
	}
	if left := w.backups(); len(left) != 0 {
		t.Errorf("the deleted backup is still listed: %+v", left)
	}
}

// wantNothingLeft looks for Jobs and Secrets of the mover, which must not outlive a task.
func (w *installation) wantNothingLeft() {
	w.T.Helper()
	left := w.Kubectl("-n", w.namespace(), "get", "jobs,secrets", "-l", "slipway.dev/role=action", "-o", "name")
	for _, name := range strings.Fields(left) {
		if strings.Contains(name, "-backup-") {
			w.T.Errorf("left on the cluster: %s", name)
		}
	}
}

// TestBackupBeforeUpgrade has an upgrade take a backup first, and stop when that fails; and
// a restore to an older version refused. World: as above.
func TestBackupBeforeUpgrade(t *testing.T) {
	w, b, _ := backupWorld(t, "location = \"nightly\"\nbefore_upgrade = true")

	upgrade := w.Deploy(notes("1.1.0", "location = \"nightly\"\nbefore_upgrade = true"))
	w.wantState(upgrade, "succeeded")
	if got := stepNames(upgrade, "succeeded"); len(got) < 2 || got[1] != "Back up before the upgrade" {
		t.Errorf("the steps of the upgrade are %q", got)
	}
	w.wantLinked(upgrade, "Back up before the upgrade", "Back up")
	all := w.backups()
	if len(all) != 1 || all[0].State != "complete" || all[0].Cause != "upgrade" || all[0].AppVersion != "1.0.0" {
		t.Fatalf("the backups are %+v", all)
	}

	w.wantState(w.asked(w.API.CreateBackup(t.Context(), w.application("notes").ID, wire.NewBackup{}, "")), "succeeded")
	if newer := w.backups()[0]; newer.AppVersion != "1.1.0" {
		t.Fatalf("the backup is of %s", newer.AppVersion)
	}

	// The bucket is gone: the next upgrade must not begin.
	b.python("for o in s3.list_objects_v2(Bucket=bucket).get('Contents', []): s3.delete_object(Bucket=bucket, Key=o['Key'])\ns3.delete_bucket(Bucket=bucket)")
	broken := w.Deploy(notes("1.2.0", "location = \"nightly\"\nbefore_upgrade = true"))
	w.wantState(broken, "failed")
	if !strings.Contains(broken.Error, "so nothing was upgraded") || !strings.Contains(broken.Error, "there is no such bucket") {
		t.Errorf("the upgrade failed with %q", broken.Error)
	}
	if got := w.Kubectl("-n", w.namespace(), "get", "deployment", "notes-files", "-o", `jsonpath={.metadata.annotations.notes\.example\.com/version} {.status.readyReplicas}`); got != "1.1.0 1" {
		t.Errorf("after the upgrade that did not begin the files are at %q", got)
	}
	failed := w.backups()[0]
	if failed.State != "failed" || !strings.Contains(failed.Error, "there is no such bucket") {
		t.Errorf("the failed backup is %+v", failed)
	}
	w.wantNothingLeft()
	if _, errs, code := w.Run("", "restore", "notes", "-e", w.Env, "--from", fmt.Sprint(failed.ID), "--yes"); code != 5 || !strings.Contains(errs, "only a complete one can be restored") {
		t.Errorf("a failed backup was restored: %d %s", code, errs)
	}
}

// TestBackupByKill kills the server in the middle of a backup; the next one ends it as if
// nothing had been. World: as above.
func TestBackupByKill(t *testing.T) {
	w, _, _ := backupWorld(t, `location = "nightly"`)
	a, err := w.API.CreateBackup(t.Context(), w.application("notes").ID, wire.NewBackup{}, "")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for kills := 0; kills < 4; {
		var task wire.Task
		world.Eventually(t, 3*time.Minute, "another step of the backup begins", func() (bool, string) {
			got, err := w.API.Task(t.Context(), a.Task.ID)
			if err != nil {
				return false, err.Error()
			}
			task = got
			if got.Over() {
				return true, ""
			}
			n := len(got.Steps)
			if n == 0 || seen[got.Steps[n-1].Key] {
				return false, world.Summary(got)
			}
			seen[got.Steps[n-1].Key] = true
			return true, ""
		})
		if task.Over() {
			break
		}
		w.Kill(w.Servers[len(w.Servers)-1])
		kills++
		w.Start("data", "--backup-image", moverImage())
	}
	w.wantState(w.Wait(a.Task.ID), "succeeded")
	all := w.backups()
	if len(all) != 1 || all[0].State != "complete" || len(all[0].Files) != 2 {
		t.Errorf("the backups are %+v", all)
	}
	w.wantNothingLeft()
	task := w.asked(w.API.Restore(t.Context(), w.application("notes").ID, wire.RestoreFrom{Backup: all[0].ID, Confirm: "notes"}, ""))
	w.wantState(task, "succeeded")
	if got := w.sql("SELECT count(*) FROM note"); got != "1000" {
		t.Errorf("after the restore there are %q rows", got)
	}
}

// TestBackupToAVolume keeps backups on a volume claim, and has retention give the oldest up.
// World: real cluster, real PostgreSQL, real Prefect, SQLite.
func TestBackupToAVolume(t *testing.T) {
	w := newWorld(t, "--backup-image", moverImage())
	w.loadDriver("notes")
	w.Write("value", "a-password-of-the-notes")
	w.MustIn("value", "secrets", "set", "notes-db", "-e", w.Env)
	w.Must("backup", "location", "create", "disk", "-e", w.Env, "--claim", "kept", "--prefix", "slipway")
	w.volume("notes-files")
	kept := w.volume("kept")
	const table = "location = \"disk\"\nkeep_last = 1\nbefore_upgrade = true"
	w.wantState(w.Deploy(notes("1.0.0", table)), "succeeded")
	w.apply(fmt.Sprintf("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: { name: kept, namespace: %s }\n"+
		"spec: { storageClassName: \"\", accessModes: [ReadWriteOnce], resources: { requests: { storage: 100Mi } } }\n", w.namespace()))
	w.sql("CREATE TABLE note (id int); INSERT INTO note VALUES (1)")
	w.wantState(w.Deploy(notes("1.1.0", table)), "succeeded")
	first := w.backups()
	w.sql("INSERT INTO note VALUES (2)")
	w.wantState(w.Deploy(notes("1.2.0", table)), "succeeded")
	all := w.backups()
	if len(first) != 1 || len(all) != 1 || all[0].ID == first[0].ID || all[0].AppVersion != "1.1.0" {
		t.Fatalf("retention kept %+v, after %+v", all, first)
	}
	found, err := filepath.Glob(filepath.Join(kept, "slipway", "*", "*", "*", "*", "database", "*"))
	if err != nil || len(found) != 1 || !strings.Contains(found[0], all[0].Path) {
		t.Errorf("on the volume are %q: %v", found, err)
	}
	w.sql("DELETE FROM note")
	task := w.asked(w.API.Restore(t.Context(), w.application("notes").ID, wire.RestoreFrom{Backup: all[0].ID, Confirm: "notes"}, ""))
	w.wantState(task, "succeeded")
	if got := w.sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM note"); got != "1 2" {
		t.Errorf("after the restore the rows are %q", got)
	}
	w.wantNothingLeft()
}
