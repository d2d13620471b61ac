package github

// World: the fake behind GitHub's REST API over loopback HTTP, which confirms answers as
// GitHub does; then answers written down from its documentation.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/outside/forge/forgetest"
	"slipway.dev/slipway/internal/slipway"
)

// counted counts the answers that come over the network, by status.
type counted struct {
	next http.RoundTripper
	mu   sync.Mutex
	by   map[int]int
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(r)
	if err == nil {
		c.mu.Lock()
		c.by[res.StatusCode]++
		c.mu.Unlock()
	}
	return res, err
}

// since returns what came since the last call.
func (c *counted) since() (ok, same int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, same = c.by[http.StatusOK], c.by[http.StatusNotModified]
	c.by = map[int]int{}
	return ok, same
}

func TestWhatHasNotChangedIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	world := fake.New(nil)
	repo := forge.Repository{Owner: "team", Name: "app"}
	world.AddRepository(repo)
	count := &counted{by: map[int]int{}}
	d := describe(t, githubCom)
	c := open(t, world.Handler(), func(next http.RoundTripper) http.RoundTripper {
		count.next = &forgetest.Checking{T: t, D: d, Next: next}
		return count
	})
	var last int64
	for i := range 150 { // two pages
		r, err := c.Register(t.Context(), team, forge.Registration{Name: "slw-" + strconv.Itoa(i), Labels: []string{"x"}, Group: 1})
		if err != nil {
			t.Fatal(err)
		}
		last = r.Runner.ID
	}
	count.since()
	runners := func(want, ok, same int) {
		t.Helper()
		all, err := c.Runners(t.Context(), team)
		if err != nil || len(all) != want {
			t.Errorf("%d runners, %v; want %d", len(all), err, want)
		}
		if gotOK, gotSame := count.since(); gotOK != ok || gotSame != same {
			t.Errorf("%d answers and %d confirmations, want %d and %d", gotOK, gotSame, ok, same)
		}
	}
	runners(150, 2, 0)
	runners(150, 0, 2) // each page is confirmed by itself
	if err := c.Unregister(t.Context(), team, last); err != nil {
		t.Fatal(err)
	}
	runners(149, 2, 0) // the first page says how many there are
	runners(149, 0, 2)

	world.Queue(repo, []string{"x"})
	now := time.Now()
	for i := range 3 {
		// Who asks again and again for the runs of some time asks the same.
		runs, err := c.Runs(t.Context(), repo, forge.RunQuery{Status: "queued", Since: now.Truncate(time.Hour).Add(time.Duration(i)*time.Minute - time.Hour)})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		if _, err := c.Jobs(t.Context(), repo, runs[0].ID, 0); err != nil {
			t.Fatal(err)
		}
		if ok, same := count.since(); i > 0 && (ok != 0 || same != 2) {
			t.Errorf("look %d: %d answers and %d confirmations", i, ok, same)
		}
	}
	if runs, err := c.Runs(t.Context(), repo, forge.RunQuery{Since: now.Add(time.Minute)}); err != nil || len(runs) != 0 {
		t.Errorf("runs of before that time: %d, %v", len(runs), err)
	}
}

// serve is a GitHub of one page, whose answers a test sets.
type serve struct {
	mu      sync.Mutex
	answer  http.HandlerFunc
	showed  []string // If-None-Match of each request
	paths   []string
	bearers []string
}

func (s *serve) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.showed, s.paths, s.bearers = append(s.showed, r.Header.Get("If-None-Match")), append(s.paths, r.URL.Path), append(s.bearers, r.Header.Get("Authorization"))
	answer := s.answer
	s.mu.Unlock()
	answer(w, r)
}

func (s *serve) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.showed[len(s.showed)-1]
}

func page(tag, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", tag)
		_, _ = io.WriteString(w, body) // a client that has gone needs no answer
	}
}

const oneRunner = `{"total_count":1,"runners":[{"id":7,"name":"a","os":"linux","status":"online","busy":true,"labels":[]}]}`

