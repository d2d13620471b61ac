package secret

// HookPlace is what the webhook's secret of a connection is sealed for, by the unguessable
// end of its address. No secret of an environment has such a name.
func HookPlace(installation, hook string) Place {
	return Place{Installation: installation, Name: "connection/" + hook}
}

// AppPlace is what the private key of a connection's App is sealed for.
func AppPlace(installation, hook string) Place {
	return Place{Installation: installation, Name: "connection/" + hook + "/app"}
}
