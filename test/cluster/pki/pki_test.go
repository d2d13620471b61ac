package pki_test

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/test/cluster/pki"
)

// These tests stand in the pure world: files in a temporary folder.

func TestIssuedCertificateIsTrustedAndKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority, err := pki.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	identity := pki.Identity{File: "server", CommonName: "server", Names: []string{"kubernetes"}, Addresses: []net.IP{net.IPv4(10, 1, 2, 3)}}
	if err := authority.Issue(identity); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(read(t, authority.CertificateFile("ca")))
	for _, name := range []string{"kubernetes", "10.1.2.3"} {
		if _, err := read(t, authority.CertificateFile("server")).Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Errorf("verifying it for %s: %v", name, err)
		}
	}

	before := read(t, authority.CertificateFile("server"))
	again, err := pki.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Issue(identity); err != nil {
		t.Fatal(err)
	}
	if !read(t, again.CertificateFile("server")).Equal(before) {
		t.Error("a second Issue() made a good certificate anew; running programs would no longer match it")
	}
}

func TestCertificateOfAnotherAuthorityIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	identity := pki.Identity{File: "client", CommonName: "somebody"}
	for range 2 {
		authority, err := pki.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := authority.Issue(identity); err != nil {
			t.Fatal(err)
		}
		if err := read(t, authority.CertificateFile("client")).CheckSignatureFrom(read(t, authority.CertificateFile("ca"))); err != nil {
			t.Error(err)
		}
		if err := os.Remove(authority.CertificateFile("ca")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKubeconfigIsWhole(t *testing.T) {
	t.Parallel()
	authority, err := pki.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Issue(pki.Identity{File: "admin", CommonName: "admin", Organizations: []string{"system:masters"}}); err != nil {
		t.Fatal(err)
	}
	data, err := authority.Kubeconfig("https://10.1.2.3:1234", "admin")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://10.1.2.3:1234" || len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Errorf("the kubeconfig lacks something: host %q, %d, %d and %d bytes", config.Host, len(config.CAData), len(config.CertData), len(config.KeyData))
	}
}

func read(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
