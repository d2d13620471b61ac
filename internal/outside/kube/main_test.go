package kube

import (
	"testing"

	"go.uber.org/goleak"
)

// A wait that ends must take its watches with it: a server waits thousands of times.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
