package change

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// CreateConnectionInput asks for an address that a forge can send deliveries to.
type CreateConnectionInput struct {
	Name           string
	Project        string // with Environment: whose pools its jobs may wake
	Environment    string // both empty: the whole installation
	BaseURL        string // of a GitHub Enterprise Server; empty: github.com
	Secret         []byte // that deliveries are signed with; empty: one is made
	AppID          int64  // of the GitHub App that sends; 0: none
	AppKey         []byte // its private key, PEM
	IdempotencyKey string
}

// NewConnection is a connection with its webhook's secret, which is shown this once and
// stored sealed.
type NewConnection struct {
	slipway.Connection
	Secret string // empty when the caller gave it
}

// CreateConnection makes a connection. For an environment who may write there may; one of
// the whole installation is an administrator's, for its jobs may wake every pool.
func (s *Service) CreateConnection(ctx context.Context, c slipway.Caller, in CreateConnectionInput) (NewConnection, error) {
	if err := needFor(c, in.Project); err != nil {
		return NewConnection{}, err
	}
	in.BaseURL = strings.TrimSuffix(strings.TrimSpace(in.BaseURL), "/")
	if slipway.ForgeHost(in.BaseURL) == slipway.GitHubHost {
		in.BaseURL = ""
	}
	if err := checkConnection(in); err != nil {
		return NewConnection{}, err
	}
	var made string
	if len(in.Secret) == 0 {
		made = rand.Text() + rand.Text()
		in.Secret = []byte(made)
	}
	r := request{c, in.IdempotencyKey, "connection.create", []any{in.Name, in.Project, in.Environment, in.BaseURL, in.AppID}}
	out, replayed, err := once(ctx, s.Store, r, func(tx *store.Tx) (n slipway.Connection, err error) {
		n = slipway.Connection{Name: in.Name, Forge: "github", BaseURL: in.BaseURL, Hook: strings.ToLower(rand.Text()), AppID: in.AppID, CreatedBy: c.UserName}
		if in.Project != "" {
			e, err := environment(ctx, tx, c, in.Project, in.Environment)
			if err != nil {
				return n, err
			}
			n.EnvironmentID = e.ID
		}
		sealed, err := s.sealConnection(ctx, tx, n.Hook, hookSecrets{Current: string(in.Secret)}, in.AppKey)
		if err != nil {
			return n, err
		}
		if n, err = tx.CreateConnection(ctx, n, sealed); err != nil {
			return n, err
		}
		if err := s.wake(ctx, tx, slipway.WakeRecover, n.ID); err != nil {
			return n, err
		}
		return n, record(ctx, tx, c, deed{"connection.create", "connection", n.ID, n.Name, nil, connectionFacts(n)})
	})
	if err == nil && replayed && made != "" {
		err = slipway.Errorf(slipway.Conflict, "the connection %s was made already with this idempotency key; %s", out.Name, secretShownOnce).
			WithHint("make another secret: slipway connections rotate-secret %s", out.Name)
	}
	if err != nil {
		return NewConnection{}, err
	}
	return NewConnection{out, made}, nil
}

const secretShownOnce = "its secret was shown to the first request, and stands nowhere in clear"

// needFor asks for the right to write in a project's environment, or to administer the
// installation when there is no project.
func needFor(c slipway.Caller, project string) error {
	if project == "" {
		return needWhole(c, slipway.Administrator)
	}
	return need(c, slipway.ReadWrite)
}

func connectionFacts(c slipway.Connection) facts {
	f := facts{"forge": c.Forge, "host": slipway.ForgeHost(c.BaseURL), "scope": "installation"}
	if c.EnvironmentID != 0 {
		f["scope"] = slipway.EnvironmentRef(c.Project, c.Environment)
	}
	if c.AppID != 0 {
		f["app"] = c.AppID
	}
	if c.AppCredential != "" {
		f["credential"] = c.AppCredential
	}
	return f
}

const (
	minHookSecret = 16
	maxHookSecret = 256
)

func checkConnection(in CreateConnectionInput) error {
	var f faults
	f.is("name", slipway.CheckName("a connection", in.Name))
	switch {
	case in.Environment != "" && in.Project == "":
		f.add("project", "it is missing", "name the environment's project as well")
	case in.Project != "" && in.Environment == "":
		f.add("environment", "it is missing", "name an environment of the project, or neither for the whole installation")
	}
	checkForgeURL(&f, in.BaseURL)
	if len(in.Secret) > 0 {
		checkHookSecret(&f, in.Secret)
	}
	switch {
	case in.AppID < 0:
		f.add("app_id", "it is negative", "copy the App ID from the App's page")
	case in.AppID == 0 && len(in.AppKey) > 0:
		f.add("app_id", "it is missing, and there is a private key", "copy the App ID from the App's page")
	case in.AppID > 0 && len(in.AppKey) == 0:
		f.add("app_key", "it is missing", "give the private key that the App's page makes, or leave app_id out")
	case in.AppID > 0:
		checkAppKey(&f, in.AppKey)
	}
	return f.err("the connection")
}

