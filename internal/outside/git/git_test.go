package git

// World: the real git program, on repositories in the test's own folders.

import (
	"context"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// repo is a repository of the test.
type repo struct {
	t    testing.TB
	dir  string
	home string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	r := &repo{t, filepath.Join(t.TempDir(), "repo"), t.TempDir()}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "--quiet", "--initial-branch=main", ".")
	r.write("drivers/guestbook/driver.slipway.yml", "one\n")
	r.write("drivers/guestbook/actions.py", "pass\r\n")
	r.write("drivers/guestbook/chart/Chart.yaml", "version: 1\n")
	r.write("elsewhere.txt", "x")
	r.commit()
	return r
}

func (r *repo) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_NOSYSTEM=1",
	}
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = r.dir, r.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) write(name, content string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) commit() string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "--quiet", "--allow-empty", "-m", "x")
	return r.git("rev-parse", "HEAD")
}

func (r *repo) read(rest string, opts Options) (Found, error) {
	r.t.Helper()
	s, err := Parse("git+file://" + r.dir + rest)
	if err != nil {
		r.t.Fatal(err)
	}
	if opts.Environ == nil {
		opts.Environ = r.environ()
	}
	return Read(r.t.Context(), s, opts)
}

func refused(t testing.TB, err error, kind slipway.Kind, says string) {
	t.Helper()
	var e *slipway.Error
	if !slipway.Is(err, kind) || !errors.As(err, &e) || !strings.Contains(e.Msg+" ("+e.Hint+")", says) {
		t.Errorf("got %v (%s), want %s: …%s…", err, slipway.KindOf(err), kind, says)
	}
}

func TestReadPinsTheCommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.git("rev-parse", "HEAD")
	r.git("tag", "-a", "v1.0.0", "-m", "annotated")
	r.git("branch", "feature/old")
	r.write("drivers/guestbook/driver.slipway.yml", "two\n")
	if err := os.Chmod(filepath.Join(r.dir, "drivers/guestbook/actions.py"), 0o755); err != nil {
		t.Fatal(err)
	}
	second := r.commit()
	for _, tc := range []struct{ rest, commit, content string }{
		{"//drivers/guestbook", second, "two\n"},
		{"//drivers/guestbook?ref=main", second, "two\n"},
		{"//drivers/guestbook?ref=v1.0.0", first, "one\n"},
		{"//drivers/guestbook?ref=feature/old", first, "one\n"},
		{"//drivers/guestbook?ref=" + first, first, "one\n"},
	} {
		f, err := r.read(tc.rest, Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.rest, err)
			continue
		}
		content, _ := f.Bundle.File("driver.slipway.yml")
		if f.Commit != tc.commit || string(content) != tc.content {
			t.Errorf("%s: commit %s with %q, want %s with %q", tc.rest, f.Commit, content, tc.commit, tc.content)
		}
		if want := "git+file://" + r.dir + "//drivers/guestbook?ref=" + tc.commit; f.Source.String() != want {
			t.Errorf("%s: its source is %s, want %s", tc.rest, f.Source, want)
		}
	}
	// What git keeps is what a load of the directory packs, to the byte.
	f, err := r.read("//drivers/guestbook", Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := spec.ReadBundleDir(filepath.Join(r.dir, "drivers/guestbook"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Bundle.Digest() != dir.Digest() {
		t.Errorf("from git it is %s, from the directory %s", f.Bundle.Digest(), dir.Digest())
	}
	whole, err := r.read("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(whole.Bundle.Paths(), []string{"drivers/guestbook/actions.py", "drivers/guestbook/chart/Chart.yaml", "drivers/guestbook/driver.slipway.yml", "elsewhere.txt"}); d != "" {
		t.Errorf("the whole repository (-got +want):\n%s", d)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(r.dir, "drivers", "link")); err != nil {
		t.Fatal(err)
	}
	r.write("lfs/big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n")
	r.write("big/blob", strings.Repeat("x", 2000))
	r.commit()
	inner := newRepo(t)
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.dir, "with/sub")
	r.commit()
	none := strings.Repeat("0", 39) + "1"
	for _, tc := range []struct {
		name, rest string
		opts       Options
		kind       slipway.Kind
		says       string
	}{
		{"a link", "//drivers", Options{}, slipway.Invalid, "link is a link"},
		{"a submodule", "//with", Options{}, slipway.Invalid, "sub is a submodule"},
		{"a file kept elsewhere", "//lfs", Options{}, slipway.Invalid, "kept in Git LFS"},
		{"a branch that is none", "//drivers/guestbook?ref=nope", Options{}, slipway.NotFound, `has no "nope"`},
		{"a commit that is none", "//drivers/guestbook?ref=" + none, Options{}, slipway.NotFound, "does not give the commit"},
		{"a directory that is none", "//nowhere", Options{}, slipway.NotFound, "has no directory nowhere"},
		{"a file in place of a directory", "//elsewhere.txt", Options{}, slipway.NotFound, "has no directory"},
		{"too large", "//big", Options{Limits: spec.Limits{Bytes: 1000, Files: 10}}, slipway.TooLarge, "1000 bytes"},
		{"too many", "//drivers/guestbook", Options{Limits: spec.Limits{Bytes: 1000, Files: 1}}, slipway.TooLarge, "more than 1 files"},
	} {
		_, err := r.read(tc.rest, tc.opts)
		t.Run(tc.name, func(t *testing.T) { refused(t, err, tc.kind, tc.says) })
	}
	gone := &repo{t, filepath.Join(t.TempDir(), "none"), t.TempDir()}
	_, err := gone.read("", Options{})
	refused(t, err, slipway.NotFound, "no git repository")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, Source{URL: "file://" + r.dir}, Options{Environ: r.environ()}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted, it says %v", err)
	}
}

