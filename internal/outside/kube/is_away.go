package kube

// Away reports whether err says that the API server does not answer, so that what was asked
// may be asked again; every other error is a verdict.
func Away(err error) bool { return away(err) }