func checkForgeURL(f *faults, base string) {
	if base == "" {
		return
	}
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		// Not quoted: what people paste here may hold a password.
		f.add("base_url", "it is not the address of a server", "write https://github.example.com, or leave it out for github.com")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		f.add("base_url", "it is without TLS", "write https://"+u.Host)
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func checkHookSecret(f *faults, secret []byte) {
	switch {
	case len(secret) < minHookSecret:
		f.add("secret", fmt.Sprintf("it has %d characters; at least %d are needed", len(secret), minHookSecret), "leave it out, and a good one is made")
	case len(secret) > maxHookSecret:
		f.add("secret", fmt.Sprintf("it has %d characters; at most %d are allowed", len(secret), maxHookSecret), "shorten it")
	case strings.ContainsFunc(string(secret), func(r rune) bool { return r < 0x21 || r > 0x7e }):
		f.add("secret", "it holds a blank or a character that is not plain ASCII", "use letters and digits, so that both sides read the same")
	}
}

func checkAppKey(f *faults, key []byte) {
	if !rsaKey(key) {
		f.add("app_key", "it is no RSA private key in PEM", "give the .pem file that the App's page made, unchanged")
	}
}

func rsaKey(text []byte) bool {
	block, _ := pem.Decode(text)
	if block == nil || len(text) > 32<<10 {
		return false
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return true
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	_, ok := key.(*rsa.PrivateKey)
	return err == nil && ok
}

// connection finds a connection that the caller may see, for a change of it.
func connection(ctx context.Context, tx *store.Tx, c slipway.Caller, name string) (slipway.Connection, error) {
	missing := slipway.Errorf(slipway.NotFound, "there is no connection %s", name).WithHint("slipway connections list")
	n, err := tx.ConnectionByName(ctx, name)
	switch {
	case slipway.Is(err, slipway.NotFound):
		return n, missing
	case err != nil:
		return n, err
	case n.EnvironmentID != 0 && !c.Sees(n.Project, n.Environment):
		return slipway.Connection{}, missing
	}
	return n, needFor(c, n.Project)
}

// DeleteConnection removes a connection, with the record of its deliveries. What it
// brought stays.
func (s *Service) DeleteConnection(ctx context.Context, c slipway.Caller, name string) error {
	if err := need(c, slipway.ReadWrite); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		n, err := connection(ctx, tx, c, name)
		if err != nil {
			return err
		}
		if err := tx.DeleteConnection(ctx, n.ID); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"connection.delete", "connection", n.ID, n.Name, connectionFacts(n), nil})
	})
}

// SecretOverlap is how long deliveries that are signed with the secret before are taken,
// so that the forge can be given the new one without a loss.
const SecretOverlap = time.Hour

// RotateSecretInput asks for another webhook secret.
type RotateSecretInput struct {
	Name   string
	Secret []byte // empty: one is made
	AtOnce bool   // the one before counts no more from now on: it became known
}

// RotateConnectionSecret gives a connection another secret.
func (s *Service) RotateConnectionSecret(ctx context.Context, c slipway.Caller, in RotateSecretInput) (NewConnection, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return NewConnection{}, err
	}
	var out NewConnection
	if len(in.Secret) == 0 {
		out.Secret = rand.Text() + rand.Text()
		in.Secret = []byte(out.Secret)
	} else {
		var f faults
		checkHookSecret(&f, in.Secret)
		if err := f.err("the secret"); err != nil {
			return NewConnection{}, err
		}
	}
	err := s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
		if out.Connection, err = connection(ctx, tx, c, in.Name); err != nil {
			return err
		}
		// An App may be stored just now: its secret must not be lost between a read and a write.
		var sealed store.ConnectionSecrets
		if out.Connection, sealed, err = tx.HoldConnection(ctx, out.ID); err != nil {
			return err
		}
		next := hookSecrets{Current: string(in.Secret)}
		if !in.AtOnce {
			// One that cannot be opened any more is no reason to refuse a new one.
			if was, err := s.openHook(ctx, tx, out.Hook, sealed.Hook); err == nil {
				next.Before, next.Until = was.Current, tx.Now.Add(SecretOverlap)
			}
		}
		again, err := s.sealConnection(ctx, tx, out.Hook, next, nil)
		if err != nil {
			return err
		}
		if err := tx.SetConnectionHook(ctx, out.ID, again.Hook); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"connection.rotate-secret", "connection", out.ID, out.Name, nil, facts{"at_once": in.AtOnce}})
	})
	if err != nil {
		return NewConnection{}, err
	}
	out.Connection = out.SeenBy(c)
	return out, nil
}
