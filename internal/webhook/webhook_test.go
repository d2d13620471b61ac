package webhook

// World: pure, with the payloads and schemas that Octokit publishes.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"slipway.dev/slipway/internal/slipway"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func published(t testing.TB, name string, into any) {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func examples(t testing.TB, event string) []json.RawMessage {
	t.Helper()
	all := map[string][]json.RawMessage{}
	published(t, "examples", &all)
	if len(all[event]) == 0 {
		t.Fatalf("there is no example of %s", event)
	}
	return all[event]
}

// schema is what GitHub's payloads of an event must be.
func schema(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	var doc any
	published(t, "schemas", &doc)
	c := jsonschema.NewCompiler()
	// The library does not know the {/sha} of RFC 6570, which GitHub's addresses are full of.
	c.RegisterFormat(&jsonschema.Format{Name: "uri-template", Validate: func(any) error { return nil }})
	if err := c.AddResource("schemas.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schemas.json#/definitions/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheExamplesOfWorkflowJobs(t *testing.T) {
	t.Parallel()
	var got []string
	for i, raw := range examples(t, "workflow_job") {
		e, err := Parse("workflow_job", raw, now)
		if err != nil || e.Job == nil {
			t.Errorf("example %d: %+v, %v", i, e, err)
			continue
		}
		j := e.Job.Job
		got = append(got, fmt.Sprintf("%d of %d/%d in %s/%s is %s on %q with %v %s", j.ID, j.RunID, j.Attempt, j.Owner, j.Repository, j.State, j.Runner, j.Labels, j.Conclusion))
		if j.QueuedAt.IsZero() || j.SeenAt != now || e.RepositoryID == 0 || e.Job.URL == "" {
			t.Errorf("example %d lacks a time, a place or a page: %+v", i, e.Job)
		}
		if begun := !j.StartedAt.IsZero(); begun != (j.State == slipway.JobRunning || j.State == slipway.JobCompleted) {
			t.Errorf("example %d is %s and began at %s", i, j.State, j.StartedAt)
		}
		if ended := !j.EndedAt.IsZero(); ended != (j.State == slipway.JobCompleted) {
			t.Errorf("example %d is %s and ended at %s", i, j.State, j.EndedAt)
		}
	}
	want := []string{
		`2832853555 of 940463255/1 in octo-org/example-workflow is in_progress on "my runner" with [gpu db-app dc-03] `,
		`289782451 of 2202229078/1 in Octocoders/Hello-World is completed on "GitHub Actions 5" with [ubuntu-latest] failure`,
		`289782451 of 2202229078/1 in Octocoders/Hello-World is completed on "GitHub Actions 5" with [ubuntu-latest] success`,
		`289782451 of 2202229078/1 in Octocoders/Hello-World is in_progress on "GitHub Actions 5" with [ubuntu-latest] `,
		`14541957942 of 5373506832/1 in wolfy1339/github-events-schemas is in_progress on "GitHub Actions 6" with [ubuntu-latest] `,
		// It names a runner though it is queued, which is not believed.
		`289782451 of 2202229078/1 in Octocoders/Hello-World is queued on "" with [ubuntu-latest] `,
		// Its own status is still "waiting"; the action counts.
		`12877621891 of 4747967848/1 in lineville/elastic-machines-testing is queued on "" with [self-hosted k8s] `,
		`12877621891 of 4747967848/1 in lineville/elastic-machines-testing is waiting on "" with [self-hosted k8s] `,
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
}

// What is read of a payload is what the schemas require: a payload with nothing but its
// required fields is read, and one without a field that is needed is refused.
func TestWhatTheSchemasRequireIsEnough(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"queued", "in_progress", "completed", "waiting"} {
		s := schema(t, "workflow_job$"+action)
		n := 0
		for _, raw := range examples(t, "workflow_job") {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			m, _ := v.(map[string]any)
			if m["action"] != action || s.Validate(v) != nil {
				continue // some examples are older than the schema
			}
			n++
			for key := range m {
				lean := map[string]any{}
				for k, v := range m {
					if k != key {
						lean[k] = v
					}
				}
				ok := s.Validate(lean) == nil
				out, err := json.Marshal(lean)
				if err != nil {
					t.Fatal(err)
				}
				e, err := Parse("workflow_job", out, now)
				if read := err == nil && e.Job != nil; ok && !read {
					t.Errorf("%s without %s fits the schema and is not read: %v", action, key, err)
				}
			}
		}
		if n == 0 && action != "waiting" && action != "queued" {
			t.Errorf("no example of %s fits its schema", action)
		}
	}
	if err := schema(t, "workflow_run$completed").Validate(map[string]any{}); err == nil {
		t.Error("the schema of workflow_run takes anything")
	}
}

func TestTheExamplesOfRunsAndPings(t *testing.T) {
	t.Parallel()
	ended := 0
	for i, raw := range examples(t, "workflow_run") {
		e, err := Parse("workflow_run", raw, now)
		var action struct {
			Action string
			Run    struct{ Conclusion string } `json:"workflow_run"`
		}
		if err := json.Unmarshal(raw, &action); err != nil {
			t.Fatal(err)
		}
		switch {
		case err != nil:
			t.Errorf("example %d: %v", i, err)
		case action.Action != "completed" && e.Run != nil:
			t.Errorf("example %d is %s and counts as an end", i, action.Action)
		case action.Action == "completed":
			ended++
			if e.Run == nil || e.Run.ID == 0 || e.Run.Attempt < 1 || e.Run.Owner == "" || e.Run.Repository == "" || e.Run.Conclusion != action.Run.Conclusion {
				t.Errorf("example %d: %+v", i, e.Run)
			}
		}
	}
	if ended != 3 {
		t.Errorf("%d examples are of an end, want 3", ended)
	}
	for i, raw := range examples(t, "ping") {
		if e, err := Parse("ping", raw, now); err != nil || e.Ping == nil || e.Ping.Hook == 0 || len(e.Ping.Events) == 0 {
			t.Errorf("ping %d: %+v, %v", i, e.Ping, err)
		}
	}
	for i, raw := range examples(t, "check_run") {
		if e, err := Parse("check_run", raw, now); err != nil || e != (Event{}) {
			t.Errorf("check_run %d: %+v, %v", i, e, err)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const place = `"repository":{"id":7,"name":"app","owner":{"login":"Team"}},"installation":{"id":9}`
	for _, tc := range []struct {
		name, event, payload string
		kind                 slipway.Kind
		says                 string
		check                func(Event) bool
	}{
		{name: "a job id beyond 32 bits", event: "workflow_job", payload: `{"action":"queued",` + place + `,"workflow_job":{"id":99999999999,"run_id":88888888888,"run_attempt":3,"labels":[" Linux "]}}`,
			check: func(e Event) bool {
				return e.Job.Job.ID == 99999999999 && e.Job.Job.Attempt == 3 && e.Installation == 9 && e.RepositoryID == 7 && e.Job.Job.Labels[0] == "Linux"
			}},
		{name: "a job that was cancelled before it began has no runner", event: "workflow_job",
			payload: `{"action":"completed",` + place + `,"workflow_job":{"id":1,"conclusion":"cancelled","runner_id":null,"runner_name":null,"labels":[]}}`,
			check:   func(e Event) bool { return e.Job.RunnerID == 0 && e.Job.Job.Conclusion == "cancelled" }},
		{name: "an action of tomorrow", event: "workflow_job", payload: `{"action":"paused",` + place + `,"workflow_job":{"id":1}}`, check: func(e Event) bool { return e == Event{Action: "paused"} }},
		{name: "an action that is none", event: "workflow_job", payload: `{"action":"<b>\u0000",` + place + `,"workflow_job":{"id":1}}`, check: func(e Event) bool { return e == Event{} }},
		{name: "a name that no database takes", event: "workflow_job", payload: `{"action":"queued",` + place + `,"workflow_job":{"id":1,"name":"a\u0000\u001b[31mb","workflow_name":"CI","head_branch":"main","html_url":"https://github.com/x"}}`,
			check: func(e Event) bool {
				j := e.Job.Job
				return j.Name == "a[31mb" && j.Workflow == "CI" && j.Branch == "main" && j.URL == "https://github.com/x" && j.RepositoryID == 7
			}},
		{name: "an owner that is a path", event: "workflow_job", payload: `{"action":"queued","repository":{"name":"app","owner":{"login":"../x"}},"workflow_job":{"id":1}}`, kind: slipway.Invalid, says: "no usable repository.owner.login"},
		{name: "an event of tomorrow that is no JSON", event: "workflow_dream", payload: `<`, check: func(e Event) bool { return e == Event{} }},
		{name: "no JSON", event: "workflow_job", payload: `{`, kind: slipway.Invalid, says: "cannot be read"},
		{name: "no job", event: "workflow_job", payload: `{"action":"queued",` + place + `}`, kind: slipway.Invalid, says: "no usable workflow_job.id"},
		{name: "no repository", event: "workflow_job", payload: `{"action":"queued","workflow_job":{"id":1}}`, kind: slipway.Invalid, says: "no usable repository.name"},
		{name: "an id that is text", event: "workflow_job", payload: `{"action":"queued",` + place + `,"workflow_job":{"id":"s3cret"}}`, kind: slipway.Invalid, says: "cannot be read"},
		{name: "labels without end", event: "workflow_job", payload: `{"action":"queued",` + place + `,"workflow_job":{"id":1,"labels":["x"` + strings.Repeat(`,"x"`, maxLabels) + `]}}`, kind: slipway.TooLarge, says: "labels"},
		{name: "a run without a number", event: "workflow_run", payload: `{"action":"completed",` + place + `}`, kind: slipway.Invalid, says: "no usable workflow_run.id"},
		{name: "a name without end is cut", event: "workflow_job", payload: `{"action":"queued",` + place + `,"workflow_job":{"id":1,"name":"` + strings.Repeat("ä", 5000) + `"}}`,
			check: func(e Event) bool { return len(e.Job.Job.Name) == maxText }},
	} {
		e, err := Parse(tc.event, []byte(tc.payload), now)
		switch {
		case tc.kind != "":
			if !slipway.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v, want %s: …%s…", tc.name, err, tc.kind, tc.says)
			}
		case err != nil || !tc.check(e):
			t.Errorf("%s: %+v, %v", tc.name, e, err)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	// From GitHub's own page about validating deliveries.
	const documented = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	body, secret := []byte("Hello, World!"), []byte("It's a Secret to Everybody")
	if got := Sign(body, secret); got != documented {
		t.Errorf("Sign() = %s, want %s", got, documented)
	}
	for _, tc := range []struct {
		name      string
		body      string
		signature string
		secrets   [][]byte
		at        int
		ok        bool
	}{
		{"GitHub's own example", "Hello, World!", documented, [][]byte{secret}, 0, true},
		{"the second of two secrets", "Hello, World!", documented, [][]byte{[]byte("old"), secret}, 1, true},
		{"upper-case hexadecimal digits", "Hello, World!", "sha256=" + strings.ToUpper(documented[7:]), [][]byte{secret}, 0, true},
		{"another body", "Hello, World", documented, [][]byte{secret}, 0, false},
		{"a body that was written again", "Hello, World!\n", documented, [][]byte{secret}, 0, false},
		{"another secret", "Hello, World!", documented, [][]byte{[]byte("other")}, 0, false},
		{"no secret", "Hello, World!", documented, nil, 0, false},
		{"an empty secret, and a signature with it", "Hello, World!", Sign(body, nil), [][]byte{nil, {}}, 0, false},
		{"no signature", "Hello, World!", "", [][]byte{secret}, 0, false},
		{"SHA-1", "Hello, World!", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59", [][]byte{secret}, 0, false},
		{"half a signature", "Hello, World!", documented[:40], [][]byte{secret}, 0, false},
		{"a signature and more", "Hello, World!", documented + "00", [][]byte{secret}, 0, false},
		{"no hexadecimal digits", "Hello, World!", "sha256=" + strings.Repeat("z", 64), [][]byte{secret}, 0, false},
	} {
		at, err := Verify([]byte(tc.body), tc.signature, tc.secrets...)
		if (err == nil) != tc.ok || tc.ok && at != tc.at || !tc.ok && !slipway.Is(err, slipway.Unauthenticated) {
			t.Errorf("%s: %d, %v", tc.name, at, err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	h.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	h.Set("X-GitHub-Event", "workflow_job")
	h.Set("X-GitHub-Hook-ID", "292430182")
	h.Set("X-GitHub-Hook-Installation-Target-Type", "organization")
	e, err := Open(h)
	if want := (Envelope{"72d3162e-cc78-11e3-81ab-4c9367dc0958", "workflow_job", 292430182, "organization"}); err != nil || e != want {
		t.Errorf("Open() = %+v, %v; want %+v", e, err, want)
	}
	for name, value := range map[string]string{"X-GitHub-Delivery": "", "X-GitHub-Event": "a b", "X-GitHub-Hook-ID": "x"} {
		bad := h.Clone()
		bad.Set(name, value)
		if _, err := Open(bad); !slipway.Is(err, slipway.Invalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s %q: %v", name, value, err)
		}
	}
	long := h.Clone()
	long.Set("X-GitHub-Delivery", strings.Repeat("a", 101))
	if _, err := Open(long); !slipway.Is(err, slipway.Invalid) {
		t.Errorf("a name without end: %v", err)
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ contentType, body, want string }{
		{"application/json", `{"a":1}`, `{"a":1}`},
		{"application/json; charset=utf-8", `{"a":1}`, `{"a":1}`},
		{"application/x-www-form-urlencoded", "payload=" + url.QueryEscape(`{"a":"ä +&"}`), `{"a":"ä +&"}`},
		{"application/x-www-form-urlencoded", "other=1", ""},
		{"application/x-www-form-urlencoded", "payload=%zz", ""},
		{"text/plain", `{}`, ""},
		{"", `{}`, ""},
	} {
		got, err := Payload(tc.contentType, []byte(tc.body))
		if string(got) != tc.want || (tc.want == "") != slipway.Is(err, slipway.Invalid) {
			t.Errorf("Payload(%q, %q) = %q, %v; want %q", tc.contentType, tc.body, got, err, tc.want)
		}
	}
}

// A payload is a stranger's until its signature was checked, and is parsed after that, but
// must not stop us either way.
func FuzzParse(f *testing.F) {
	for _, event := range []string{"workflow_job", "workflow_run", "ping"} {
		for _, raw := range examples(f, event) {
			f.Add(event, []byte(raw))
		}
	}
	f.Fuzz(func(t *testing.T, event string, payload []byte) {
		e, err := Parse(event, payload, now)
		if err == nil && e.Job != nil && (e.Job.Job.ID <= 0 || e.Job.Job.Owner == "" || e.Job.Job.Attempt < 1) {
			t.Errorf("it was taken: %+v", e.Job)
		}
	})
}
