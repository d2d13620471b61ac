// Package prefect runs the actions of drivers, which are Prefect flows written in Python.
//
// Its parts: [Server] keeps a Prefect server alive as a child on loopback, and
// [External] names one that somebody else keeps. [Client] speaks Prefect's REST protocol.
// [Runner] carries one action from "asked for" to "ended": it makes the flow run, claims it,
// starts the engine in a process of its own, waits for the process, and reads from Prefect
// how the run ended. [EnsureVenv] makes the Python environment that all of it runs in.
// [Inspect] reads the actions of a driver without running them, and [Rehearsal] runs them
// for a test, without a Prefect server.
//
// Two things are expected to be killed at any moment: Slipway, and the action. Neither may
// hurt the other. A server and an action outlive a kill -9 of Slipway, and are adopted at
// the next start by process id and start time. An action that dies leaves a flow run that
// says so, because Wait writes what the dead process could not.
//
// An action is a process group in a session of its own, and is ended as one. What an action
// moves into yet another session (setsid, a daemon) is not found, and outlives it.
//
// The package must never: put a token into anything that Prefect stores, or into a command
// line; judge a run by an exit code (Prefect's engine ends with 0 after a failure that it
// reported itself); execute a flow run that the caller did not create; signal a process
// whose start time it has not checked; or write Slipway's state (the caller does that with
// what is returned here).
package prefect
