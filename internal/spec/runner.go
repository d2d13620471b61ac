package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// Limits and defaults of a runner application, where a team writes nothing.
const (
	maxServices = 20
	maxRunners  = 1000

	defaultRunners   = 1
	defaultTimeout   = 60
	minTimeout       = 5
	minGitLabTimeout = 10          // GitLab's own
	minStepTimeout   = 10          // Bitbucket's runners have half of it for a step
	maxTimeout       = 5 * 24 * 60 // GitHub ends a job on a runner of one's own after five days
	defaultWorkspace = 2
	minWorkspace     = 2
	maxWorkspace     = 16
	minIdle          = 60
	maxIdle          = 24 * 60 * 60
	maxPriority      = 100
	maxSchedules     = 20
	maxLabels        = 50
)

// runnerKeys are the tables of a driver application that a runner application cannot have,
// with why.
var runnerKeys = []struct{ key, why string }{
	{"driver", "no driver deploys it"},
	{"app", "its runners have the version that this slipway brings"},
	{"parameters", "they are a driver's"},
	{"components", "it has runner pools only"},
	{"backup", "its runners keep nothing"},
}

// runnerServices reads the [services] of a runner application.
func (r *reader) runnerServices(root, n *node) map[string]slipway.RunnerService {
	for _, k := range runnerKeys {
		for _, e := range root.keys {
			if e.key == k.key {
				r.fault(e.pos, k.key, "leave it out here, and give what needs it an application of its own", "a runner application has none: %s", k.why)
			}
		}
	}
	if !r.shaped(n, "services", tableShape, "") {
		return nil
	}
	if len(n.keys) == 0 {
		r.fault(n.pos, "services", "write [services.runner] and [services.runner.actions]", "holds no runner pool")
	}
	if len(n.keys) > maxServices {
		r.fault(n.pos, "services", "make a second runner application", "holds %d runner pools; at most %d are allowed", len(n.keys), maxServices)
		return nil
	}
	out := make(map[string]slipway.RunnerService, len(n.keys))
	for _, e := range n.keys {
		path := join("services", e.key)
		r.checkName(e.pos, path, "a service", e.key)
		out[e.key] = r.runnerService(e, path)
	}
	return out
}

// misplaced are keys that people write one table too high, or too low.
var (
	ofActions = []string{
		"forge", "organization", "repository", "runner_group_id", "workspace", "group", "project", "base_url", "credential", "jobs_credential", "labels", "architecture", "node_name",
		"timeout_minutes", "workspace_size_gib", "idle_seconds", "min_replicas", "spare", "priority", "cache", "schedules",
	}
	ofService = []string{"size", "resources", "replicas", "actions"}
)

// inTable checks the keys of a table as reader.table does, and knows the ones that belong
// into its neighbour.
func (r *reader) inTable(n *node, path string, known, neighbours []string, place string) bool {
	if !r.shaped(n, path, tableShape, "") {
		return false
	}
	for _, e := range n.keys {
		switch {
		case slices.Contains(known, e.key) || r.nobodys(e, path):
		case slices.Contains(neighbours, e.key):
			r.fault(e.pos, join(path, e.key), "write it under ["+place+"]", "does not belong here")
		default:
			r.fault(e.pos, join(path, e.key), didYouMean(e.key, known), "unknown key")
		}
	}
	return true
}

func (r *reader) runnerService(e entry, path string) (s slipway.RunnerService) {
	n := e.value
	if n.shape == tableShape && n.get("actions") == nil && !slices.ContainsFunc(ofActions, func(k string) bool { return n.get(k) != nil }) {
		r.fault(e.pos, path+".actions", "write ["+path+".actions], or give what is no runner pool an application with a driver",
			"is missing; a runner application holds runner pools only")
		return s
	}
	if !r.inTable(n, path, ofService, ofActions, path+".actions") {
		return s
	}
	s.Replicas = int(r.wholeOr(n.get("replicas"), path+".replicas", defaultRunners, 1, maxRunners))
	s.Size = r.size(n.get("size"), path+".size")
	s.Resources = r.resources(n.get("resources"), path+".resources", runnerSizes[s.Size])
	actions := n.get("actions")
	if actions == nil {
		r.fault(n.pos, path+".actions", "write ["+path+".actions] with organization or repository, credential and labels", "is missing")
		return s
	}
	s.Actions = r.runnerActions(actions, path, s.Replicas)
	return s
}

