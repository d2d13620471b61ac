// Package sim runs the whole of runner pools in a world that lies, delays, loses replies
// and dies, and looks after every step whether what must hold still does. It finds what
// nobody would think of writing a test for.
//
// A run is a list of steps, drawn from a seed. One goroutine carries them out one after
// the other, so the same steps always do the same, and a failing run can be made smaller
// and kept as a test. What is real: the store on a real database, package change with
// deliveries, package reconcile/pool, the queue's list of wake-ups and its Enqueue. Lost
// deliveries, and package observe's search for them, are not part of it yet. What is simulated: the forge (package
// outside/forge/fake, behind a line that fails), the cluster, time, and people. River is
// left out, because which goroutine runs first cannot be repeated: a step handles one entry
// of the list of wake-ups that is due, of which the run's numbers choose one. HTTP, the
// signatures of deliveries, and the clients of GitHub and Kubernetes are tested elsewhere.
//
// Our process dies at the beginnings of transactions, which is as well the moment right
// after the one before, and before and after every call to the outside. What it had in its
// memory is gone then, and it begins anew with the database as it is.
//
// The package is for tests alone: nothing of the product may import it. It must never
// disturb what it looks at with its own looking, never call a clock or a source of chance
// that is not the run's, and never excuse a broken promise because it is rare.
package sim
