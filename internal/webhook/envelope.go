package webhook

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// Envelope is what the headers of a delivery say.
type Envelope struct {
	GUID   string // of the delivery; a redelivery keeps it
	Event  string // workflow_job, workflow_run, ping, …
	Hook   int64  // the hook that sent it; 0: not said
	Target string // what the hook belongs to: repository, organization or integration
}

// maxGUID is more than any forge's name of a delivery has.
const maxGUID = 100

// Open reads the headers of a GitHub delivery.
func Open(h http.Header) (Envelope, error) {
	e := Envelope{GUID: h.Get("X-GitHub-Delivery"), Event: h.Get("X-GitHub-Event"), Target: h.Get("X-GitHub-Hook-Installation-Target-Type")}
	if e.GUID == "" || len(e.GUID) > maxGUID || !plain(e.GUID) {
		return Envelope{}, slipway.Errorf(slipway.Invalid, "the delivery has no usable X-GitHub-Delivery").WithHint("only GitHub's webhooks are taken here")
	}
	if e.Event == "" || len(e.Event) > maxGUID || !plain(e.Event) {
		return Envelope{}, slipway.Errorf(slipway.Invalid, "the delivery has no usable X-GitHub-Event").WithHint("only GitHub's webhooks are taken here")
	}
	if raw := h.Get("X-GitHub-Hook-ID"); raw != "" {
		id, err := strconv.ParseInt(raw, 10, 64)
		if err != nil {
			return Envelope{}, slipway.Errorf(slipway.Invalid, "the delivery's X-GitHub-Hook-ID is no number")
		}
		e.Hook = id
	}
	return e, nil
}

func plain(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' || r == ':')
	}) < 0
}

// Payload returns the JSON of a body. A hook can be set to send it as a form; the signature
// is over the form then, so this comes after Verify.
func Payload(contentType string, body []byte) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	switch {
	case err == nil && kind == "application/json":
		return body, nil
	case err == nil && kind == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil || !form.Has("payload") {
			return nil, slipway.Errorf(slipway.Invalid, "the delivery is a form without a payload").WithHint("set the webhook's content type to application/json")
		}
		return []byte(form.Get("payload")), nil
	}
	return nil, slipway.Errorf(slipway.Invalid, "the delivery is of a type that is not read").WithHint("set the webhook's content type to application/json")
}