func TestOnlyAWholeAnswerIsShownToGitHubAgain(t *testing.T) {
	t.Parallel()
	s := &serve{}
	c := open(t, s, nil)
	ask := func(answer http.HandlerFunc) ([]forge.Runner, error) {
		s.mu.Lock()
		s.answer = answer
		s.mu.Unlock()
		return c.Runners(t.Context(), team)
	}
	must := func(answer http.HandlerFunc) {
		t.Helper()
		if all, err := ask(answer); err != nil || len(all) != 1 || !all[0].Busy {
			t.Errorf("%+v, %v", all, err)
		}
	}
	same := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Remaining", "4321")
		w.Header().Set("X-RateLimit-Limit", "5000")
		w.WriteHeader(http.StatusNotModified)
	}
	must(page(`"one"`, oneRunner))
	must(same)
	if s.last() != `"one"` {
		t.Errorf("showed %q", s.last())
	}
	if got := c.budget.State(); got.Remaining != 4321 {
		t.Errorf("what a confirmation says of the limits is not learnt: %+v", got)
	}
	must(page(`"two"`, oneRunner))
	// A fault of GitHub's takes nothing away.
	if _, err := ask(says(502, "Server Error")); !forge.Is(err, forge.Away) {
		t.Error(err)
	}
	must(same)
	if s.last() != `"two"` {
		t.Errorf("showed %q", s.last())
	}
	// A refusal does, and what broke off, has no tag or must not be stored is not kept.
	for name, answer := range map[string]http.HandlerFunc{
		"a refusal": says(404, "Not Found"),
		"broken off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"half"`)
			w.Header().Set("Content-Length", "10000")
			_, _ = io.WriteString(w, oneRunner[:40])
		},
		"broken off after what reads as whole": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"half"`)
			w.Header().Set("Content-Length", "10000")
			_, _ = io.WriteString(w, `{"total_count":0,"runners":[]}`)
		},
		"without a tag": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, oneRunner) },
		"not to be stored": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "private, no-store")
			page(`"secret"`, oneRunner)(w, r)
		},
		"too large": func(w http.ResponseWriter, r *http.Request) {
			page(`"large"`, strings.Replace(oneRunner, `"a"`, `"`+strings.Repeat("a", maxConfirmedBody)+`"`, 1))(w, r)
		},
	} {
		must(page(`"before"`, oneRunner))
		all, err := ask(answer)
		if name == "too large" && (err != nil || len(all) != 1 || len(all[0].Name) != maxConfirmedBody) {
			t.Errorf("%s: %d runners, %v", name, len(all), err)
		}
		if strings.HasPrefix(name, "broken") && err == nil {
			t.Errorf("%s: half an answer was taken for a whole", name)
		}
		must(page(`"after"`, oneRunner))
		if s.last() != "" {
			t.Errorf("%s: showed %q afterwards", name, s.last())
		}
	}
}

func TestOneTokensAnswerIsNeverAnothers(t *testing.T) {
	t.Parallel()
	s := &serve{answer: page(`"tag"`, oneRunner)}
	c := open(t, s, nil)
	at := newConditional(c.transport, c.api.Host)
	get := func(path, token string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.api.JoinPath(path).String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := at.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ path, token, want string }{
		{"orgs/team/actions/runners", "one", ""}, {"orgs/team/actions/runners", "one", `"tag"`}, {"orgs/team/actions/runners", "two", ""}, {"orgs/team/actions/runners", "", ""},
		{"orgs/other/actions/runners", "one", ""}, {"orgs/team/actions/runners/7", "one", ""}, {"orgs/team/actions/runners/7", "one", `"tag"`},
		// Never: logs, tokens, addresses of downloads, deliveries.
		{"repos/team/app/actions/jobs/7/logs", "one", ""}, {"repos/team/app/actions/jobs/7/logs", "one", ""},
		{"orgs/team/actions/runners/downloads", "one", ""}, {"orgs/team/actions/runners/downloads", "one", ""},
		{"orgs/team/hooks/1/deliveries", "one", ""}, {"orgs/team/hooks/1/deliveries", "one", ""},
		{"app/installations/1/access_tokens", "one", ""}, {"app/installations/1/access_tokens", "one", ""},
	} {
		get(tc.path, tc.token)
		if s.last() != tc.want {
			t.Errorf("%s with %q showed %q, want %q", tc.path, tc.token, s.last(), tc.want)
		}
	}
	if text := fmt.Sprintf("%+v", at.known); strings.Contains(text, "Bearer") {
		t.Error("a token is kept in clear")
	}
}

// World: pure.
func TestWhatIsKeptOfAnswersIsBounded(t *testing.T) {
	t.Parallel()
	c := newConditional(nil, "api.github.com")
	for i := range 3 * maxConfirmed {
		c.put(&confirmed{key: answerKey{url: strconv.Itoa(i)}, body: make([]byte, 100)})
	}
	if len(c.known) != maxConfirmed || c.order.Len() != maxConfirmed {
		t.Errorf("%d answers are kept, want %d", len(c.known), maxConfirmed)
	}
	for i := range 100 {
		c.put(&confirmed{key: answerKey{url: "large" + strconv.Itoa(i)}, body: bytes.Repeat([]byte("x"), maxConfirmedBody)})
	}
	total := 0
	for _, e := range c.known {
		total += e.Value.(*confirmed).size()
	}
	if total > maxConfirmedBytes || total != c.bytes || c.get(answerKey{url: "large99"}) == nil || c.get(answerKey{url: "1"}) != nil {
		t.Errorf("%d bytes in %d answers, counted as %d", total, len(c.known), c.bytes)
	}
	for i := range 100 {
		c.drop(answerKey{url: "large" + strconv.Itoa(i)})
	}
	if c.bytes < 0 || c.order.Len() == 0 && c.bytes != 0 {
		t.Errorf("%d bytes are counted when nothing is kept", c.bytes)
	}
}

// Many who ask at once get what GitHub has, each whole.
func TestManyAskAtOnce(t *testing.T) {
	t.Parallel()
	world := fake.New(nil)
	world.AddRepository(forge.Repository{Owner: "team", Name: "app"})
	c := open(t, world.Handler(), nil)
	for i := range 120 {
		if _, err := world.Register(t.Context(), slipway.ForgeScope{Owner: "team"}, forge.Registration{Name: "r" + strconv.Itoa(i), Labels: []string{"x"}, Group: 1}); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 5 {
				if got, err := c.Runners(t.Context(), team); err != nil || len(got) != 120 {
					t.Errorf("%d runners, %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
}
