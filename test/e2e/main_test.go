//go:build e2e

package e2e

import (
	"testing"

	"slipway.dev/slipway/internal/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }
