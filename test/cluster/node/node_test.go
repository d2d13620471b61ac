package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// These tests stand in the pure world: text, and files in a temporary folder. What the
// cluster does for real is tested beside doc.go.

func testCluster(t *testing.T) Cluster {
	t.Helper()
	return Cluster{Dir: filepath.Join(t.TempDir(), "cluster"), Report: t.Logf}
}

func TestRemovalScriptTakesOnlyWhatIsOurs(t *testing.T) {
	t.Parallel()
	rules := []string{
		"-P FORWARD ACCEPT", "-N DOCKER-USER", "-N KUBE-FORWARD", "-N CNI-OLD", "-N " + chain,
		"-A FORWARD -j DOCKER-USER",
		`-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD`,
		"-A FORWARD -j " + chain,
		"-A FORWARD -j CNI-OLD",
		"-A DOCKER-USER -j RETURN",
		"-A KUBE-FORWARD -j ACCEPT",
	}
	want := `*filter
-D FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-D FORWARD -j SLIPWAY-TEST
-F KUBE-FORWARD
-F SLIPWAY-TEST
-X KUBE-FORWARD
-X SLIPWAY-TEST
COMMIT
`
	if diff := cmp.Diff(removalScript("filter", rules, []string{"CNI-OLD"}), want); diff != "" {
		t.Errorf("the script differs (-got +want):\n%s", diff)
	}
	if got := removalScript("filter", rules[:2], nil); got != "" {
		t.Errorf("with nothing of ours the script is %q, want none", got)
	}
}

func TestMountsBelowAFolder(t *testing.T) {
	t.Parallel()
	table := `22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:25 / /state/run/a rw - overlay overlay rw
31 30 0:26 / /state/run/a/with\040blank rw - tmpfs tmpfs rw
32 22 0:27 / /state-of-another rw - tmpfs tmpfs rw
33 22 0:28 / /state rw - tmpfs tmpfs rw
`
	want := []string{"/state/run/a/with blank", "/state/run/a"}
	if diff := cmp.Diff(parseMounts(table, "/state"), want); diff != "" {
		t.Errorf("the mounts differ (-got +want):\n%s", diff)
	}
}

func TestFolderOfAnotherIsRefused(t *testing.T) {
	t.Parallel()
	cluster := testCluster(t)
	if err := os.MkdirAll(cluster.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cluster.path("letters"), []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cluster.makeFolders(t.Context()); err == nil || !strings.Contains(err.Error(), "not a test cluster's") {
		t.Errorf("makeFolders() = %v, want a refusal", err)
	}
	if owned, err := cluster.owned(); owned || err != nil {
		t.Errorf("owned() = %v, %v, want false, nil: down would remove somebody's files", owned, err)
	}
	for _, dir := range []string{"", "relative", "/", "/" + strings.Repeat("long/", 25)} {
		if err := (Cluster{Dir: dir}).check(); err == nil {
			t.Errorf("the folder %q was accepted", dir)
		}
	}
}

func TestLastBootsStateIsCleared(t *testing.T) {
	t.Parallel()
	cluster := testCluster(t)
	if err := cluster.makeFolders(t.Context()); err != nil {
		t.Fatal(err)
	}
	record, data := cluster.path("run", "processes", "etcd.json"), cluster.path("etcd", "data")
	for _, file := range []string{record, data} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := cluster.makeFolders(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(record); err != nil {
		t.Errorf("within one boot a record was lost: %v", err)
	}
	if err := os.WriteFile(cluster.path("boot"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cluster.makeFolders(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(record); !os.IsNotExist(err) {
		t.Errorf("another boot's record is still there: %v", err)
	}
	if _, err := os.Stat(data); err != nil {
		t.Errorf("the data did not survive the restart: %v", err)
	}
}

func TestConfigurationIsWrittenOnce(t *testing.T) {
	t.Parallel()
	cluster := testCluster(t)
	if err := cluster.makeFolders(t.Context()); err != nil {
		t.Fatal(err)
	}
	times := map[string]any{}
	for i := range 2 {
		if err := cluster.writeConfiguration(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(cluster.path("config", "*"))
		if err != nil || len(files) < 9 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range append(files, cluster.Kubeconfig()) {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 && times[file] != info.ModTime() {
				t.Errorf("%s was written again with the same content; kube-proxy ends at that", file)
			}
			times[file] = info.ModTime()
		}
	}
	for file, read := range map[string]func([]byte) error{
		cluster.path("config", "kubelet.yaml"):          func(data []byte) error { return yaml.UnmarshalStrict(data, &map[string]any{}) },
		cluster.path("config", "kube-proxy.yaml"):       func(data []byte) error { return yaml.UnmarshalStrict(data, &map[string]any{}) },
		cluster.path("cni", "10-slipway-test.conflist"): func(data []byte) error { return json.Unmarshal(data, &map[string]any{}) },
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := read(data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
