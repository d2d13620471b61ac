//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/test/world"
)

// World: the built program, a real server, Prefect and cluster. It types the tutorial's
// commands as a newcomer does, in an empty folder, and holds what they print against what
// the tutorial shows.
func TestTutorial(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	raw, err := os.ReadFile(filepath.Join(world.Root, "docs", "tutorial", "first-driver.md"))
	if err != nil {
		t.Fatal(err)
	}
	// A place of its own on the cluster, which other tests use too.
	project, _, _ := strings.Cut(w.Env, "/")
	project += "-t"
	place := strings.NewReplacer("tutorial/dev", project+"/dev", "tutorial-dev", project+"-dev", "create tutorial\n", "create "+project+"\n", "project tutorial\n", "project "+project+"\n")
	t.Cleanup(func() { w.Kubectl("delete", "namespace", project+"-dev", "--ignore-not-found", "--wait=false") })
	steps := typed(t, place.Replace(string(raw)))
	dir := t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), 12*time.Minute)
	defer stop()
	// One shell for all, because of cd. Each command's output ends with a mark.
	const mark = "--- end of a command ---"
	var script strings.Builder
	script.WriteString("set -e\nexec 2>&1\n")
	for _, s := range steps {
		script.WriteString(s.command + "\necho '" + mark + "'\n")
	}
	began := time.Now()
	cmd := w.Shell(dir, script.String())
	done := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	out, err := cmd.Output()
	done()
	t.Logf("the tutorial's commands took %s", time.Since(began).Round(time.Second))
	said := strings.Split(string(out), mark+"\n")
	for i, s := range steps {
		if i >= len(said)-1 {
			t.Fatalf("$ %s\n%s\nended the shell: %v", s.command, said[len(said)-1], err)
		}
		if !s.shown.MatchString(said[i]) {
			t.Errorf("$ %s\nprinted\n%s\nand the tutorial shows\n%s", s.command, said[i], s.text)
		}
	}
}

// step is one command of the tutorial, and what it shows.
type tutorialStep struct {
	command string
	text    string
	shown   *regexp.Regexp
}

// typed finds the commands of the console blocks.
func typed(t *testing.T, doc string) []tutorialStep {
	t.Helper()
	var out []tutorialStep
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(doc, -1) {
		lines := strings.Split(strings.TrimSuffix(block[1], "\n"), "\n")
		for i := 0; i < len(lines); {
			command, ok := strings.CutPrefix(lines[i], "$ ")
			if !ok {
				t.Fatalf("a block begins with %q", lines[i])
			}
			i++
			for here := strings.Contains(command, "<<'EOF'"); here; i++ {
				command += "\n" + lines[i]
				here = lines[i] != "EOF"
			}
			s := tutorialStep{command: command}
			pattern := "(?s)^"
			for ; i < len(lines) && !strings.HasPrefix(lines[i], "$ "); i++ {
				s.text += lines[i] + "\n"
				switch line := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(lines[i])), "…", "[^\n]*"); {
				case strings.TrimSpace(lines[i]) == "…":
					pattern += "(?:[^\n]*\n)*?"
				default:
					pattern += "[ ]*" + line + "[ ]*\n"
				}
			}
			s.shown = regexp.MustCompile(pattern + "$")
			out = append(out, s)
		}
	}
	if len(out) < 15 {
		t.Fatalf("the tutorial has %d commands only", len(out))
	}
	return out
}
