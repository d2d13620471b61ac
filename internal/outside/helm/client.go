package helm

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	helmkube "helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"

	"slipway.dev/slipway/internal/outside/kube"
)

// Options of a Client. Zero values mean the defaults.
type Options struct {
	CacheDir       string       // where pulled charts are kept; empty: they cannot be pulled
	MaxChartBytes  int64        // of a packed chart; 10 MiB
	RegistryConfig string       // a Docker config.json with the credentials of registries; empty: none
	Log            *slog.Logger // hears of Slipway's own acts, never of what Helm says
}

// Client installs charts on one cluster. It is safe for use by many goroutines; that two
// of them do not work on one release at a time is the caller's part.
type Client struct {
	kube   *kube.Client
	opts   Options
	log    *slog.Logger
	loaded *loadedCharts

	mu     sync.Mutex
	caps   *common.Capabilities // of the cluster, as charts ask for them
	capsAt time.Time
}

const (
	defaultMaxChartBytes = 10 << 20
	loadedBytes          = 64 << 20 // of charts kept in memory
	capsFor              = 5 * time.Minute
)

// discard is where Helm's own log goes: at its debug level it quotes what it was given.
var discard = slog.DiscardHandler

func init() {
	// The name that owns the fields of a chart's objects. Helm would take the name of the
	// program, which differs in tests and for those who rename it.
	helmkube.ManagedFieldsManager = "slipway"
}

// New returns a client that works through kc. kc may be nil for rendering alone.
func New(kc *kube.Client, opts Options) *Client {
	if opts.MaxChartBytes <= 0 {
		opts.MaxChartBytes = defaultMaxChartBytes
	}
	if opts.CacheDir != "" {
		opts.CacheDir = filepath.Clean(opts.CacheDir)
	}
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Client{kube: kc, opts: opts, log: log, loaded: newLoadedCharts(loadedBytes)}
}

// configuration is Helm's view of one namespace. The end of ctx ends what Helm does to
// the cluster, but not what it writes into its own storage: a release that was cut short
// must still be marked as failed.
func (c *Client) configuration(ctx context.Context, namespace string) *action.Configuration {
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(discard))
	getter := c.kube.Getter(ctx, namespace)
	cfg.RESTClientGetter = getter
	kc := helmkube.New(getter)
	kc.Namespace = namespace
	kc.SetLogger(discard)
	cfg.KubeClient = kc
	store := driver.NewSecrets(c.kube.Secrets(namespace))
	store.SetLogger(discard)
	cfg.Releases = storage.Init(store)
	cfg.Releases.SetLogger(discard)
	cfg.HookOutputFunc = func(_, _, _ string) io.Writer { return io.Discard }
	return cfg
}

// capabilities returns what the cluster offers, read at most every few minutes. Helm
// would ask anew for each release, which is most of the time of a small one.
func (c *Client) capabilities(getter *kube.Getter) (*common.Capabilities, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.caps != nil && time.Since(c.capsAt) < capsFor {
		return c.caps.Copy(), nil
	}
	dc, err := getter.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	dc.Invalidate() // what it keeps has no end of its own
	version, err := dc.ServerVersion()
	if err != nil {
		return nil, err
	}
	// One aggregated API that does not answer must not stop every release.
	offered, err := action.GetVersionSet(dc)
	if err != nil {
		return nil, err
	}
	c.caps = &common.Capabilities{
		APIVersions: offered,
		KubeVersion: common.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
		HelmVersion: common.DefaultCapabilities.HelmVersion,
	}
	c.capsAt = time.Now()
	return c.caps.Copy(), nil
}

// forget drops what is cached of the cluster's kinds.
func (c *Client) forget() {
	c.mu.Lock()
	c.caps = nil
	c.mu.Unlock()
	c.kube.Forget()
}
