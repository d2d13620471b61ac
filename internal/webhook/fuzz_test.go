package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
)

// World of these: pure. They are what the webhook takes from strangers, part by part; the
// whole is FuzzDelivery, and what comes after the signature FuzzParse.

func FuzzOpen(f *testing.F) {
	f.Add("72d3162e-cc78-11e3-81ab-4c9367dc0958", "workflow_job", "292430182", "organization")
	f.Add("", "", "", "")
	f.Add("a b", "workflow_job\r\n", "-1", "integration")
	f.Add(strings.Repeat("a", maxGUID+1), "ping", "99999999999999999999", "\x00")
	f.Fuzz(func(t *testing.T, guid, event, hook, target string) {
		h := http.Header{}
		h.Set("X-GitHub-Delivery", guid)
		h.Set("X-GitHub-Event", event)
		h.Set("X-GitHub-Hook-ID", hook)
		h.Set("X-GitHub-Hook-Installation-Target-Type", target)
		e, err := Open(h)
		if err != nil {
			if !slipway.Is(err, slipway.Invalid) || e != (Envelope{}) {
				t.Errorf("Open() = %+v, %v", e, err)
			}
			return
		}
		for _, word := range []string{e.GUID, e.Event} { // they are stored, logged and shown
			if word == "" || len(word) > maxGUID || strings.ContainsAny(word, " \t\r\n\x00\x1b'\"<>&/\\") {
				t.Errorf("it takes %q", word)
			}
		}
		if e.GUID != guid || e.Event != event || hook != "" && e.Hook == 0 && strings.Trim(hook, "+-0") != "" {
			t.Errorf("Open() = %+v of %q, %q, %q", e, guid, event, hook)
		}
	})
}

func FuzzPayload(f *testing.F) {
	for _, event := range []string{"workflow_job", "ping"} {
		for _, raw := range examples(f, event) {
			f.Add("application/x-www-form-urlencoded", []byte("payload="+url.QueryEscape(string(raw))))
		}
	}
	f.Add("application/json; charset=utf-8", []byte(`{}`))
	f.Add("application/x-www-form-urlencoded", []byte("a=1&payload=%7B%7D&payload=x;"))
	f.Add("application/x-www-form-urlencoded; x", []byte("payload=%"))
	f.Add("text/plain", []byte("payload="))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		before := bytes.Clone(body)
		got, err := Payload(kind, body)
		if !bytes.Equal(before, body) {
			t.Error("the body was changed")
		}
		if err != nil {
			if !slipway.Is(err, slipway.Invalid) || got != nil {
				t.Errorf("Payload() = %q, %v", got, err)
			}
			return
		}
		// Memory for a form is taken before it is read, by this.
		if len(got) > len(body) {
			t.Errorf("%d bytes are made of %d", len(got), len(body))
		}
		form := []byte("payload=" + url.QueryEscape(string(body)))
		if again, err := Payload("application/x-www-form-urlencoded", form); err != nil || !bytes.Equal(again, body) {
			t.Errorf("a form of it comes back as %q, %v", again, err)
		}
	})
}

func FuzzVerify(f *testing.F) {
	for _, raw := range examples(f, "workflow_job") {
		f.Add([]byte(raw), Sign(raw, []byte(oneSecret)), oneSecret)
	}
	f.Add([]byte("Hello, World!"), "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "It's a Secret to Everybody")
	f.Add([]byte{}, "sha256=", "")
	f.Add([]byte{}, Sign(nil, nil), "")
	f.Add([]byte("{}"), "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59", "x")
	f.Fuzz(func(t *testing.T, body []byte, signature, secret string) {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		want := secret != "" && strings.HasPrefix(signature, "sha256=") && strings.EqualFold(signature[7:], hex.EncodeToString(mac.Sum(nil)))
		at, err := Verify(body, signature, nil, []byte(secret))
		if got := err == nil; got != want || got && at != 1 {
			t.Errorf("Verify(%s) = %d, %v; want %v", strconv.Quote(signature), at, err, want)
		}
		if err != nil && (!slipway.Is(err, slipway.Unauthenticated) || len(secret) > 8 && strings.Contains(err.Error(), secret)) {
			t.Errorf("it is refused with %v", err)
		}
		if _, err := Verify(body, Sign(body, []byte(secret)), []byte(secret)); (err == nil) != (secret != "") {
			t.Errorf("its own signature: %v", err)
		}
	})
}
