// Package pki makes the certificates by which the parts of the test cluster know one
// another, and the kubeconfig files that carry them.
//
// Everything is made on the machine, for one cluster, and is thrown away with it. The
// keys may never be used outside a test, and nothing here reads or trusts a key that
// was made elsewhere.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Identity is one certificate: whom it names, and, for a server, by which names and
// addresses it is reached.
type Identity struct {
	File          string // the name of its two files, without the ending
	CommonName    string // the user, for a client
	Organizations []string
	Names         []string
	Addresses     []net.IP
}

// Authority is a folder with a certificate authority and what it has signed.
type Authority struct {
	Dir string

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

const (
	authorityYears = 10
	leafLife       = 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is made anew by the next `up`.
	renewBefore = 30 * 24 * time.Hour
)

// Open reads the authority of the folder, or makes a new one.
func Open(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of certificates: %w", err)
	}
	authority := &Authority{Dir: dir}
	certificate, key, err := readPair(authority.path("ca"))
	if err == nil {
		authority.certificate, authority.key = certificate, key
		return authority, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "slipway test cluster"},
		NotBefore:             now.Add(-time.Hour), // clocks of parts may differ a little
		NotAfter:              now.AddDate(authorityYears, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
	}
	if authority.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("making the authority's key: %w", err)
	}
	if authority.certificate, err = sign(template, template, authority.key, authority.key); err != nil {
		return nil, fmt.Errorf("making the authority's certificate: %w", err)
	}
	return authority, writePair(authority.path("ca"), authority.certificate, authority.key)
}

// CertificateFile and KeyFile are the paths of an identity's two files. The authority
// itself goes by the name "ca".
func (a *Authority) CertificateFile(file string) string { return a.path(file) + ".crt" }

// KeyFile is the path of an identity's private key.
func (a *Authority) KeyFile(file string) string { return a.path(file) + ".key" }

func (a *Authority) path(file string) string { return filepath.Join(a.Dir, file) }

// Issue makes the identity's certificate, unless there is one that is good for a while.
func (a *Authority) Issue(identity Identity) error {
	certificate, _, err := readPair(a.path(identity.File))
	if err == nil && time.Until(certificate.NotAfter) > renewBefore && certificate.CheckSignatureFrom(a.certificate) == nil {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading certificate %s: %w", identity.File, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key %s: %w", identity.File, err)
	}
	now := time.Now()
	signed, err := sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: identity.CommonName, Organization: identity.Organizations},
		NotBefore:   now.Add(-time.Hour),
		NotAfter:    now.Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    identity.Names,
		IPAddresses: identity.Addresses,
	}, a.certificate, key, a.key)
	if err != nil {
		return fmt.Errorf("making certificate %s: %w", identity.File, err)
	}
	return writePair(a.path(identity.File), signed, key)
}

// SigningKey makes the pair of keys with which service accounts' tokens are signed and
// checked, as File.key and File.pub, unless it is there.
func (a *Authority) SigningKey(file string) error {
	if _, err := os.Stat(a.path(file) + ".pub"); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key %s: %w", file, err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the key %s: %w", file, err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encoding the key %s: %w", file, err)
	}
	if err := writePEM(a.path(file)+".key", "EC PRIVATE KEY", private); err != nil {
		return err
	}
	return writePEM(a.path(file)+".pub", "PUBLIC KEY", public)
}

// Kubeconfig is a kubeconfig file for the identity, with everything inside it, so that a
// copy of the one file is enough.
func (a *Authority) Kubeconfig(server, file string) ([]byte, error) {
	contents := map[string][]byte{}
	for name, source := range map[string]string{
		"ca": a.CertificateFile("ca"), "certificate": a.CertificateFile(file), "key": a.KeyFile(file),
	} {
		data, err := os.ReadFile(source)
		if err != nil {
			return nil, fmt.Errorf("making the kubeconfig of %s: %w", file, err)
		}
		contents[name] = data
	}
	const name = "slipway-test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: contents["ca"]}
	config.AuthInfos[file] = &clientcmdapi.AuthInfo{
		ClientCertificateData: contents["certificate"], ClientKeyData: contents["key"],
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: file}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("making the kubeconfig of %s: %w", file, err)
	}
	return data, nil
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return x509.ParseCertificate(der)
}

func writePair(path string, certificate *x509.Certificate, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the key %s: %w", path, err)
	}
	// The certificate last: it is what says that the pair is whole.
	if err := writePEM(path+".key", "EC PRIVATE KEY", private); err != nil {
		return err
	}
	return writePEM(path+".crt", "CERTIFICATE", certificate.Raw)
}

func writePEM(path, kind string, data []byte) error {
	encoded := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data})
	if err := os.WriteFile(path, encoded, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func readPair(path string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certificateData, err := os.ReadFile(path + ".crt")
	if err != nil {
		return nil, nil, err
	}
	keyData, err := os.ReadFile(path + ".key")
	if err != nil {
		return nil, nil, err
	}
	certificateBlock, _ := pem.Decode(certificateData)
	keyBlock, _ := pem.Decode(keyData)
	if certificateBlock == nil || keyBlock == nil {
		return nil, nil, fmt.Errorf("%s.crt or .key is not in PEM form; remove both", path)
	}
	certificate, err := x509.ParseCertificate(certificateBlock.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s.crt: %w", path, err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s.key: %w", path, err)
	}
	return certificate, key, nil
}
