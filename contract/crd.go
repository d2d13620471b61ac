package contract

import _ "embed"

// CRD is the custom resource that shows an application in its cluster: applications of
// the group slipway.dev. It is the record of which change has reached the cluster.
//
//go:embed crd.yaml
var CRD []byte
