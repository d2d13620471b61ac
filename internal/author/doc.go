// Package author is what the author of a driver works with before anybody else sees it:
// find everything that is wrong with a driver (Check), see what it renders to (Render),
// begin one (Init), and run its actions in real Python against a simulated cluster (Test).
//
// The server checks a driver that is loaded with the same Check, so what passes here is
// what is taken there. The simulation answers the primitives by the rules of the real
// thing, and where those rules are functions that call nobody it uses them: the phases of
// package reconcile/application, the images and Jobs of package outside/kube.
//
// Nothing here speaks to a cluster, to a Slipway server or to a network, but for loopback
// between a test and its own Python. It never writes into a driver's directory, but for
// Init, which overwrites nothing.
package author
