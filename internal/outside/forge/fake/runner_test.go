package fake_test

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
)

var (
	app = forge.Repository{Owner: "team", Name: "app"}
	org = slipway.ForgeScope{Owner: "team"}
)

func world(t *testing.T) *fake.GitHub {
	t.Helper()
	g := fake.New(nil)
	g.AddRepository(app)
	g.SetRunnerURL("http://192.0.2.1:8099/")
	return g
}

func registered(t *testing.T, g *fake.GitHub, name string, labels ...string) forge.Configured {
	t.Helper()
	c, err := g.Register(t.Context(), org, forge.Registration{Name: name, Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func greeted(t *testing.T, g *fake.GitHub, name string, labels ...string) fake.Session {
	t.Helper()
	s, err := g.Greet(fake.Greeting{Config: registered(t, g, name, labels...).Config, Version: "2.400.0"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// World: the fake alone.
func TestARunnerTakesOneJobAndIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := world(t)
		c := registered(t, g, "slw-1", "linux", "x")
		if at, err := fake.Server(c.Config); err != nil || at.Host != "192.0.2.1:8099" {
			t.Errorf("the configuration names %v, %v", at, err)
		}
		s, err := g.Greet(fake.Greeting{Config: c.Config, Version: "2.400.0"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Greet(fake.Greeting{Config: c.Config, Version: "2.400.0"}); !forge.Is(err, forge.Refused) {
			t.Errorf("the configuration is taken twice: %v", err)
		}
		if r, err := g.Runner(t.Context(), org, s.Runner); err != nil || !r.Online || r.Busy || r.Version != "2.400.0" {
			t.Errorf("it is %+v, %v", r, err)
		}
		g.Queue(app, []string{"gpu"}) // not its own
		got := make(chan *fake.Work)
		go func() {
			w, err := g.Ask(t.Context(), s.Token)
			if err != nil {
				t.Error(err)
			}
			got <- w
		}()
		synctest.Wait()
		id := g.Start(app, fake.JobSpec{Name: "build", Labels: []string{"X"}, Script: []string{"echo hello"}})[0]
		want := fake.Work{Job: id, Name: "build", Repository: "team/app", Script: []string{"echo hello"}}
		if d := cmp.Diff(*<-got, want); d != "" {
			t.Fatalf("its job (-got +want):\n%s", d)
		}
		if w, err := g.Ask(t.Context(), s.Token); err != nil || w == nil || w.Job != id {
			t.Errorf("after a lost answer it is given %+v, %v; want the same job", w, err)
		}
		for _, p := range []fake.Progress{
			{Step: &fake.StepReport{Number: 2, Name: "echo hello"}}, {Log: "hello\n"},
			{Step: &fake.StepReport{Number: 2, Name: "echo hello", Conclusion: "failure"}}, {Conclusion: "failure"},
		} {
			if _, err := g.Report(s.Token, id, p); err != nil {
				t.Fatal(err)
			}
		}
		j, err := g.Job(t.Context(), app, id)
		if err != nil || j.Conclusion != "failure" || j.Runner != "slw-1" || len(j.Steps) != 2 || j.Steps[0].Conclusion != "success" || j.Steps[1].Conclusion != "failure" {
			t.Errorf("the job is %+v, %v", j, err)
		}
		if log, err := g.Log(t.Context(), app, id, 100); err != nil {
			t.Error(err)
		} else if text, err := io.ReadAll(log); err != nil || string(text) != "hello\n" {
			t.Errorf("its log is %q, %v", text, err)
		}
		if _, err := g.Ask(t.Context(), s.Token); !forge.Is(err, forge.NotFound) {
			t.Errorf("asked for another job, it says %v", err)
		}
		if left := g.Registrations(); len(left) != 0 {
			t.Errorf("left over: %+v", left)
		}
	})
}

// World: the fake alone, on a clock of its own.
func TestWhatTimeAndTheForgeDoToRunners(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(*testing.T, *fake.GitHub)
	}{
		{"a silent runner is offline after a while, and its job fails later", func(t *testing.T, g *fake.GitHub) {
			s := greeted(t, g, "slw-1", "x")
			id := g.Queue(app, []string{"x"})[0]
			if _, err := g.Ask(t.Context(), s.Token); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
			if r, err := g.Runner(t.Context(), org, s.Runner); err != nil || r.Online || !r.Busy {
				t.Errorf("after two minutes: %+v, %v", r, err)
			}
			time.Sleep(9 * time.Minute)
			g.Tick()
			if j, err := g.Job(t.Context(), app, id); err != nil || j.Conclusion != "failure" || len(g.Registrations()) != 0 {
				t.Errorf("after eleven: %+v, %v, %d registrations", j, err, len(g.Registrations()))
			}
		}},
		{"a configuration is good for an hour", func(t *testing.T, g *fake.GitHub) {
			c := registered(t, g, "slw-1", "x")
			time.Sleep(61 * time.Minute)
			if _, err := g.Greet(fake.Greeting{Config: c.Config}); !forge.Is(err, forge.Refused) {
				t.Errorf("after an hour: %v", err)
			}
		}},
		{"a registration that nobody takes up goes after a day", func(t *testing.T, g *fake.GitHub) {
			registered(t, g, "slw-1", "x")
			time.Sleep(23 * time.Hour)
			if g.Tick(); len(g.Registrations()) != 1 {
				t.Error("it is gone before")
			}
			time.Sleep(2 * time.Hour)
			if g.Tick(); len(g.Registrations()) != 0 {
				t.Error("it is there after")
			}
		}},
		{"an old version is turned away, and its configuration is not used up", func(t *testing.T, g *fake.GitHub) {
			c := registered(t, g, "slw-1", "x")
			g.RefuseVersion("2.1.0")
			if _, err := g.Greet(fake.Greeting{Config: c.Config, Version: "2.1.0"}); err == nil || !strings.Contains(err.Error(), "deprecated") {
				t.Errorf("it says %v", err)
			}
			if _, err := g.Greet(fake.Greeting{Config: c.Config, Version: "2.2.0"}); err != nil {
				t.Error(err)
			}
		}},
		{"a runner that is removed while it waits hears of it", func(t *testing.T, g *fake.GitHub) {
			s := greeted(t, g, "slw-1", "x")
			done := make(chan error)
			go func() { _, err := g.Ask(t.Context(), s.Token); done <- err }()
			synctest.Wait()
			if err := g.Unregister(t.Context(), org, s.Runner); err != nil {
				t.Fatal(err)
			}
			if err := <-done; !forge.Is(err, forge.NotFound) {
				t.Errorf("it hears %v", err)
			}
		}},
		{"a cancelled job is its runner's to end", func(t *testing.T, g *fake.GitHub) {
			s := greeted(t, g, "slw-1", "x")
			ids := g.Queue(app, []string{"x"}, []string{"x"})
			if _, err := g.Ask(t.Context(), s.Token); err != nil {
				t.Fatal(err)
			}
			g.Cancel(ids[0])
			g.Cancel(ids[1])
			if o, err := g.Report(s.Token, ids[0], fake.Progress{}); err != nil || !o.Cancel {
				t.Errorf("it hears %+v, %v", o, err)
			}
			running, _ := g.Job(t.Context(), app, ids[0])
			queued, _ := g.Job(t.Context(), app, ids[1])
			if running.State != slipway.JobRunning || queued.Conclusion != "cancelled" || queued.Runner != "" {
				t.Errorf("the jobs are %+v and %+v", running, queued)
			}
		}},
		{"any of the queued jobs may come first", func(t *testing.T, g *fake.GitHub) {
			g.Shuffle(true)
			first := map[int64]bool{}
			for range 60 {
				s := greeted(t, g, "slw-"+time.Now().String(), "x")
				time.Sleep(time.Second)
				ids := g.Queue(app, []string{"x"}, []string{"x"})
				w, err := g.Ask(t.Context(), s.Token)
				if err != nil {
					t.Fatal(err)
				}
				first[w.Job-ids[0]] = true
				for _, id := range ids {
					g.Finish(id, "success")
				}
			}
			if len(first) != 2 {
				t.Errorf("of two jobs, %v came first", first)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tc.do(t, world(t)) })
		})
	}
}

// World: the fake over loopback HTTP, against the form of deliveries that Octokit publishes.
func TestDeliveriesAreSignedInOrderAndOfThePublishedForm(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	var mu sync.Mutex
	var got []string
	code := http.StatusAccepted
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.Header.Get("X-Hub-Signature-256") != want || r.Header.Get("X-GitHub-Delivery") == "" {
			t.Errorf("headers %v", r.Header)
		}
		var p struct{ Action string }
		if err := json.Unmarshal(body, &p); err != nil {
			t.Error(err)
		}
		name := r.Header.Get("X-GitHub-Event") + "$" + p.Action
		got = append(got, name)
		fits(t, name, body)
		w.WriteHeader(code)
	}))
	defer receiver.Close()
	g := world(t)
	hook := g.AddWebhook(org, receiver.URL, secret, nil)
	s := greeted(t, g, "slw-1", "x")
	g.Queue(app, []string{"x"})
	w, err := g.Ask(t.Context(), s.Token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Report(s.Token, w.Job, fake.Progress{Conclusion: "success"}); err != nil {
		t.Fatal(err)
	}
	g.Delivered()
	if d := cmp.Diff(got, []string{"workflow_job$queued", "workflow_job$in_progress", "workflow_job$completed", "workflow_run$completed"}); d != "" {
		t.Errorf("deliveries (-got +want):\n%s", d)
	}

	g.LoseDeliveries(1)
	g.Queue(app, []string{"x"})
	g.Delivered()
	mu.Lock()
	code = http.StatusInternalServerError
	mu.Unlock()
	g.Queue(app, []string{"x"})
	g.Delivered()
	mu.Lock()
	code = http.StatusOK
	mu.Unlock()
	h := forge.Hook{Scope: org, ID: hook}
	all, err := g.Deliveries(t.Context(), h, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	lost := forge.Lost(all)
	if len(lost) != 2 || lost[0].Code+lost[1].Code != 500 || lost[0].Code == lost[1].Code {
		t.Fatalf("lost are %+v", lost)
	}
	for _, l := range lost {
		if err := g.Redeliver(t.Context(), h, l.ID); err != nil {
			t.Error(err)
		}
	}
	g.Delivered()
	all, err = g.Deliveries(t.Context(), h, time.Time{})
	if err != nil || len(all) != 8 || len(forge.Lost(all)) != 0 || !slices.ContainsFunc(all, func(d forge.Delivery) bool { return d.GUID == lost[0].GUID && d.Redelivery && d.Code == 200 }) {
		t.Errorf("after that: %+v, %v", all, err)
	}
}

var schemas = sync.OnceValues(func() (any, error) {
	raw, err := os.ReadFile("../../../webhook/testdata/schemas.json.gz")
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(z)
})

func fits(t *testing.T, name string, body []byte) {
	t.Helper()
	doc, err := schemas()
	if err != nil {
		t.Error(err)
		return
	}
	c := jsonschema.NewCompiler()
	c.RegisterFormat(&jsonschema.Format{Name: "uri-template", Validate: func(any) error { return nil }})
	if err := c.AddResource("schemas.json", doc); err != nil {
		t.Error(err)
		return
	}
	s, err := c.Compile("schemas.json#/definitions/" + name)
	if err != nil {
		t.Error(err)
		return
	}
	payload, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = s.Validate(payload)
	}
	if err != nil {
		t.Errorf("%s is not of the published form: %v", name, err)
	}
}

// World: the fake over loopback HTTP.
func TestTheWorldIsPlayedOverHTTP(t *testing.T) {
	t.Parallel()
	g := fake.New(nil)
	mux := http.NewServeMux()
	mux.Handle("/admin/", g.AdminHandler())
	mux.Handle("/runner/", g.RunnerHandler())
	server := httptest.NewServer(mux)
	defer server.Close()
	g.SetRunnerURL(server.URL)
	call := func(method, path, token, body string, into any) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if into != nil {
			if err := json.NewDecoder(res.Body).Decode(into); err != nil {
				t.Fatalf("%s %s: %s: %v", method, path, res.Status, err)
			}
		}
		return res.StatusCode
	}
	var queued struct{ Jobs []int64 }
	if code := call("POST", "/admin/jobs", "", `{"repository":"team/app","labels":["x"],"script":["sleep 1"],"count":2}`, &queued); code != 201 || len(queued.Jobs) != 2 {
		t.Fatalf("queued %+v, %d", queued, code)
	}
	greeting, err := json.Marshal(fake.Greeting{Config: registered(t, g, "slw-1", "x").Config, Version: "2.400.0"})
	if err != nil {
		t.Fatal(err)
	}
	call("POST", "/admin/weather", "", `{"away":true}`, nil)
	if code := call("POST", "/runner/session", "", string(greeting), nil); code != 502 {
		t.Errorf("in an outage a runner is answered %d", code)
	}
	call("POST", "/admin/weather", "", `{"away":false}`, nil)
	var s fake.Session
	if code := call("POST", "/runner/session", "", string(greeting), &s); code != 201 {
		t.Fatalf("greeted with %d", code)
	}
	var w fake.Work
	if code := call("GET", "/runner/job?wait=1s", s.Token, "", &w); code != 200 || w.Job != queued.Jobs[0] || w.Script[0] != "sleep 1" {
		t.Fatalf("given %+v, %d", w, code)
	}
	if code := call("GET", "/runner/job", "none", "", nil); code != 404 {
		t.Errorf("without a session it is answered %d", code)
	}
	var j fake.JobState
	if code := call("GET", "/admin/jobs/"+jsonNumber(w.Job), "", "", &j); code != 200 || j.Status != "in_progress" || j.Runner != "slw-1" {
		t.Errorf("the job is %+v, %d", j, code)
	}
	if code := call("POST", "/runner/jobs/"+jsonNumber(w.Job), s.Token, `{"conclusion":"success"}`, nil); code != 200 {
		t.Errorf("its end is answered %d", code)
	}
	var runners []any
	if call("GET", "/admin/runners", "", "", &runners); len(runners) != 0 {
		t.Errorf("left over: %v", runners)
	}
	for path, body := range map[string]string{"/admin/jobs": `{"repository":"app"}`, "/admin/hooks": `{"scope":"team","url":"ftp://x"}`, "/admin/repositories": `{"repository":"a/b/c"}`} {
		if code := call("POST", path, "", body, nil); code != 422 {
			t.Errorf("%s with %s is answered %d", path, body, code)
		}
	}
}

func jsonNumber(n int64) string {
	raw, _ := json.Marshal(n)
	return string(raw)
}
