package prefect

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passedOn are the only variables of Slipway's own environment that its children see. The
// rest may hold credentials of clouds, forges and databases, which no action needs.
var passedOn = []string{
	"LANG", "LC_ALL", "TZ",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
	"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy",
}

// childEnv returns what every Python child of ours gets: the server, actions, the spare.
func childEnv(p Python, home string) map[string]string {
	env := map[string]string{
		"PATH": p.bin() + ":/usr/local/bin:/usr/bin:/bin",
		"HOME": home,
		"LANG": "C.UTF-8", // the output is read as UTF-8
		// What Slipway and Prefect say to each other on this machine goes through no proxy.
		"NO_PROXY":                strings.TrimPrefix(os.Getenv("NO_PROXY")+",127.0.0.1,localhost", ","),
		"PYTHONUNBUFFERED":        "1", // what was printed before a KILL is in the file
		"PYTHONDONTWRITEBYTECODE": "1", // a bundle is read-only, and shared
		"PYTHONNOUSERSITE":        "1",
		"PYTHONSAFEPATH":          "1",
		"DO_NOT_TRACK":            "1",
		// Without colours: the output is shown in pages and terminals of ours.
		"NO_COLOR":               "1",
		"PREFECT_LOGGING_COLORS": "false",
	}
	for _, name := range passedOn {
		if v, set := os.LookupEnv(name); set {
			env[name] = v
		}
	}
	env["no_proxy"] = env["NO_PROXY"]
	return env
}

// runEnv returns the environment of one action. The token arrives in l.Env and is nowhere
// else: not in parameters, not in arguments, not in a file.
func (r *Runner) runEnv(flowRunID string, l Launch) map[string]string {
	env := childEnv(r.Python, l.RunDir)
	maps.Copy(env, l.Env)
	maps.Copy(env, r.prefectEnv())
	env["TMPDIR"] = filepath.Join(l.RunDir, "tmp")
	env["PREFECT__FLOW_RUN_ID"] = flowRunID
	// With this the engine reads no deployment, no storage and no pull steps.
	env["PREFECT__FLOW_ENTRYPOINT"] = filepath.Join(l.Dir, l.File) + ":" + l.Function
	return env
}

// prefectEnv returns the settings that do not differ from run to run, so the spare has
// them from the start.
func (r *Runner) prefectEnv() map[string]string {
	ep := r.client.source.Endpoint()
	env := map[string]string{
		"PREFECT_API_URL": ep.API,
		"PREFECT_HOME":    r.prefectHome(),
		// The process that ends a run owns its state, and that is this one.
		"PREFECT__ENABLE_CANCELLATION_AND_CRASHED_HOOKS": "false",
		// Two requests less at every start.
		"PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
		"PREFECT_CLIENT_CSRF_SUPPORT_ENABLED":         "false",
		// With pauses of 2, 4, 8 … seconds an action rides out a server that is away for 8
		// minutes; the default of 5 retries is one minute, and a loaded machine needs longer
		// to start the server again.
		"PREFECT_CLIENT_MAX_RETRIES": "8",
		// The default of 2 s is what a KILL loses of the log.
		"PREFECT_LOGGING_TO_API_BATCH_INTERVAL": "0.5",
	}
	if ep.Auth != "" {
		env["PREFECT_API_AUTH_STRING"] = ep.Auth
	}
	if r.Python.Package != "" {
		env["PYTHONPATH"] = r.Python.Package
	}
	if r.Python.Redacts {
		env["PREFECT_LOGGING_SETTINGS_PATH"] = r.sharedFile("logging.yml")
	}
	return env
}

// environ turns a map into what os/exec takes, sorted.
func environ(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
