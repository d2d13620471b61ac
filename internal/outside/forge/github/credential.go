package github

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"regexp"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// Credential is a token, or the key of an App. It prints as nothing.
type Credential struct {
	token string
	app   *appKey
}

type appKey struct {
	issuer       string // the App's client ID, or its number
	installation int64  // 0: found by the owner
	key          *rsa.PrivateKey
}

var (
	tokenForm  = regexp.MustCompile(`^[A-Za-z0-9_-]{20,400}$`)
	issuerForm = regexp.MustCompile(`^[A-Za-z0-9.]{1,60}$`)
)

// ParseCredential reads a secret's value: a token, or an App as JSON:
//
//	{"app": "Iv23…", "installation": 123, "private_key": "-----BEGIN RSA PRIVATE KEY-----\n…"}
//
// The installation may be left out; it is found by the owner of the runners.
func ParseCredential(value string) (Credential, error) {
	value = strings.TrimSpace(value)
	if !strings.HasPrefix(value, "{") {
		if !tokenForm.MatchString(value) {
			return Credential{}, slipway.Errorf(slipway.Invalid, "the credential is neither a GitHub token nor the JSON of a GitHub App").
				WithHint("save a fine-grained token alone, without quotes or a name before it")
		}
		return Credential{token: value}, nil
	}
	bad := func(why string) (Credential, error) {
		return Credential{}, slipway.Errorf(slipway.Invalid, "the credential of a GitHub App %s", why).
			WithHint(`save {"app": "its client ID", "private_key": "-----BEGIN…"} and, if it is to be fixed, "installation": its number`)
	}
	var in struct {
		App          string `json:"app"`
		Installation int64  `json:"installation"`
		PrivateKey   string `json:"private_key"`
	}
	d := json.NewDecoder(strings.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || d.More() {
		return bad("cannot be read") // without the cause, which may quote the key
	}
	if !issuerForm.MatchString(in.App) || in.Installation < 0 {
		return bad("names no App")
	}
	block, _ := pem.Decode([]byte(in.PrivateKey))
	if block == nil {
		return bad("has no private key in PEM form")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		other, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		rsaKey, ok := other.(*rsa.PrivateKey)
		if err != nil || !ok {
			return bad("has a private key that is none of RSA")
		}
		key = rsaKey
	}
	return Credential{app: &appKey{in.App, in.Installation, key}}, nil
}

// Key names a credential without telling it: the same for the same credential at the same
// forge.
func (c Credential) Key(baseURL string) string {
	h := sha256.New()
	h.Write([]byte(baseURL + "\n" + c.token + "\n"))
	if c.app != nil {
		h.Write([]byte(c.app.issuer + "\n"))
		h.Write(c.app.key.N.Bytes())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// IsApp reports whether the credential is an App's.
func (c Credential) IsApp() bool { return c.app != nil }

// String keeps the credential out of whatever it is printed into.
func (c Credential) String() string { return "(a credential)" }

// GoString does for %#v what String does.
func (c Credential) GoString() string { return c.String() }

// MarshalText does for logs and JSON what String does.
func (c Credential) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
