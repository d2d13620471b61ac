package kube

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Getter gives package helm the connection to the cluster as Helm's SDK wants it: the
// same user agent, limits, discovery cache and REST mapper as ours, and one namespace.
type Getter struct {
	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
	namespace string
}

// Getter returns a Getter for namespace. The end of ctx ends every request made through
// it, which the SDK's own functions do not offer.
func (c *Client) Getter(ctx context.Context, namespace string) *Getter {
	rc := rest.CopyConfig(c.config)
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return until{next, ctx} })
	return &Getter{config: rc, discovery: c.discovery, mapper: c.mapper, namespace: namespace}
}

func (g *Getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

func (g *Getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

func (g *Getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

func (g *Getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(),
		&clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}})
}

// until ends every request when its context ends, beside the request's own.
type until struct {
	next http.RoundTripper
	ctx  context.Context
}

func (u until) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := context.Cause(u.ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(u.ctx, cancel)
	res, err := u.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	res.Body = &cancelling{res.Body, func() { stop(); cancel() }}
	return res, nil
}

// Forget drops what is cached of the cluster's kinds. Call it after a custom resource
// definition was installed or removed.
func (c *Client) Forget() {
	if c.discovery != nil {
		c.discovery.Invalidate()
	}
	if m, ok := c.mapper.(meta.ResettableRESTMapper); ok {
		m.Reset()
	}
}
