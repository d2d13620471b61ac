// Package sim runs the whole of runner pools in a world that lies, delays, loses replies
// and dies, and looks after every step whether what must hold still does. It finds what
// nobody would think of writing a test for.
//
// A run is a list of steps, drawn from a seed. One goroutine carries them out one after
// the other, so the same steps always do the same, and a failing run can be made smaller
// and kept as a test. What is real: the store on a real database; package change, through
// which people plan, deploy, pause, delete and forget as they would over the API; the tasks
// that follow, in package reconcile/application; package reconcile/pool; package observe's
// search for lost deliveries; the queue's list of wake-ups and its Enqueue. What is
// simulated: two forges with the same names (package outside/forge/fake, behind a line that
// fails), deliveries that are late, doubled, refused or lost, the cluster, time, and people.
// River is left out, because which goroutine runs first cannot be repeated: a step handles
// one entry of the list of wake-ups that is due, of which the run's numbers choose one. A
// task that would only wait is not due. HTTP, the signatures of deliveries, the looks at
// nodes, and the clients of GitHub and Kubernetes are tested elsewhere.
//
// Our process dies at the beginnings of transactions, which is as well the moment right
// after the one before, and before and after every call to the outside. What it had in its
// memory is gone then, and it begins anew with the database as it is. Or it freezes in the
// midst of a call: others take its work over, and it goes on later without knowing. That
// needs a database that processes share, and is tried on SQLite as well, whose guards are
// the same; only that two processes take turns is left to PostgreSQL.
//
// The package is for tests alone: nothing of the product may import it. It must never
// disturb what it looks at with its own looking, never call a clock or a source of chance
// that is not the run's, and never excuse a broken promise because it is rare.
package sim
