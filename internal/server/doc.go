// Package server is where the parts meet: it opens the database, makes the clients of the
// world, hands them to the reconcilers, mounts the API and the pages, and stops everything
// in the right order.
//
// It decides nothing about applications, and holds no SQL. It must not start anything that
// outlives it without saying so: running actions and the Prefect server that they need are
// the only processes left behind, for the next start to take over.
package server
