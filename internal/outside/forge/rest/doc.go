// Package rest is how the clients of forges speak HTTP: with one budget for each credential,
// answers that are bounded, and what goes wrong sorted by what the caller can do about it.
//
// A budget is how many requests run at once, how fast they follow, and how long to keep away
// when a forge asks for it. It never looks at another's. Client is for forges without a
// library that is worth its weight: it sends the credential to the API's own host and
// nowhere else, follows no redirect, and repeats nothing.
package rest
