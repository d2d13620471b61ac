package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// The form of a token: slw_, 43 characters of 256 bits of chance, and 6 of a checksum.
// The prefix and the checksum let scanners of source code and logs recognise a token
// with certainty, and let us refuse a mistyped one without asking the database.
const (
	tokenPrefix = "slw_"
	tokenChance = 43
	tokenCheck  = 6
	tokenLength = len(tokenPrefix) + tokenChance + tokenCheck
	tokenHint   = len(tokenPrefix) + 4
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newToken returns a token, what may be shown of it later, and what is stored of it.
func newToken() (value, hint string, hash []byte) {
	body := tokenPrefix + random62(tokenChance)
	value = body + checksum(body)
	return value, value[:tokenHint] + "…", hashToken(value)
}

// random62 returns n characters of chance. Bytes beyond the last whole multiple of 62 are
// thrown away: taking them modulo 62 would prefer some characters.
func random62(n int) string {
	out := make([]byte, 0, n)
	for buf := make([]byte, n); len(out) < n; {
		_, _ = rand.Read(buf) // it never fails: the runtime ends the process instead
		for _, b := range buf {
			if b < 62*4 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	out := make([]byte, tokenCheck)
	for i := range out {
		out[tokenCheck-1-i] = base62[sum%62]
		sum /= 62
	}
	return string(out)
}

// wellFormed reports whether value can be a token at all.
func wellFormed(value string) bool {
	return len(value) == tokenLength && strings.HasPrefix(value, tokenPrefix) &&
		checksum(value[:tokenLength-tokenCheck]) == value[tokenLength-tokenCheck:]
}

// hashToken is what is stored of a token. A fast hash is right here: there is nothing to
// guess in 256 bits of chance.
func hashToken(value string) []byte {
	sum := sha256.Sum256([]byte(value))
	return sum[:]
}

// Credentials makes and checks what people and programs prove themselves with. Package
// change uses it through an interface of its own.
type Credentials struct{ hasher *hasher }

// NewToken returns a new token's value, its hint and the hash to store it under.
func (Credentials) NewToken() (value, hint string, hash []byte) { return newToken() }
