// Package bitbucket is the runners' half of the forge contract on Bitbucket Cloud.
//
// It makes the requests that Atlassian's own autoscaler of runners makes, below /internal:
// Bitbucket's description of its public API says neither how a runner is kept from new steps
// nor whether it has one. A runner takes one step after another, for as long as it lives.
// So taking one away is to disable it, to look twice whether it has a step, and only then to
// delete it. Bitbucket names runners by UUIDs; here they are known by a number made of them.
package bitbucket
