package fake

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bitbucket is what runners of a Bitbucket Cloud are, as far as Atlassian's autoscaler uses
// it: registrations, steps that ask for labels, and programs that ask for one step after
// another. It is safe for many goroutines.
type Bitbucket struct {
	door
	places   map[string]string // UUIDs of workspaces and repositories, by acme and acme/shop
	runners  map[string]*bitbucketRunner
	steps    []*bitbucketStep
	ids      int64
	stubborn bool // answers to a change of state, and changes none
}

type bitbucketRunner struct {
	uuid, place, name, id, secret, status string
	labels                                []string
	step                                  *bitbucketStep
	sick                                  bool
}

type bitbucketStep struct {
	id     int64
	place  string // of the repository
	labels []string
	state  string
}

// NewBitbucket returns an empty one that takes one Authorization.
func NewBitbucket(sign string) *Bitbucket {
	return &Bitbucket{
		door:   door{sign: sign, refusal: bitbucketRefusal, faults: map[string]int{}},
		places: map[string]string{}, runners: map[string]*bitbucketRunner{},
	}
}

func bitbucketRefusal(status int) any {
	text := "Your credentials lack one or more required privilege scopes."
	switch status {
	case http.StatusUnauthorized:
		text = "Token is invalid, expired, or not supported for this endpoint."
	case http.StatusTooManyRequests:
		text = "Rate limit for this resource has been exceeded"
	}
	_, answer := bitbucketError(status, text)
	return answer
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return fmt.Sprintf("{%x-%x-%x-%x-%x}", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Add makes a workspace, as acme, or a repository, as acme/shop.
func (b *Bitbucket) Add(place string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places[place] = newUUID()
}

// Sicken has a runner unhealthy whenever it is without a step.
func (b *Bitbucket) Sicken(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runners {
		if r.name == name {
			r.sick = true
		}
	}
}

// Stubborn has it take changes of a runner's state and not make them.
func (b *Bitbucket) Stubborn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stubborn = true
}

// Names lists the registrations.
func (b *Bitbucket) Names() (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runners {
		out = append(out, r.name)
	}
	slices.Sort(out)
	return out
}

// Labels are those of a registration.
func (b *Bitbucket) Labels(name string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runners {
		if r.name == name {
			return r.labels
		}
	}
	return nil
}

// Queue makes a step of a repository that waits for a runner with these labels.
func (b *Bitbucket) Queue(repository string, labels ...string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids++
	b.steps = append(b.steps, &bitbucketStep{id: b.ids, place: repository, labels: labels, state: "PENDING"})
	return b.ids
}

// Ask is a runner's program with a configuration that asks for a step: it is online from then
// on, unless it is disabled. It gets one, or 0, or the one that it has; and it is refused
// when Bitbucket knows no such OAuth client.
func (b *Bitbucket) Ask(config string) (step int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.of(config)
	if r == nil {
		return 0, fmt.Errorf("401 Unauthorized")
	}
	if r.step != nil {
		return r.step.id, nil
	}
	if r.sick {
		r.status = "UNHEALTHY"
	}
	if r.status == "DISABLED" || r.sick {
		return 0, nil
	}
	r.status = "ONLINE"
	for _, s := range b.steps {
		if s.state == "PENDING" && (r.place == s.place || strings.HasPrefix(s.place, r.place+"/")) &&
			!slices.ContainsFunc(s.labels, func(l string) bool { return !slices.Contains(r.labels, l) }) {
			s.state, r.step = "IN_PROGRESS", s
			return s.id, nil
		}
	}
	return 0, nil
}

func (b *Bitbucket) of(config string) *bitbucketRunner {
	var c struct {
		Account    string `json:"account_uuid"`
		Repository string `json:"repository_uuid"`
		Runner     string `json:"runner_uuid"`
		ID         string `json:"oauth_client_id"`
		Secret     string `json:"oauth_client_secret"`
	}
	if json.Unmarshal([]byte(config), &c) != nil {
		return nil
	}
	r := b.runners[c.Runner]
	if r == nil || r.id != c.ID || r.secret != c.Secret {
		return nil
	}
	owner, _, within := strings.Cut(r.place, "/")
	if c.Account != b.places[owner] || within != (c.Repository != "") || within && c.Repository != b.places[r.place] {
		return nil
	}
	return r
}

// GiveLate hands a step to a runner that is disabled already: it was begun before.
func (b *Bitbucket) GiveLate(step int64, config string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.steps {
		if r := b.of(config); s.id == step && r != nil {
			s.state, r.step = "IN_PROGRESS", s
		}
	}
}

// Finish ends a step.
func (b *Bitbucket) Finish(step int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.steps {
		if s.id == step {
			s.state = "COMPLETED"
		}
	}
	for _, r := range b.runners {
		if r.step != nil && r.step.id == step {
			r.step = nil
		}
	}
}

// Step is a step's state.
func (b *Bitbucket) Step(id int64) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.steps {
		if s.id == id {
			return s.state
		}
	}
	return ""
}

