// Command fakegithub serves the fake forge as a program of its own: a GitHub Enterprise
// Server as far as a runner pool can tell, for the demonstration and for tests in which
// runners run in pods. It must never be taken for evidence of how GitHub behaves.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
)

const help = `fakegithub is a GitHub in memory, for trying out runner pools without one.

It speaks the REST API below /api/v3, has the two pages on which a person makes an App of a manifest, gives jobs to stand-in runners (test/world/cmd/standin) and sends signed
webhook deliveries. What it holds is gone when it ends. Any credential is accepted.

    fakegithub --repository team/app --runners 10.215.0.1:8090 --hook team=http://127.0.0.1:8080/webhooks/github/1

Then play the rest of the world at the admin address, with curl:

    curl -d '{"repository":"team/app","labels":["slipway"],"script":["echo hello","sleep 5s"]}' ADMIN/jobs
    curl ADMIN/jobs                 all jobs with their steps and logs; ADMIN/jobs/ID is one of them
    curl -X POST ADMIN/jobs/ID/cancel
    curl ADMIN/runners              registrations: what is left over here was leaked
    curl ADMIN/deliveries           every attempt at a delivery, and how it was answered
    curl ADMIN/calls                how often each operation was asked for
    curl -d '{"scope":"team","url":"https://…","secret":"…"}' ADMIN/hooks        scope "" is a GitHub App's hook
    curl -d '{"away":true}' ADMIN/weather                                        an outage; false ends it
    curl -d '{"latency_ms":500}' ADMIN/weather                                   slow answers
    curl -d '{"lose_reply":"Register"}' ADMIN/weather                            the next one is done, and answered by 502
    curl -d '{"lose_deliveries":2}' ADMIN/weather                                the next two are not sent
    curl -d '{"revoked":true}' or '{"throttle_seconds":60}' ADMIN/weather        what becomes of a credential
    curl -d '{"refuse_version":"2.400.0"}' or '{"shuffle":true}' ADMIN/weather   what becomes of runners

A job's script has a step a line, which the stand-in carries out without a shell:

    echo TEXT · fail TEXT · sleep 5s · write 100MiB [FILE] · hold 100MiB · read FILE · env · exit 3
    probe|reach|deny  tcp HOST:PORT | dns NAME | http URL

Options:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fakegithub:", err)
		os.Exit(1)
	}
}

// list is a flag that is given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fakegithub", flag.ContinueOnError)
	var l fake.Listen
	flags.StringVar(&l.REST, "listen", "127.0.0.1:8088", "the API's `address`")
	flags.StringVar(&l.Runners, "runners", "", "the `address` on which runners report, one that pods reach; empty: the API's")
	flags.StringVar(&l.RunnerURL, "runner-url", "", "the `URL` under which runners reach that, if it is another")
	flags.StringVar(&l.Admin, "admin", "127.0.0.1:8089", "the `address` of /admin, which asks for no credential")
	certificate := flags.String("tls-cert", "", "serve the API over TLS with the certificate of this `file`")
	key := flags.String("tls-key", "", "and with the key of this one")
	trust := flags.String("hook-ca", "", "trust the certificates of this `file` when deliveries are sent")
	offline := flags.Duration("offline-after", 30*time.Second, "how long a runner may be silent until it is shown as offline")
	lost := flags.Duration("lost-after", 2*time.Minute, "and until its job fails")
	secret := flags.String("hook-secret-file", "", "the `file` with the secret that deliveries are signed with")
	var repositories, hooks list
	flags.Var(&repositories, "repository", "make this `owner/name`; may be given several times")
	flags.Var(&hooks, "hook", "send deliveries, as `scope=URL`: team=…, team/app=…, or =… for a GitHub App's; may be given several times")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), help)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("there is no argument %q; see --help", flags.Arg(0))
	}
	if (*certificate == "") != (*key == "") {
		return errors.New("--tls-cert and --tls-key go together")
	}
	if *certificate != "" {
		pair, err := tls.LoadX509KeyPair(*certificate, *key)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		l.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	g := fake.New(nil)
	g.Patience(*offline, *lost)
	if *trust != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return fmt.Errorf("read the system's certificates: %w", err)
		}
		pem, err := os.ReadFile(*trust)
		if err != nil {
			return fmt.Errorf("read the certificates of hooks: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("there is no certificate in %s", *trust)
		}
		transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one, unless a program replaces it
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		g.TrustHooks(transport)
	}
	if err := populate(g, repositories, hooks, *secret); err != nil {
		return err
	}
	served, err := g.Serve(l)
	if err != nil {
		return err
	}
	fmt.Printf("API      %s/api/v3\nrunners  %s\nadmin    %s\n", served.URL, served.RunnerURL, served.AdminURL)
	<-ctx.Done()
	return served.Close()
}

// populate makes what the flags ask for.
func populate(g *fake.GitHub, repositories, hooks []string, secretFile string) error {
	secret := ""
	if secretFile != "" {
		raw, err := os.ReadFile(secretFile)
		if err != nil {
			return fmt.Errorf("read the secret of hooks: %w", err)
		}
		secret = strings.TrimSpace(string(raw))
	}
	for _, r := range repositories {
		owner, name, ok := strings.Cut(r, "/")
		if !ok || owner == "" || name == "" {
			return fmt.Errorf("--repository %s is not of the form owner/name", r)
		}
		g.AddRepository(forge.Repository{Owner: owner, Name: name})
	}
	for _, h := range hooks {
		scope, url, ok := strings.Cut(h, "=")
		if !ok || !strings.HasPrefix(url, "http") {
			return fmt.Errorf("--hook %s is not of the form scope=URL", h)
		}
		var s slipway.ForgeScope
		s.Owner, s.Repository, _ = strings.Cut(scope, "/")
		g.AddWebhook(s, url, secret, g.HookClient())
	}
	return nil
}
