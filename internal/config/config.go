package config

import (
	"path/filepath"
	"time"
)

// Config is every setting of a server. Each field is one key of the file, one variable
// and one flag; the tag doc is its reference text. A test keeps the three complete.
type Config struct {
	DataDir        string     `key:"data_dir" doc:"Where the server keeps what is its own: the SQLite database, the key of secrets, Prefect's data. Private to its user, and locked against a second server."`
	Database       DSN        `key:"database" doc:"Empty: SQLite in data_dir. Or postgres://user:password@host/database, which several servers may share."`
	DatabaseFile   string     `key:"database_file" doc:"A file that holds the database's address, so that its password stands neither here nor in the list of processes."`
	Role           Role       `key:"role" default:"all" doc:"What this process does: api answers requests, worker does the work, all does both. api and worker need PostgreSQL."`
	Listen         string     `key:"listen" default:"127.0.0.1:8080" doc:"Address and port to listen on. Any address but loopback needs tls or behind_proxy."`
	URL            string     `key:"url" env:"SLIPWAY_PUBLIC_URL" doc:"The address that people and programs reach this installation by. Empty: made from listen."`
	TLS            TLS        `key:"tls"`
	BehindProxy    bool       `key:"behind_proxy" default:"false" doc:"A proxy in front of this server ends TLS. Cookies are then marked Secure."`
	TrustedProxies []string   `key:"trusted_proxies" doc:"Addresses or networks of proxies whose X-Forwarded-For is believed: 10.0.0.0/8. Without them the peer's own address counts."`
	Log            Log        `key:"log"`
	Secrets        Secrets    `key:"secrets"`
	Kubernetes     Kubernetes `key:"kubernetes"`
	Prefect        Prefect    `key:"prefect"`
	Python         Python     `key:"python"`
	Actions        Actions    `key:"actions"`
	Backup         Backup     `key:"backup"`
	Runners        Runners    `key:"runners"`
	Limits         Limits     `key:"limits"`
	ShutdownGrace  Duration   `key:"shutdown_grace" default:"30s" doc:"How long a server that is asked to stop lets running requests and steps end before it cuts them off; what is cut off goes on at the next start."`

	// Warnings are remarks that stop nothing, such as a variable that looks like ours but
	// is not.
	Warnings []string `key:"-"`
}

// TLS is the server's own certificate.
type TLS struct {
	CertFile string `key:"cert_file" doc:"Certificate chain, PEM."`
	KeyFile  string `key:"key_file" doc:"Its private key, PEM."`
}

// Log says how the server writes its log.
type Log struct {
	Level  string `key:"level" default:"info" one:"debug info warn error" doc:"The least important line to write: debug, info, warn or error."`
	Format string `key:"format" default:"text" one:"text json" doc:"text for people, json for machines."`
}

// Secrets says where the key is that secrets are sealed with.
type Secrets struct {
	KeyFile string `key:"key_file" doc:"The keyset that secrets are sealed with. Empty: secret.key in data_dir, made at the first start. SLIPWAY_SECRET_KEY, when set, holds the keyset itself and wins."`
}

// Kubernetes names the cluster.
type Kubernetes struct {
	Kubeconfig string `key:"kubeconfig" doc:"Empty: the service account when inside a cluster, else KUBECONFIG and ~/.kube/config."`
	Context    string `key:"context" doc:"The kubeconfig's context; empty: its current one."`

	DriftEvery Duration `key:"drift_every" default:"5m" min:"10s" max:"24h" doc:"How often each application is compared with what was last applied. The end of a change has it compared as well."`
}

// Prefect names the engine that runs actions.
type Prefect struct {
	APIURL   string `key:"api_url" doc:"An external Prefect server: http://prefect:4200/api. Empty: the server starts one of its own on loopback."`
	AuthFile string `key:"auth_file" doc:"A file with user:password for an external Prefect server."`
	UIURL    string `key:"ui_url" doc:"Where people open Prefect's pages; only for links."`
}

// Python says which interpreter runs actions.
type Python struct {
	Venv        string `key:"venv" doc:"The virtual environment of actions. Empty: python in data_dir, made by slipway python install."`
	Interpreter string `key:"interpreter" default:"python3" doc:"The Python that slipway python install makes the environment with."`
}

// Actions bounds what actions may take.
type Actions struct {
	MaxRunning   int64    `key:"max_running" default:"20" min:"1" max:"1000" doc:"How many actions run at once in this process; more wait."`
	PrefectRetry Duration `key:"prefect_retry" default:"10m" min:"1s" max:"24h" doc:"How long a hook that is due waits for a Prefect server that does not answer."`
	StopGrace    Duration `key:"stop_grace" default:"20s" min:"1s" max:"1h" doc:"How long a cancelled action may take to end before it is killed."`
	ImageWait    Duration `key:"image_wait" default:"5m" min:"1s" max:"24h" doc:"How long a Job of an action may wait for an image that cannot be pulled before it counts as failed."`
}

