// Package webhook takes the deliveries of a forge: it verifies who sent them over the very
// bytes that came, turns a payload into our nouns, and hands them to package change.
//
// A delivery is answered with success only when it is durable; whatever else happens, the
// forge shows it as failed, and it is found again. Deliveries that come at once share a
// transaction. How much of all bodies is in memory is bounded, whoever sends and however
// slowly.
//
// It must never trust a payload before Verify has, never compare anything but a SHA-256
// signature, never tell a wrong address from a wrong signature, and never fail on an event
// that it does not know: a forge adds events, and fields of them, whenever it likes.
package webhook
