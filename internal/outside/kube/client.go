package kube

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"slipway.dev/slipway/internal/slipway"
)

// Config says which cluster to speak to, and as whom.
type Config struct {
	Kubeconfig   string // path; empty: $KUBECONFIG, ~/.kube/config, or the pod's own service account
	Context      string // empty: the kubeconfig's current one
	Version      string // of Slipway, for the user agent
	Installation string // the installation's ID; marks the namespaces that are ours
	Log          *slog.Logger
}

// Client speaks to one cluster. It is safe for use by many goroutines.
type Client struct {
	config       *rest.Config
	installation string
	log          *slog.Logger

	api       client.WithWatch // every object; reads go to the API server, nothing is cached
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper

	set kubernetes.Interface // for what api has not: logs, and the Secrets of Helm

	// logs opens the log of a container; a field, because no fake of the API has logs.
	logs func(ctx context.Context, namespace, pod string, opts *corev1.PodLogOptions) (io.ReadCloser, error)

	resync     time.Duration // between two readings of a wait, whatever the watch says
	goneWithin time.Duration // how long a deleted Job may take to go, with its pods
	steadyFor  time.Duration // how long a container without a probe must have run
	now        func() time.Time
}

const (
	// requestTimeout bounds one request that is neither a watch nor a followed log. The
	// API server itself gives up after 60 s.
	requestTimeout = 32 * time.Second
	defaultResync  = 2 * time.Second
)

func init() {
	// Both libraries write to the standard error by themselves, in forms of their own.
	// What they know comes back as an error, too.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}

// New returns a client of the cluster that cfg names. It makes no request.
func New(cfg Config) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if cfg.Kubeconfig != "" {
		rules.ExplicitPath = cfg.Kubeconfig
	}
	rc, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: cfg.Context}).ClientConfig()
	if err != nil {
		return nil, &slipway.Error{Kind: slipway.Unavailable, Msg: "no Kubernetes cluster is configured: " + err.Error(),
			Hint: "set kubernetes.kubeconfig in slipway.toml, or KUBECONFIG", Err: err}
	}
	return NewForConfig(rc, cfg)
}

// NewForConfig returns a client of the cluster that rc reaches.
func NewForConfig(rc *rest.Config, cfg Config) (*Client, error) {
	rc = rest.CopyConfig(rc)
	version := cfg.Version
	if version == "" {
		version = "dev"
	}
	rc.UserAgent = "slipway/" + version
	// The API server has its own fair queues. This only keeps a fault of ours from
	// flooding it, and is far above what work needs.
	rc.QPS, rc.Burst = 200, 400
	rc.WarningHandler = rest.NoWarnings{}
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next, requestTimeout} })

	hc, err := rest.HTTPClientFor(rc)
	if err != nil {
		return nil, fmt.Errorf("make the HTTP client of the cluster: %w", err)
	}
	dc, err := discovery.NewDiscoveryClientForConfigAndClient(rc, hc)
	if err != nil {
		return nil, fmt.Errorf("make the discovery client of the cluster: %w", err)
	}
	cached := memory.NewMemCacheClient(dc)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	api, err := client.NewWithWatch(rc, client.Options{HTTPClient: hc, Scheme: scheme(), Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make the client of the cluster: %w", err)
	}
	set, err := kubernetes.NewForConfigAndClient(rc, hc)
	if err != nil {
		return nil, fmt.Errorf("make the log client of the cluster: %w", err)
	}
	c := newClient(api, cfg)
	c.config, c.discovery, c.mapper, c.set = rc, cached, mapper, set
	c.logs = func(ctx context.Context, namespace, pod string, opts *corev1.PodLogOptions) (io.ReadCloser, error) {
		return set.CoreV1().Pods(namespace).GetLogs(pod, opts).Stream(ctx)
	}
	return c, nil
}

// newClient is what the real client and the tests' fakes share.
func newClient(api client.WithWatch, cfg Config) *Client {
	out := cfg.Log
	if out == nil {
		out = slog.New(slog.DiscardHandler)
	}
	return &Client{installation: cfg.Installation, log: out, api: api, resync: defaultResync, goneWithin: time.Minute, steadyFor: steadyFor, now: time.Now}
}

// scheme holds the typed objects that we read. It is our own: client-go's is global, and
// Helm adds to it while others may read.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		panic(err) // the types are compiled in
	}
	return s
}

// Secrets is the Secrets of a namespace as Helm's storage of releases wants them.
func (c *Client) Secrets(namespace string) typedcorev1.SecretInterface {
	return c.set.CoreV1().Secrets(namespace)
}

// Version returns the version of the API server, such as v1.34.4. It is the cheapest
// proof that the cluster answers.
func (c *Client) Version(ctx context.Context) (string, error) {
	// Discovery takes no context, so the request runs beside the wait for it.
	type answer struct {
		version string
		err     error
	}
	got := make(chan answer, 1)
	go func() {
		v, err := c.discovery.ServerVersion()
		if err != nil {
			got <- answer{err: err}
			return
		}
		got <- answer{version: v.GitVersion}
	}()
	select {
	case a := <-got:
		return a.version, explain(a.err, "ask the cluster for its version")
	case <-ctx.Done():
		return "", explain(context.Cause(ctx), "ask the cluster for its version")
	}
}
