//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/test/world"
)

// TestRetryFromTheFailedStep lets the upgrade to 1.2.0 fail in its migration, does by hand
// what the migration should have done, and retries: the backup is not made again, the
// migration is, and the upgrade succeeds. World: real cluster, real Prefect, SQLite.
func TestRetryFromTheFailedStep(t *testing.T) {
	w := newWorld(t)
	w.loadDriver("guestbook")
	w.wantState(w.Deploy(guestbook(t, "1.1.0")), "succeeded")
	first := w.Deploy(guestbook(t, "1.2.0"))
	w.wantState(first, "failed")

	plan := w.Must("tasks", "retry", fmt.Sprint(first.ID), "--plan")
	for _, want := range []string{
		"↻ Check the change                again; it changes nothing\n",
		fmt.Sprintf("✓ Run the upgrade pre-hook        stays done, by task %d\n", first.ID),
		"↻ Run the upgrade hook            again: upgrade\n",
		"→ Run the upgrade post-hook       follows: check_upgrade\n",
		fmt.Sprintf("stops meanwhile: worker · worker is stopped since task %d\n", first.ID),
	} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan has no line %q:\n%s", want, plan)
		}
	}
	w.store(func(ask func(path string, body any) []byte) {
		var begun struct{ Number int64 }
		if err := json.Unmarshal(ask("/v1/migrations", map[string]int{"from": 2, "to": 3}), &begun); err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprintf("/v1/migrations/%d/", begun.Number)
		ask(at+"columns", map[string]string{"add": "country"})
		ask(at+"commit", struct{}{})
	})

	out := w.Must("tasks", "retry", fmt.Sprint(first.ID), "--yes", "--wait")
	t.Logf("the retry:\n%s", out)
	done, err := w.API.Task(t.Context(), first.ID)
	if err != nil || done.RetriedBy == 0 {
		t.Fatalf("task %d was retried by %d (%v)", first.ID, done.RetriedBy, err)
	}
	second, err := w.API.Task(t.Context(), done.RetriedBy)
	if err != nil {
		t.Fatal(err)
	}
	w.wantState(second, "succeeded")
	want := []string{"Check the change", "Run the upgrade hook", "Run the upgrade post-hook"}
	if got := stepNames(second, "succeeded"); !slices.Equal(got, want) || second.Attempt != 2 || second.RetryOf != first.ID || second.Change != first.Change {
		t.Errorf("the retry is attempt %d of task %d with the steps %q, want %q", second.Attempt, second.RetryOf, got, want)
	}
	// The worker was stopped by the first attempt, so the second had no task to start for it.
	w.wantLinked(second, "Run the upgrade hook", "Change the version", "Start components")
	for _, s := range second.Steps {
		if s.Name != "Run the upgrade hook" {
			continue
		}
		if left := fmt.Sprintf("task %d", first.ID); !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "guestbook-action") && strings.Contains(n, left) }) {
			t.Errorf("the step does not name the Job of the failed attempt: %q", s.Notes)
		}
	}
	w.wantRecord("1.2.0", "2", "True")
	if len(w.pods("worker")) == 0 {
		t.Error("the worker does not run after the retry")
	}
	if app := w.application("guestbook"); app.State != "running" {
		t.Errorf("the application is %s: %s", app.State, app.Message)
	}
}

// store speaks with the guestbook's store as an operator would: through a forwarded port,
// with its password. Without a body it only looks.
func (w *installation) store(do func(ask func(path string, body any) []byte)) {
	w.T.Helper()
	config, port := world.Kubeconfig(w.T), world.FreePort(w.T)
	forward := exec.CommandContext(w.T.Context(), filepath.Join(filepath.Dir(config), "kubectl"), "--kubeconfig", config,
		"-n", w.namespace(), "port-forward", "service/guestbook-store", fmt.Sprintf("%d:8081", port))
	if err := forward.Start(); err != nil {
		w.T.Fatal(err)
	}
	defer func() {
		_ = forward.Process.Kill() // it has done its work
		_ = forward.Wait()
	}()
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	send := func(method, path string, body io.Reader) ([]byte, error) {
		r, err := http.NewRequestWithContext(w.T.Context(), method, base+path, body)
		if err != nil {
			return nil, err
		}
		r.SetBasicAuth("", "a-password-of-the-tests")
		resp, err := (&http.Client{Timeout: 10 * time.Second}).Do(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", resp.Status, answer)
		}
		return answer, err
	}
	world.Eventually(w.T, 20*time.Second, "the store answers", func() (bool, string) {
		_, err := send(http.MethodGet, "/v1/status", nil)
		return err == nil, fmt.Sprint(err)
	})
	do(func(path string, body any) []byte {
		if body == nil {
			answer, err := send(http.MethodGet, path, nil)
			if err != nil {
				w.T.Fatalf("GET %s: %v", path, err)
			}
			return answer
		}
		raw, err := json.Marshal(body)
		if err != nil {
			w.T.Fatal(err)
		}
		answer, err := send(http.MethodPost, path, bytes.NewReader(raw))
		if err != nil {
			w.T.Fatalf("POST %s: %v", path, err)
		}
		return answer
	})
}
