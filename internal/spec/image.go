package spec

import (
	"strings"

	"github.com/distribution/reference"

	"slipway.dev/slipway/internal/slipway"
)

// badImage says why text cannot be an image override: it knows one token, the
// application's version, and must be an image reference once that is filled in.
func badImage(text string) (msg, hint string) {
	const example = "1.0.0"
	image := slipway.ExpandImage(text, example)
	if strings.ContainsAny(image, "{}") || strings.Contains(image, "{%") {
		return "only " + slipway.VersionToken + " is replaced in an image; nothing else may stand in braces",
			`write the image in full, or with the version: "registry.example.com/web:` + slipway.VersionToken + `"`
	}
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		hint := `write it as registry/name:tag, in lower case but for the tag`
		if strings.Contains(image, "://") {
			hint = "leave out the scheme: " + image[strings.Index(image, "://")+3:]
		}
		return "is no image reference: " + text, hint
	}
	return "", ""
}
