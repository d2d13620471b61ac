// Package observe writes down what the world says: whether the cluster still is as Slipway
// last applied an application, and which nodes it has, with how much room for runners.
//
// An application is looked at when a change of it has ended, when somebody asks, and at
// intervals that are spread over time. A look reads, compares, and writes one row; what is
// seen once is only suspected, and looked for again soon, because a controller may be half
// way through its work. A look that tells nothing, since the cluster is away or a task is
// at work, leaves what was known, and says since when it is not known anew.
//
// It also looks for what the deliveries of forges did not tell: those that were lost are
// asked for again, and the forges are asked for queued jobs, within what the credentials'
// budgets leave for what can wait.
//
// The package decides nothing: it never changes an application, starts no task, and
// repairs nothing. It cannot see package reconcile. Of the cluster it writes one thing, the
// condition Drift of the application's record, for those who read it there.
package observe