// Backup says how backups are carried.
type Backup struct {
	Image string `key:"image" doc:"The container image with this Slipway, whose program slipway carries the bytes of backups inside the cluster. Empty: nothing can be backed up or restored."`
}

// Runners is what all runner pools of the installation have in common.
type Runners struct {
	Image       string `key:"image" default:"ghcr.io/actions/actions-runner:2.337.0@sha256:e5496277be5d09bc968b3d64911b74e219ac4a3f2edce956a3ecf9271bea1ef4" doc:"The image of runner pods, pinned by its digest: the runner program in /home/runner, for user 1001, with sh and cp. GitHub refuses old versions of the program, so this default goes with the releases of Slipway."`
	DockerImage string `key:"docker_image" default:"docker.io/library/docker:28.5.2-dind@sha256:2a232a42256f70d78e3cc5d2b5d6b3276710a0de0596c145f627ecfae90282ac" doc:"The image of the Docker daemon beside each runner, pinned by its digest: dockerd, the docker client, sh, ip and iptables-legacy."`
	// Of GitLab's, found in public repositories under these digests.
	GitLabImage       string `key:"gitlab_image" default:"docker.io/gitlab/gitlab-runner:alpine-v18.11.3@sha256:904cc94dc8417152685f62c4c1a1add19ad2d82947ca7aead844895e16128f1e" doc:"The image of runner pods on GitLab, pinned by its digest: gitlab-runner and sh."`
	GitLabJobImage    string `key:"gitlab_job_image" default:"docker.io/library/alpine:3.22@sha256:14358309a308569c32bdc37e2e0e9694be33a9d99e68afb0f5ff33cc1f695dce" doc:"What a GitLab job runs in that names no image. The Docker daemon of its pod fetches it."`
	GitLabHelperImage string `key:"gitlab_helper_image" doc:"What fetches the sources of GitLab jobs, in place of the runner program's own from registry.gitlab.com: for networks without a way there."`
	BitbucketImage    string `key:"bitbucket_image" doc:"The image of runner pods on Bitbucket, pinned by its digest: Atlassian's bitbucket-pipelines-runner for Docker on Linux, with sh. It has no default, and without it no pool on Bitbucket has a runner."`

	AllowEgress []string `key:"allow_egress" doc:"Networks that runners may reach although they are private, such as that of a GitHub Enterprise Server: 10.20.0.0/16."`
	DNS         []string `key:"dns" doc:"Addresses of name servers beside the cluster's own that runners may ask, such as that of a cache on each node: 169.254.20.10."`
	CAFile      string   `key:"ca_file" doc:"Certificates, PEM, that a GitHub Enterprise Server is trusted by beside the system's own."`
	Mirror      bool     `key:"mirror" default:"false" doc:"Runners may reach the installation's mirror of Docker Hub, the pod registry-mirror in the namespace slipway-actions-mirror, and their Docker daemons ask it first."`
	Max         int64    `key:"max" default:"0" min:"0" max:"100000" doc:"The most runners of all pools at once. Pools of a higher priority come first, equals take turns. 0: no such limit."`
}

// Limits bounds what the server takes in.
type Limits struct {
	DriverBundle Bytes `key:"driver_bundle_bytes" default:"10MiB" min:"1KiB" max:"100MiB" doc:"The largest packed driver."`
	Request      Bytes `key:"request_bytes" default:"1MiB" min:"16KiB" max:"64MiB" doc:"The largest body of any other request."`
	Deliveries   Bytes `key:"deliveries_bytes" default:"128MiB" min:"64MiB" max:"4GiB" doc:"How much of all deliveries of forges may be in memory at once; more are asked to come again. One has at most 25 MB."`
}

// Role is what a process does.
type Role string

const (
	RoleAll    Role = "all"
	RoleAPI    Role = "api"
	RoleWorker Role = "worker"
)

// ServesAPI reports whether a process of this role answers requests.
func (r Role) ServesAPI() bool { return r != RoleWorker }

// Works reports whether a process of this role reconciles.
func (r Role) Works() bool { return r != RoleAPI }

// SQLite reports whether the database is the built-in one.
func (c Config) SQLite() bool { return c.Database == "" }

// SecretKeyFile is where the keyset of secrets is.
func (c Config) SecretKeyFile() string {
	if c.Secrets.KeyFile != "" {
		return c.Secrets.KeyFile
	}
	return filepath.Join(c.DataDir, "secret.key")
}

// SetupSecretFile is where the one-time secret of the first start is.
func (c Config) SetupSecretFile() string { return filepath.Join(c.DataDir, "setup-secret") }

// PythonVenv is the virtual environment that actions run in.
func (c Config) PythonVenv() string {
	if c.Python.Venv != "" {
		return c.Python.Venv
	}
	return filepath.Join(c.DataDir, "python")
}

// SecureCookies reports whether people reach the server by TLS only.
func (c Config) SecureCookies() bool { return c.TLS.CertFile != "" || c.BehindProxy }

// Duration is a length of time written as people do: 30s, 10m, 1h30m.
type Duration time.Duration

// Bytes is a size written as a number, or with a unit: 10MiB.
type Bytes int64
