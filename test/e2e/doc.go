// Package e2e holds the tests of whole journeys: the built program as a process, driven by
// its own command line and client, with a real database, a real Prefect, a real Kubernetes
// and a real browser. It holds no code of the product, and none of it is faked: a part
// that is missing makes the tests fail.
//
// The tests stand behind the build tag e2e. `make test` prepares what they need and runs
// them; by hand, with the cluster of test/cluster up:
//
//	go test -tags e2e ./test/e2e
package e2e
