// Package internal is the map of Slipway in prose; map_test.go is the same map as a test.
//
// Work flows through the folders in one direction:
//
//	someone asks            api, cli, dashboard
//	the world calls         webhook     a forge's deliveries, verified
//	accepted, or refused    change      wanted state, audit and wake-up, in one transaction
//	kept until done         task        durable wake-ups; tasks and steps that people see
//	wanted against seen     reconcile   snapshot → Plan (pure) → act → record → again
//	the world               outside     Kubernetes, Helm, Prefect, forges, registries, git: a folder each
//	what the world says     observe     written down; wakes whom it concerns; decides nothing
//	what people read        view        one question of a page, one query
//
// Before all of it stands author: what the author of a driver works with, without a server
// and without a cluster. Loading a driver uses its check.
//
// Behind all of it stands sim, for tests alone: the flow of runner pools in a simulated
// world that fails at every point.
//
// Beside the flow stand slipway (the nouns and their legal moves), spec (the files that
// people write), store (SQL, a file per noun, on two databases), auth, secret, redact,
// plaintext and joblog (what programs and jobs print, as text that may be shown), config,
// wire and client (the API as types, and its client), and server, where the parts meet.
//
// Five rules make the flow safe, and the map holds them. An SDK is imported in one folder.
// A client of the world cannot see the store, so it never writes state. The API and the
// pages cannot see the reconcilers or the world, so no page waits for a cloud. Each state
// column is moved by one package. And what decides is apart from what acts.
package internal
