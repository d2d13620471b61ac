package api

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

// These tests stand on a real SQLite database.

// planted stands for what people put into requests and must not find in errors or logs.
const planted = "hunter2-planted"

func TestARefusalHoldsNoValueOfTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.furnish()
	for _, tc := range []struct {
		name, method, path, body string
		want                     []wire.FieldError
	}{
		{"a field is missing: huma would echo the whole body", "POST", "/users", `{"password":"` + planted + `","role":"read-only"}`,
			[]wire.FieldError{{Path: "body.name", Message: "it is missing"}}},
		{"a field is unknown", "POST", "/users", `{"name":"eve","role":"read-only","password":"` + planted + `","pasword":"` + planted + `"}`,
			[]wire.FieldError{{Path: "body.pasword", Message: "there is no such field"}}},
		{"a value has the wrong type", "PUT", "/environments/shop/dev/secrets/db", `{"value":["` + planted + `"]}`,
			[]wire.FieldError{{Path: "body.value", Message: "expected string"}}},
		{"a value is none of those allowed", "POST", "/users", `{"name":"eve","role":"` + planted + `","password":"x"}`,
			[]wire.FieldError{{Path: "body.role", Message: `expected value to be one of "read-only, read-write, administrator"`}}},
		{"the body is no JSON", "POST", "/users", `{"password":"` + planted + `"`, []wire.FieldError{{Path: "body", Message: "it is not valid JSON"}}},
		{"a key stands twice", "POST", "/projects", `{"name":"a","name":"` + planted + `"}`,
			[]wire.FieldError{{Path: "body", Message: "a key stands twice in one object"}}},
		{"a parameter is unknown", "GET", "/projects?password=" + planted, "", []wire.FieldError{{Path: "query.password", Message: "there is no such query parameter"}}},
		{"a parameter has the wrong type", "GET", "/tasks/" + planted, "", []wire.FieldError{{Path: "path.task", Message: "invalid integer"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var body any
			if tc.body != "" {
				body = tc.body
			}
			r := w.do(tc.method, tc.path, w.admin, body)
			p := r.problem(t)
			if r.status != 422 && r.status != 400 || p.Kind != string(slipway.Invalid) {
				t.Errorf("status %d, kind %s; want the request to be invalid", r.status, p.Kind)
			}
			if strings.Contains(r.body, planted) {
				t.Errorf("the answer holds the value: %s", r.body)
			}
			if diff := cmp.Diff(tc.want, p.Fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if at := tc.want[0]; strings.HasPrefix(p.Detail, "the request does not fit") && !strings.HasSuffix(p.Detail, ": "+at.Path+": "+at.Message) {
				t.Errorf("the sentence does not say what is wrong: %s", p.Detail)
			}
		})
	}
	// What is accepted is not logged either.
	w.must(200, "PUT", "/environments/shop/dev/secrets/db", w.writer, wire.SecretValue{Value: planted}, nil)
	w.must(401, "POST", "/login", "", wire.Login{Username: "ada", Password: planted}, nil)
	w.must(200, "GET", "/tasks?state=running", w.reader, nil, nil)
	log := w.log.String()
	for _, secret := range []string{planted, password, w.admin, w.reader, "state=running"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q:\n%s", secret, log)
		}
	}
}

func TestEveryRequestIsLoggedOnceWithItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.do("GET", "/tasks/999?seen=x", w.reader, nil, "X-Request-ID", "from-the-proxy.1")
	if got := r.header.Get("X-Request-ID"); got != "from-the-proxy.1" || r.problem(t).RequestID != got {
		t.Errorf("request ID %q in the header and %q in the problem, want the proxy's", got, r.problem(t).RequestID)
	}
	line := regexp.MustCompile(`msg=request method=GET route="GET /api/v1/tasks/\{task\}" status=404 duration=\S+ bytes=\d+ user=rex request_id=from-the-proxy.1`)
	if n := len(line.FindAllString(w.log.String(), -1)); n != 1 {
		t.Errorf("%d lines match %s in\n%s", n, line, w.log.String())
	}
	r = w.do("GET", "/whoami", w.reader, nil, "X-Request-ID", "two words\" and a quote")
	if got := r.header.Get("X-Request-ID"); !regexp.MustCompile(`^[A-Z2-7]{16}$`).MatchString(got) {
		t.Errorf("request ID = %q, want one of our own in place of an odd one", got)
	}
}

func TestAnUnknownPathIsAProblemToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/nothing", "/projects/a/b"} {
		if r := w.do("GET", path, w.admin, nil); r.status != 404 || r.problem(t).Kind != "not_found" {
			t.Errorf("GET %s = %d %s", path, r.status, r.body)
		}
	}
	if r := w.do("DELETE", "/whoami", w.admin, nil); r.status != 404 {
		t.Errorf("a method that is not there = %d, want 404", r.status)
	}
	if r := w.do("GET", "/openapi.yaml", "", nil); r.status != 200 || !strings.Contains(r.body, "openapi: 3.1.0") {
		t.Errorf("the description = %d", r.status)
	}
}

func TestLimitsOfSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // takes 8 KiB, and drivers of 64 KiB
	name := func(size int) string {
		const frame = `{"name":""}`
		return `{"name":"` + strings.Repeat("a", size-len(frame)) + `"}`
	}
	if r := w.do("POST", "/projects", w.admin, name(8<<10)); r.status != 422 {
		t.Errorf("a body of exactly the limit = %d, want it to be read and its name refused", r.status)
	}
	if r := w.do("POST", "/projects", w.admin, name(8<<10+1)); r.status != 413 || r.problem(t).Kind != "too_large" {
		t.Errorf("one byte more = %d %s, want 413", r.status, r.body)
	}
	if r := w.do("POST", "/drivers", w.admin, strings.Repeat("x", 64<<10+1), "Content-Type", "application/gzip"); r.status != 413 {
		t.Errorf("a driver that is too large = %d %s, want 413", r.status, r.body)
	}
	if r := w.do("POST", "/projects", w.admin, strings.Repeat("[", 1000)+strings.Repeat("]", 1000)); r.status != 400 && r.status != 422 {
		t.Errorf("a deep body = %d, want it refused", r.status)
	}
	if r := w.do("POST", "/projects", w.admin, "name=x", "Content-Type", "application/x-www-form-urlencoded"); r.status != 415 || r.problem(t).Kind != "invalid" {
		t.Errorf("a form = %d %s, want 415", r.status, r.body)
	}
}

func TestPagesAreStrict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.must(201, "POST", "/projects", w.admin, wire.NewProject{Name: fmt.Sprintf("p%d", i)}, nil)
	}
	for _, q := range []string{"limit=0", "limit=501", "limit=-1", "limit=x", "limit=1.5", "cursor=%22garbage", "cursor=" + strings.Repeat("a", 501)} {
		if r := w.do("GET", "/projects?"+q, w.reader, nil); r.status != 422 {
			t.Errorf("%s = %d %s, want 422", q, r.status, r.body)
		}
	}
	var names []string
	for cursor, pages := "", 0; ; pages++ {
		var l wire.List[wire.Project]
		w.must(200, "GET", "/projects?limit=2&cursor="+cursor, w.reader, nil, &l)
		for _, p := range l.Items {
			names = append(names, p.Name)
		}
		if cursor = l.NextCursor; cursor == "" {
			if pages != 1 {
				t.Errorf("%d pages after the first, want 1", pages)
			}
			break
		}
	}
	if diff := cmp.Diff([]string{"p0", "p1", "p2"}, names); diff != "" {
		t.Errorf("projects over two pages (-want +got):\n%s", diff)
	}
	if r := w.must(200, "GET", "/applications", w.reader, nil, nil); !strings.Contains(r.body, `"items":[]`) {
		t.Errorf("an empty listing = %s, want [] and not null", r.body)
	}
}

func TestTheSameKeyIsTheSameRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.must(201, "POST", "/projects", w.admin, wire.NewProject{Name: "shop"}, nil, "Idempotency-Key", "k1")
	again := w.must(201, "POST", "/projects", w.admin, wire.NewProject{Name: "shop"}, nil, "Idempotency-Key", "k1")
	if first.body != again.body {
		t.Errorf("the second answer is %s, want the first: %s", again.body, first.body)
	}
	if r := w.do("POST", "/projects", w.admin, wire.NewProject{Name: "other"}, "Idempotency-Key", "k1"); r.status != 409 {
		t.Errorf("the key with other input = %d, want 409", r.status)
	}
	if r := w.do("POST", "/projects", w.admin, wire.NewProject{Name: "shop"}); r.status != 409 {
		t.Errorf("the input without the key = %d, want 409", r.status)
	}
}

func TestAPanicIsAProblemAndALine(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	s := &service{Dependencies: Dependencies{Log: newLog(log)}}
	out := httptest.NewRecorder()
	s.observed(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("out of cheese") })).
		ServeHTTP(out, httptest.NewRequest("GET", "/x", bytes.NewReader(nil)))
	if out.Code != 500 || strings.Contains(out.Body.String(), "cheese") || !strings.Contains(out.Body.String(), `"kind":"internal"`) {
		t.Errorf("answer = %d %s, want an internal problem without the cause", out.Code, out.Body)
	}
	if !strings.Contains(log.String(), "out of cheese") || !strings.Contains(log.String(), "status=500") {
		t.Errorf("the log lacks the cause or the request:\n%s", log)
	}
}

func TestAPanicAfterHalfAnAnswerBreaksTheConnection(t *testing.T) {
	t.Parallel()
	s := &service{Dependencies: Dependencies{Log: newLog(&logBuffer{})}}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("recover() = %v, want http.ErrAbortHandler", got)
		}
	}()
	s.observed(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		panic("half way")
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/x", nil))
}
