package kube

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure. What each container of a carriage sees, and what it must not.
func TestBuildMove(t *testing.T) {
	t.Parallel()
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ServiceAccountName: "database",
		Containers:         []corev1.Container{{Name: "postgres", Image: "db:15", Env: []corev1.EnvVar{{Name: "POSTGRES_PASSWORD", Value: "of the database"}}}},
	}}
	w := Workload{Kind: KindStatefulSet, Namespace: "shop", Name: "db", template: template}
	base := MoveSpec{
		App: slipway.Application{Name: "notes", Namespace: "shop"}, TaskID: 7, TaskKind: slipway.BackupTask, StepID: 9, Name: MoveName("notes", 7, "put database"),
		Image: "slipway:1", Credentials: map[string][]byte{"access-key": []byte("AKIA"), "secret-key": []byte("of the store")},
		Order: slipway.MoveOrder{Do: slipway.MovePut, Kind: slipway.LocationS3},
	}
	dump := base
	dump.Database = &DatabaseSpec{From: w, Container: "postgres", Image: "db:15", Script: "pg_dump", Set: map[string]string{"SLIPWAY_PG_HOST": "db"}}
	job, err := BuildMove(dump)
	if err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	first, last := pod.InitContainers[0], pod.Containers[0]
	if first.Name != databaseContainer || last.Name != actionContainer || last.Image != "slipway:1" {
		t.Errorf("a dump runs %s %s, then %s %s", first.Name, first.Image, last.Name, last.Image)
	}
	mounts := func(c corev1.Container) (out []string) {
		for _, m := range c.VolumeMounts {
			out = append(out, m.Name)
		}
		return out
	}
	if got := mounts(first); !slices.Equal(got, []string{volumeFiles}) {
		t.Errorf("the database's container mounts %q; it may see the files alone", got)
	}
	if raw, err := json.Marshal(last); err != nil || strings.Contains(string(raw), "of the database") {
		t.Errorf("the mover sees the database's password: %s %v", raw, err)
	}
	if raw, err := json.Marshal(job); err != nil || strings.Contains(string(raw), "of the store") {
		t.Errorf("the Job holds the store's key: %v", err)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("a container may speak to the cluster")
	}

	dump.Order.Do = slipway.MoveGet
	if job, err = BuildMove(dump); err != nil {
		t.Fatal(err)
	}
	pod = job.Spec.Template.Spec
	if pod.InitContainers[0].Name != moverContainer || pod.Containers[0].Image != "db:15" {
		t.Errorf("a restore runs %s first and then %s", pod.InitContainers[0].Name, pod.Containers[0].Image)
	}

	disk := base
	disk.Claim, disk.Node, disk.Order.Tree, disk.Order.Path = "files", "node-3", true, slipway.MoverData
	if job, err = BuildMove(disk); err != nil {
		t.Fatal(err)
	}
	pod = job.Spec.Template.Spec
	mover := pod.Containers[0]
	i := slices.IndexFunc(mover.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volumeData })
	if i < 0 || !mover.VolumeMounts[i].ReadOnly {
		t.Error("a backup could write to the volume")
	}
	if got := mover.SecurityContext.Capabilities.Add; !slices.Equal(got, []corev1.Capability{"DAC_READ_SEARCH"}) {
		t.Errorf("a copy of files has the capabilities %q", got)
	}
	term := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
	if term.MatchFields[0].Values[0] != "node-3" {
		t.Errorf("it runs where %+v", term)
	}

	base.Image = ""
	if _, err := BuildMove(base); err == nil || !strings.Contains(err.(*slipway.Error).Hint, "backup.image") {
		t.Errorf("without an image: %v", err)
	}
	long := strings.Repeat("a", 60)
	if a, b := MoveName(long, 7, "x"), MoveName(long, 7, "y"); len(a) > 52 || a == b {
		t.Errorf("the names of two Jobs are %s and %s", a, b)
	}
}