// Neither the repository nor a person's configuration makes git run anything.
func TestNothingIsRun(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	canary := filepath.Join(t.TempDir(), "ran")
	touch := "#!/bin/sh\ntouch " + canary + "\ncat\n"
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte(touch), 0o755); err != nil {
		t.Fatal(err)
	}
	template := filepath.Join(t.TempDir(), "template", "hooks")
	if err := os.MkdirAll(template, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc"} {
		if err := os.WriteFile(filepath.Join(template, hook), []byte(touch), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := "[init]\n templateDir = " + filepath.Dir(template) + "\n[core]\n hooksPath = " + template + "\n fsmonitor = " + script + "\n sshCommand = " + script +
		"\n[filter \"evil\"]\n smudge = " + script + "\n clean = " + script + "\n required = true\n[url \"file:///nowhere/\"]\n insteadOf = file://" + filepath.Dir(r.dir) + "/\n"
	if err := os.WriteFile(filepath.Join(r.home, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	quiet := &repo{t, r.dir, t.TempDir()} // to commit without that configuration
	quiet.write("drivers/guestbook/.gitattributes", "* filter=evil export-ignore text eol=crlf\n")
	quiet.git("add", "--renormalize", ".") // git keeps text with plain line ends
	quiet.commit()
	for _, tc := range [][]string{
		r.environ(),
		append(r.environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0="+template, "GIT_SSH_COMMAND="+script, "GIT_DIR=/nowhere", "GIT_EXTERNAL_DIFF="+script, "GIT_TRACE=1"),
	} {
		f, err := r.read("//drivers/guestbook", Options{Environ: tc})
		if err != nil {
			t.Fatal(err)
		}
		if content, _ := f.Bundle.File("actions.py"); string(content) != "pass\n" {
			t.Errorf("a filter or a line ending changed the file: %q", content)
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("something was run")
	}
}

// Of a person's configuration the credential helpers are used, for they are how a private
// repository is read. The world: a web server in this process that asks for a password.
func TestCredentialHelpersAreUsed(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	backend := httpBackend(t, r, "ada", "s3cret-value")
	s, err := Parse("git+" + backend + "/repo/.git//drivers/guestbook?ref=main")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Read(t.Context(), s, Options{Environ: r.environ()})
	refused(t, err, slipway.Forbidden, "credential helper")
	helper := "[credential]\n helper = \"!f() { echo username=ada; echo password=s3cret-value; }; f\"\n"
	if err := os.WriteFile(filepath.Join(r.home, ".gitconfig"), []byte(helper), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Read(t.Context(), s, Options{Environ: r.environ()})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(f.Source.String(), "s3cret") {
		t.Errorf("the source shows the password: %s", f.Source)
	}
}

// A server that sends without end is stopped.
func TestAServerThatNeverEnds(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(s.Close)
	_, err := Read(t.Context(), Source{URL: s.URL + "/x"}, Options{Environ: r.environ(), Timeout: time.Second})
	refused(t, err, slipway.Unavailable, "could not be read in time")
}

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Source{
		"git+https://host.example.com/org/repo":                           {"https://host.example.com/org/repo", "", ""},
		"git+https://host.example.com/org/repo.git//drivers/a?ref=v1.0.0": {"https://host.example.com/org/repo.git", "drivers/a", "v1.0.0"},
		"git+ssh://git@host.example.com:2222/org/repo?ref=feature/x+1":    {"ssh://git@host.example.com:2222/org/repo", "", "feature/x 1"},
		"git+ssh://git@host.example.com/org/repo//d?ref=feature/x":        {"ssh://git@host.example.com/org/repo", "d", "feature/x"},
		"git+file:///srv/repo//d":                                         {"file:///srv/repo", "d", ""},
		"git+http://127.0.0.1:8080/r":                                     {"http://127.0.0.1:8080/r", "", ""},
	} {
		got, err := Parse(in)
		if strings.Contains(want.Ref, " ") { // a plus sign in a query is a space
			refused(t, err, slipway.Invalid, "no branch, tag or commit")
		} else if err != nil || got != want || got.String() != in {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", in, got, err, want)
		}
	}
	for in, says := range map[string]string{
		"https://host/org/repo":                     "does not begin with git+",
		"git+ext::sh -c touch% /tmp/x":              "must begin with",
		"git+ext://host/repo":                       "must begin with",
		"git+git://host/repo":                       "must begin with",
		"git+http://host.example.com/repo":          "without TLS",
		"git+https://-oProxyCommand=x/repo":         "begins with a dash",
		"git+ssh://-oProxyCommand=touch/repo":       "begins with a dash",
		"git+https://ada:s3cret@host/repo":          "holds credentials",
		"git+https://s3cret@host/repo":              "holds credentials",
		"git+ssh://git:s3cret@host/repo":            "holds credentials",
		"git+https://host/":                         "names no repository",
		"git+https:///repo":                         "names no host",
		"git+file://host/repo":                      "git+file:///path",
		"git+https://host/repo//../x":               "path that is not plain",
		"git+https://host/repo//a/../../x":          "path that is not plain",
		"git+https://host/repo?ref=--upload-pack=x": "no branch, tag or commit",
		"git+https://host/repo?ref=a:b":             "no branch, tag or commit",
		"git+https://host/repo?ref=a..b":            "no branch, tag or commit",
		"git+https://host/repo?ref=":                "no branch, tag or commit",
		"git+https://host/repo?branch=x":            "only ref is known",
		"git+https://host/repo#main":                "holds a #",
		"git+https://host/%zz":                      "is no address",
	} {
		_, err := Parse(in)
		refused(t, err, slipway.Invalid, says)
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// httpBackend serves a repository over HTTP with git's own program, behind a password.
func httpBackend(t testing.TB, r *repo, user, password string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := cgiHandler(filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), filepath.Dir(r.dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if u, p, ok := req.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func cgiHandler(program, root string) http.Handler {
	return &cgi.Handler{Path: program, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}}
}