// Handler is the part of the API that the autoscaler uses.
func (b *Bitbucket) Handler() http.Handler {
	m := http.NewServeMux()
	for _, scope := range []string{"workspaces/{w}", "repositories/{w}/{r}"} {
		at := " /internal/" + scope + "/pipelines-config/runners"
		for pattern, f := range map[string]func(*http.Request) (int, any){
			"GET /2.0/" + scope:          b.find,
			"GET" + at:                   b.list,
			"POST" + at:                  b.create,
			"GET" + at + "/{uuid}":       b.one(func(r *bitbucketRunner, _ *http.Request) (int, any) { return http.StatusOK, r.shown() }),
			"DELETE" + at + "/{uuid}":    b.one(b.remove),
			"PUT" + at + "/{uuid}/state": b.one(b.update),
		} {
			m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { b.serve(w, r, f) })
		}
	}
	return m
}

func bitbucketError(code int, text string) (int, any) {
	return code, map[string]any{"type": "error", "error": map[string]string{"message": text}}
}

// place finds the workspace or repository of a request, by its name or its UUID.
func (b *Bitbucket) place(r *http.Request) (string, bool) {
	for name, uuid := range b.places {
		owner, repo, within := strings.Cut(name, "/")
		fits := func(key, name, uuid string) bool { v := r.PathValue(key); return v == name || v == uuid }
		if within == (r.PathValue("r") != "") && fits("w", owner, b.places[owner]) && (!within || fits("r", repo, uuid)) {
			return name, true
		}
	}
	return "", false
}

func (b *Bitbucket) find(r *http.Request) (int, any) {
	place, ok := b.place(r)
	if !ok {
		return bitbucketError(http.StatusNotFound, "No workspace with identifier")
	}
	out := map[string]any{"uuid": b.places[place], "slug": place, "name": place}
	if owner, _, within := strings.Cut(place, "/"); within {
		out["workspace"] = map[string]string{"uuid": b.places[owner], "slug": owner}
	}
	return http.StatusOK, out
}

func (r *bitbucketRunner) shown() map[string]any {
	state := map[string]any{"status": r.status, "version": map[string]string{"version": "3.1.0"}, "updated_on": "2026-12-01T12:00:00Z"}
	if r.step != nil {
		state["step"] = map[string]any{"uuid": newUUID()}
	}
	return map[string]any{
		"uuid": r.uuid, "name": r.name, "labels": r.labels, "state": state, "created_on": "2026-12-01T12:00:00Z", "updated_on": "2026-12-01T12:00:00Z",
		"oauth_client": map[string]string{"id": r.id, "audience": "api.example.com", "token_endpoint": "https://auth.example.com/oauth/token"},
	}
}

func (b *Bitbucket) create(r *http.Request) (int, any) {
	place, ok := b.place(r)
	if !ok {
		return bitbucketError(http.StatusNotFound, "Not found")
	}
	var in struct {
		Name   string   `json:"name"`
		Labels []string `json:"labels"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Name == "" {
		return bitbucketError(http.StatusBadRequest, "Invalid runner")
	}
	n := &bitbucketRunner{uuid: newUUID(), place: place, name: in.Name, labels: append([]string{}, in.Labels...), status: "UNREGISTERED", id: rand.Text(), secret: "ATOA" + rand.Text()}
	b.runners[n.uuid] = n
	out := n.shown()
	oauth := maps.Clone(out["oauth_client"].(map[string]string)) //nolint:forcetypeassert // shown makes it
	oauth["secret"] = n.secret
	out["oauth_client"] = oauth
	return http.StatusOK, out
}

func (b *Bitbucket) one(f func(*bitbucketRunner, *http.Request) (int, any)) func(*http.Request) (int, any) {
	return func(r *http.Request) (int, any) {
		place, ok := b.place(r)
		n := b.runners[r.PathValue("uuid")]
		if !ok || n == nil || n.place != place {
			return bitbucketError(http.StatusNotFound, "Not found")
		}
		return f(n, r)
	}
}

func (b *Bitbucket) update(n *bitbucketRunner, r *http.Request) (int, any) {
	var in struct {
		Status string `json:"status"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Status != "DISABLED" {
		return bitbucketError(http.StatusBadRequest, "Invalid state")
	}
	if !b.stubborn && !n.sick {
		n.status = in.Status
	}
	return http.StatusOK, n.shown()
}

func (b *Bitbucket) remove(n *bitbucketRunner, _ *http.Request) (int, any) {
	delete(b.runners, n.uuid)
	return http.StatusNoContent, nil
}

func (b *Bitbucket) list(r *http.Request) (int, any) {
	place, ok := b.place(r)
	if !ok {
		return bitbucketError(http.StatusNotFound, "Not found")
	}
	values, at := []any{}, 0
	q := r.URL.Query()
	page, per := atLeastOne(q.Get("page"), 1), atLeastOne(q.Get("pagelen"), 10)
	for _, uuid := range slices.Sorted(maps.Keys(b.runners)) {
		if n := b.runners[uuid]; n.place == place {
			if at >= (page-1)*per && at < page*per {
				values = append(values, n.shown())
			}
			at++
		}
	}
	out := map[string]any{"values": values, "page": page, "pagelen": per, "size": at}
	if page*per < at {
		out["next"] = "https://api.bitbucket.org" + r.URL.EscapedPath() + "?" + url.Values{"page": {strconv.Itoa(page + 1)}, "pagelen": {strconv.Itoa(per)}}.Encode()
	}
	return http.StatusOK, out
}
