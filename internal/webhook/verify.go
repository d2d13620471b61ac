package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// SignatureHeader holds the only signature that counts. GitHub also sends one of SHA-1
// under an older name, which is not looked at.
const SignatureHeader = "X-Hub-Signature-256"

// Verify reports which of the secrets signed a body: the index of the one that did. There
// is more than one while a secret is being changed. The body must be the bytes as they
// came, for a payload that was parsed and written again is another one.
func Verify(body []byte, signature string, secrets ...[]byte) (int, error) {
	hexes, ok := strings.CutPrefix(signature, "sha256=")
	given, err := hex.DecodeString(hexes)
	if !ok || err != nil || len(given) != sha256.Size {
		return 0, slipway.Errorf(slipway.Unauthenticated, "the delivery has no %s of the form sha256=<64 hexadecimal digits>", SignatureHeader).
			WithHint("set a secret for the webhook, in the forge and here")
	}
	// Every secret is tried, so that the time tells nothing about which one fits.
	found := -1
	for i, secret := range secrets {
		if len(secret) == 0 {
			continue // or anybody could sign
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		if subtle.ConstantTimeCompare(mac.Sum(nil), given) == 1 && found < 0 {
			found = i
		}
	}
	if found < 0 {
		return 0, slipway.Errorf(slipway.Unauthenticated, "the delivery's signature does not fit the connection's secret").
			WithHint("set the same secret in the forge and here")
	}
	return found, nil
}

// Sign is what a forge sends beside a body. Tests and the demonstration sign with it.
func Sign(body, secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}
