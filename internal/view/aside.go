package view

import "slipway.dev/slipway/internal/spec"

// Aside is what a file says beside its spec: comments, and keys that belong to nobody.
type Aside = spec.Aside

// AsideOf reads it of the file of a revision. It fails on one that would be refused today.
func AsideOf(source string) (Aside, error) { return spec.AsideOf([]byte(source), "") }
