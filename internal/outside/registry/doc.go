// Package registry keeps drivers in OCI registries: it pushes a driver's bundle as an
// artifact, pulls one, and signs and verifies them as cosign does.
//
// A registry is a stranger. What it sends is limited in size and time, checked against the
// digests that were asked for, and unpacked by package spec, which refuses links, paths
// that lead outside and archives that explode. Credentials go to the registry they belong
// to, never without TLS unless the caller said so, and never into an error or a log. The
// identity of what was pulled is the digest of its bundle, the same as that of a load of
// the directory: a registry's word about it is not taken.
package registry
