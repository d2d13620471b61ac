package contract

import _ "embed"

// OpenAPI describes the API under /api/v1. It is generated from the handlers of package
// api, whose test checks that it is what they are.
//
//go:embed openapi.yaml
var OpenAPI []byte
