package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// TemplateHash sums up the workload's pod template: two of one workload differ exactly when
// its pods are replaced.
func (w Workload) TemplateHash() string {
	raw, err := json.Marshal(w.template)
	if err != nil {
		return "" // typed structs always encode
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
