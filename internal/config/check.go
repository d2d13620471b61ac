package config

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// check looks at values that parse but cannot be, alone or together.
func (l *loader) check() {
	l.checkDatabase()
	l.checkTLS()
	l.checkListen()
	l.checkURLs()
	l.checkProxies()
	l.checkRunners()
	for _, f := range []struct{ key, path string }{
		{"secrets.key_file", l.c.Secrets.KeyFile}, {"kubernetes.kubeconfig", l.c.Kubernetes.Kubeconfig}, {"prefect.auth_file", l.c.Prefect.AuthFile},
	} {
		l.readable(f.key, f.path)
	}
	if l.c.Prefect.AuthFile != "" && l.c.Prefect.APIURL == "" {
		l.wrong("prefect.auth_file", "set prefect.api_url, or leave it out", "it is for an external Prefect server, and none is named")
	}
}

// checkDatabase never repeats the address: it may hold a password.
func (l *loader) checkDatabase() {
	if l.c.Database == "" {
		if l.c.Role != RoleAll && l.c.Role != "" {
			l.wrong("role", "set database to a postgres:// address, or leave role out",
				"a server that is only %q needs PostgreSQL: with SQLite one process does everything", l.c.Role)
		}
		return
	}
	if l.c.Database.keywords() {
		return // the driver reads these, and says what is wrong with them
	}
	u, err := url.Parse(l.c.Database.Reveal())
	switch {
	case err != nil:
		l.wrong("database", "write postgres://user:password@host:5432/name, with %-escapes for special characters in the password", "it is not an address")
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		l.wrong("database", "write postgres://…; for SQLite leave it empty, its file is in data_dir", "it does not begin with postgres://")
	case strings.Trim(u.Path, "/") == "" && !u.Query().Has("dbname"):
		l.wrong("database", "write postgres://user@host/name", "it names no database")
	}
}

func (l *loader) checkTLS() {
	t := l.c.TLS
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		l.wrong("tls.cert_file", "set tls.key_file as well", "the certificate has no key")
	case t.CertFile == "" && t.KeyFile != "":
		l.wrong("tls.key_file", "set tls.cert_file as well", "the key has no certificate")
	case t.CertFile != "" && l.c.BehindProxy:
		l.wrong("behind_proxy", "leave one of them out", "this server ends TLS itself, since tls.cert_file is set")
	}
	l.readable("tls.cert_file", t.CertFile)
	l.readable("tls.key_file", t.KeyFile)
}

func (l *loader) readable(key, path string) {
	if path == "" {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		l.wrong(key, "", "%s cannot be read: %s", path, reason(err))
		return
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		l.wrong(key, "", "%s is a directory", path)
	}
}

// checkListen holds the rule that nobody's password crosses a network in clear: an address
// that others can reach needs TLS here, or the explicit word that a proxy ends it.
func (l *loader) checkListen() {
	host, port, err := net.SplitHostPort(l.c.Listen)
	n, perr := strconv.Atoi(port)
	switch {
	case err != nil || perr != nil || n < 0 || n > 65535:
		l.wrong("listen", "write 127.0.0.1:8080", "%q is not an address and a port", l.c.Listen)
	case !loopback(host) && l.c.TLS.CertFile == "" && !l.c.BehindProxy:
		l.wrong("listen", "set tls.cert_file and tls.key_file, or behind_proxy = true when a proxy ends TLS, or listen on 127.0.0.1",
			"others can reach %q, and passwords would cross the network in clear", l.c.Listen)
	}
}

// OnLoopback reports whether only programs of this machine reach the server directly.
func (c Config) OnLoopback() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	return err == nil && loopback(host) && !c.BehindProxy
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func (l *loader) checkURLs() {
	if l.c.URL == "" {
		scheme := "http"
		if l.c.TLS.CertFile != "" {
			scheme = "https"
		}
		l.c.URL = scheme + "://" + l.c.Listen
		if l.c.BehindProxy {
			l.c.Warnings = append(l.c.Warnings, "behind_proxy is set but url is not: links name "+l.c.URL+", which people may not reach")
		}
	} else if u := l.address("url", l.c.URL); u != nil {
		switch {
		case strings.Trim(u.Path, "/") != "":
			l.wrong("url", "give Slipway a host name of its own", "it has a path, and Slipway lives at the root of its host")
		case u.Scheme == "http" && l.c.SecureCookies() && !loopback(u.Hostname()):
			l.wrong("url", "write https://"+u.Host, "people reach this server by TLS, so their address begins with https://")
		}
		l.c.URL = strings.TrimRight(l.c.URL, "/")
	}
	if l.c.Prefect.APIURL != "" {
		l.address("prefect.api_url", l.c.Prefect.APIURL)
		l.c.Prefect.APIURL = strings.TrimRight(l.c.Prefect.APIURL, "/")
	}
	if l.c.Prefect.UIURL != "" {
		l.address("prefect.ui_url", l.c.Prefect.UIURL)
	}
}

// address parses the URL of a key. Like checkDatabase it never repeats the value.
func (l *loader) address(key, text string) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		l.wrong(key, "write https://host or http://host:port", "it is not an http address")
	case u.User != nil:
		hint := "take them out"
		if key == "prefect.api_url" {
			hint = "put them into a file as user:password, and name it in prefect.auth_file"
		}
		l.wrong(key, hint, "it holds a user or a password")
	case u.RawQuery != "" || u.Fragment != "":
		l.wrong(key, "write it without ? and #", "it has a query or a fragment")
	default:
		return u
	}
	return nil
}

func (l *loader) checkProxies() {
	for _, p := range l.c.TrustedProxies {
		if _, err := netip.ParsePrefix(p); err == nil {
			continue
		}
		if _, err := netip.ParseAddr(p); err != nil {
			l.wrong("trusted_proxies", "write 10.0.0.5 or 10.0.0.0/8", "%q is neither an address nor a network", p)
		}
	}
	if len(l.c.TrustedProxies) > 0 && !l.c.BehindProxy {
		l.wrong("trusted_proxies", "set behind_proxy = true as well", "no proxy is said to be in front")
	}
}

// checkRunners finds at the start what would otherwise fail each runner on its own.
func (l *loader) checkRunners() {
	r := l.c.Runners
	for _, i := range []struct{ key, image string }{
		{"runners.image", r.Image}, {"runners.docker_image", r.DockerImage}, {"runners.gitlab_image", r.GitLabImage},
		{"runners.gitlab_job_image", r.GitLabJobImage}, {"runners.gitlab_helper_image", r.GitLabHelperImage},
		{"runners.bitbucket_image", r.BitbucketImage},
	} {
		switch {
		case strings.TrimSpace(i.image) != i.image || strings.ContainsAny(i.image, " \t\n"):
			l.wrong(i.key, "write registry.example.com/name:tag@sha256:…", "%q is no name of an image", i.image)
		case i.image != "" && !strings.Contains(i.image, "@sha256:"):
			l.c.Warnings = append(l.c.Warnings, i.key+" has no digest: whoever may write "+i.image+" decides what runs your jobs")
		}
	}
	for _, n := range r.AllowEgress {
		if _, err := netip.ParsePrefix(n); err != nil && !isAddress(n) {
			l.wrong("runners.allow_egress", "write 10.20.0.0/16, or one address", "%q is not a network", n)
		}
	}
	for _, a := range r.DNS {
		if !isAddress(a) {
			l.wrong("runners.dns", "write 169.254.20.10", "%q is not an address", a)
		}
	}
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}
