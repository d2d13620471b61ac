package view

import "slipway.dev/slipway/internal/slipway"

// SecretRow is a secret's public part and who uses it.
type SecretRow struct {
	slipway.Secret
	UsedBy []string // applications: shop/production/guestbook
}
