// Package webhook reads the deliveries of a forge: who sent them, and what they say.
//
// It is pure: it verifies a signature over the very bytes that came, and turns a payload
// into our nouns. It must never trust a payload before Verify has, never compare anything
// but a SHA-256 signature, and never fail on an event that it does not know: a forge adds
// events, and fields of them, whenever it likes.
package webhook
