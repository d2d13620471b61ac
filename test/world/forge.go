package world

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
)

// The test cluster's addresses and images that runners need; test/cluster has them in its
// own module, package node and package runner.
const (
	forgeAddress = "10.215.0.1" // of this machine, and nothing of the cluster listens there
	nameServer   = "10.213.0.1"
	runnerImage  = "registry.example.com/actions-runner:test"
	dockerImage  = "registry.example.com/actions-docker:test"
)

// Forge is a GitHub for one test. It is a fake: what a test shows with it is that Slipway,
// the cluster and the stand-in runner play together, and nothing of the real GitHub.
type Forge struct {
	*fake.GitHub
	URL    string // what base_url is set to
	caFile string
}

// NewForge serves a fake forge that this machine and the cluster's pods reach.
func NewForge(t testing.TB) *Forge {
	t.Helper()
	Kubeconfig(t) // the address is there when the cluster is
	g := fake.New(nil)
	g.Patience(10*time.Second, 30*time.Second)
	cert, key := Certificate(t)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "forge.pem")
	if err := os.WriteFile(ca, []byte(cert), 0o600); err != nil {
		t.Fatal(err)
	}
	served, err := g.Serve(fake.Listen{
		REST: "127.0.0.1:0", Runners: net.JoinHostPort(forgeAddress, "0"),
		TLS: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		t.Fatalf("serve the fake forge where pods reach it; is the cluster up? %v", err)
	}
	t.Cleanup(func() {
		if err := served.Close(); err != nil {
			t.Errorf("end the fake forge: %v", err)
		}
	})
	return &Forge{GitHub: g, URL: served.URL, caFile: ca}
}

// Configuration is the section of slipway.toml with which runners run on the test cluster:
// the stand-ins' images, and the ways to the forge and to the cluster's name server, which
// is no pod there.
func (f *Forge) Configuration() string {
	return fmt.Sprintf("[runners]\nimage = %q\ndocker_image = %q\nallow_egress = [%q]\ndns = [%q]\nca_file = %q\n",
		runnerImage, dockerImage, netip.PrefixFrom(netip.MustParseAddr(forgeAddress), 32), nameServer, f.caFile)
}

// Deliver sends the deliveries of an organization, "team", or a repository, "team/app", to
// a webhook's URL.
func (f *Forge) Deliver(owner, repository, url, secret string) {
	f.AddWebhook(slipway.ForgeScope{Owner: owner, Repository: repository}, url, secret, nil)
}

// Ended waits for a job to end and returns it.
func (f *Forge) Ended(t testing.TB, job int64, within time.Duration) fake.JobState {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(200 * time.Millisecond) {
		j, ok := f.State(job)
		if ok && j.Status == "completed" {
			return j
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %d has not ended within %s: %+v; runners: %+v", job, within, j, f.Registrations())
		}
	}
}
