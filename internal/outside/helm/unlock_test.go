package helm

// World: pure, and Helm's storage in memory.

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"

	"slipway.dev/slipway/internal/outside/kube"
)

func revision(n int, state common.Status, configMaps ...string) *releasev1.Release {
	var b strings.Builder
	for _, name := range configMaps {
		b.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n")
	}
	return &releasev1.Release{Name: "guestbook", Namespace: "ns", Version: n, Manifest: b.String(), Info: &releasev1.Info{Status: state}}
}

func TestUnlock(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		was, is common.Status
		note    string
	}{
		{common.StatusDeployed, common.StatusDeployed, ""},
		{common.StatusFailed, common.StatusFailed, ""},
		{common.StatusSuperseded, common.StatusSuperseded, ""},
		{common.StatusPendingInstall, common.StatusFailed, "was left pending-install at revision 3"},
		{common.StatusPendingUpgrade, common.StatusFailed, "was left pending-upgrade at revision 3"},
		{common.StatusPendingRollback, common.StatusFailed, "was left pending-rollback at revision 3"},
		{common.StatusUninstalling, common.StatusFailed, "was left uninstalling at revision 3"},
		{common.StatusUninstalled, common.StatusUninstalled, "had been uninstalled and its history kept"},
	} {
		cfg := action.NewConfiguration(action.ConfigurationSetLogger(discard))
		memory := driver.NewMemory()
		memory.SetNamespace("ns")
		cfg.Releases = storage.Init(memory)
		rel := revision(3, tc.was)
		if err := cfg.Releases.Create(rel); err != nil {
			t.Fatal(err)
		}
		note, err := unlock(cfg, rel)
		if err != nil || tc.note == "" && note != "" || !strings.Contains(note, tc.note) {
			t.Errorf("%s: the note is %q, %v; want %q", tc.was, note, err, tc.note)
		}
		past, err := history(cfg, "guestbook")
		if err != nil || newest(past).Info.Status != tc.is {
			t.Errorf("%s: stored as %s, %v; want %s", tc.was, newest(past).Info.Status, err, tc.is)
		}
	}
}

func TestStrays(t *testing.T) {
	t.Parallel()
	stay := []kube.Object{{Version: "v1beta1", Kind: "ConfigMap", Namespace: "ns", Name: "a", Component: "web"}}
	for _, tc := range []struct {
		name string
		past []*releasev1.Release
		stay []kube.Object
		want []string
	}{
		{"no history", nil, stay, nil},
		{"all went well: Helm's part", []*releasev1.Release{revision(1, common.StatusSuperseded, "x"), revision(2, common.StatusDeployed, "a", "b")}, stay, nil},
		{"two failed revisions, each object once, the last first", []*releasev1.Release{
			revision(1, common.StatusDeployed, "a", "b"), revision(2, common.StatusFailed, "a", "b", "c"), revision(3, common.StatusFailed, "c", "d")}, stay, []string{"d", "c", "b"}},
		{"an install that failed", []*releasev1.Release{revision(1, common.StatusFailed, "a", "c")}, stay, []string{"c"}},
		{"what failed before a success was swept then", []*releasev1.Release{revision(1, common.StatusFailed, "c"), revision(2, common.StatusDeployed, "a")}, stay, nil},
	} {
		got, err := strays(tc.past, deployed(tc.past), tc.stay)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, o := range got {
			names = append(names, o.Name)
		}
		if diff := cmp.Diff(names, tc.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", tc.name, diff)
		}
	}
	if _, err := strays([]*releasev1.Release{{Version: 1, Manifest: "a: [", Info: &releasev1.Info{}}}, 0, nil); err == nil {
		t.Error("a manifest that cannot be read was passed over")
	}
}

func TestHookLogs(t *testing.T) {
	t.Parallel()
	var logs hookLogs
	write := func(pod, text string) {
		if _, err := logs.writer("ns", pod, "main").Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	hide := Redactor(func(s string) string { return strings.ReplaceAll(s, "hunter2", "<redacted>") })
	if text, cut := logs.text(hide); text != "" || cut {
		t.Errorf("no logs give %q", text)
	}
	write("first", "\x1b[31mhunter2\x1b[0m")
	if text, cut := logs.text(hide); text != "<redacted>\n" || cut {
		t.Errorf("one log gives %q, cut %v", text, cut)
	}
	write("second", "b\n")
	if text, _ := logs.text(hide); text != "first main:\n<redacted>\nsecond main:\nb\n" {
		t.Errorf("two logs give %q", text)
	}
	if text, _ := logs.text(nil); text != "" {
		t.Errorf("without a redactor they give %q", text)
	}
	write("third", strings.Repeat(strings.Repeat("x", 99)+"\n", 8000))
	text, cut := logs.text(hide)
	if !cut || len(text) > 64<<10 || strings.Count(text, "\n") != 200 {
		t.Errorf("a long log gives %d bytes, %d lines, cut %v", len(text), strings.Count(text, "\n"), cut)
	}
}
