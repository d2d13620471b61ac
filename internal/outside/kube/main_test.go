package kube

import (
	"testing"

	"go.uber.org/goleak"
)

// A wait that ends must take its watches with it: a server waits thousands of times. The
// connection to a real cluster stays open for the next request, which is meant.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"))
}