// wholeOr reads a whole number that may be left out.
func (r *reader) wholeOr(n *node, path string, otherwise, low, high int64) int64 {
	if n == nil {
		return otherwise
	}
	return r.whole(n, path, low, high)
}

func (r *reader) runnerActions(n *node, service string, replicas int) (a slipway.RunnerActions) {
	path := service + ".actions"
	for key, why := range map[string][2]string{
		"capacity":     {"this slipway runs its runners as pods of the cluster, and machines of a cloud are not built yet", "leave it out"},
		"spot_retries": {"it is for runners on machines of a cloud, which are not built yet", "leave it out"},
	} {
		if v := n.get(key); v != nil {
			r.fault(v.pos, path+"."+key, why[1], "%s", why[0])
		}
	}
	if !r.inTable(n, path, append([]string{"capacity", "spot_retries"}, ofActions...), ofService, service) {
		return a
	}
	f := r.forge(n, path)
	n = r.only(n, path, f)
	a.Forge = f.kind
	f.scope(r, n, path, &a)
	a.BaseURL = r.baseURL(n.get("base_url"), path+".base_url", f)
	a.Credential = r.name(r.need(n, path, "credential", fmt.Sprintf("name the secret that holds the token: credential = %q", f.secret)), path+".credential", "a secret")
	a.JobsCredential = r.name(n.get("jobs_credential"), path+".jobs_credential", "a secret")
	a.Architecture = r.architecture(n.get("architecture"), path+".architecture")
	a.Labels = r.labels(r.need(n, path, "labels", f.wantLabels), path+".labels", a.Architecture, f)
	a.NodeName = r.nodeName(n.get("node_name"), path+".node_name")
	a.TimeoutMinutes = int(r.wholeOr(n.get("timeout_minutes"), path+".timeout_minutes", defaultTimeout, f.minTimeout, maxTimeout))
	a.WorkspaceGiB = int(r.wholeOr(n.get("workspace_size_gib"), path+".workspace_size_gib", defaultWorkspace, minWorkspace, maxWorkspace))
	a.Priority = int(r.whole(n.get("priority"), path+".priority", -maxPriority, maxPriority))
	if cache := n.get("cache"); r.boolean(cache, path+".cache") {
		r.fault(cache.pos, path+".cache", "leave it out, and use actions/cache, or the cache of a setup action", "caches are set up in the workflow; every job begins with an empty disk")
	}
	r.scaling(n, path, replicas, &a)
	return a
}

// scaling reads what makes a pool sleep and wake.
func (r *reader) scaling(n *node, path string, replicas int, a *slipway.RunnerActions) {
	a.IdleSeconds = int(r.whole(n.get("idle_seconds"), path+".idle_seconds", minIdle, maxIdle))
	for _, key := range []string{"min_replicas", "spare", "schedules"} {
		if v := n.get(key); v != nil && n.get("idle_seconds") == nil {
			r.fault(v.pos, path+"."+key, "write idle_seconds as well: idle_seconds = 300", "needs idle_seconds: without it the pool keeps all its runners at all times")
		}
	}
	most := int64(replicas)
	if replicas == 0 { // is a fault already
		most = maxRunners
	}
	a.MinReplicas = int(r.atMost(n.get("min_replicas"), path+".min_replicas", most))
	a.Spare = int(r.atMost(n.get("spare"), path+".spare", most))
	a.Schedules = r.schedules(n.get("schedules"), path+".schedules", most)
}

// atMost reads a number of runners that the pool's limit bounds.
func (r *reader) atMost(n *node, path string, replicas int64) int64 {
	if !r.shaped(n, path, wholeShape, "") {
		return 0
	}
	v := n.whole()
	if v < 0 || v > replicas {
		r.fault(n.pos, path, "write a number of runners, or raise replicas", "is %d; it must be from 0 to replicas, which is %d", v, replicas)
		return 0
	}
	return v
}

func (r *reader) size(n *node, path string) string {
	if n == nil {
		return defaultSize
	}
	s := r.text(n, path)
	if _, ok := runnerSizes[s]; !ok && n.shape == textShape {
		r.fault(n.pos, path, sizeHint(s), "%q is no size", cut(s, 40))
		return defaultSize
	}
	return s
}

func sizeHint(s string) string {
	known := slices.Sorted(maps.Keys(runnerSizes))
	if hint := didYouMean(s, known); strings.HasPrefix(hint, "did") {
		return hint
	}
	return fmt.Sprintf("write one of %s, or [resources]", strings.Join(known, ", "))
}
