// Package cluster is a real one-node Kubernetes for tests and for the demonstration, and
// this folder's tests show that it does what such tests rely on.
//
//	cluster.sh        the one command that starts and stops it
//	cmd/cluster       the program behind that command
//	node              the cluster: its parts, its network, up and down
//	process pki prepare image    what node needs: one subject each
//	guestbook         the sample application's images
//	programs          Kubernetes and CoreDNS, each compiled from a module of its own
//
// It is a module of its own, so that the product never depends on what only its tests
// need, and nothing of the product may be imported here: a cluster that needed the
// product to start could not test it.
package cluster
