// Package mover carries the bytes of backups between the cluster and a backup location. It
// is what `slipway mover` runs, in a Job beside the data: the server itself touches neither.
//
// It does one order and ends. It says how it went in one JSON document, its container's
// last message, and keeps no state, so that an order can be given again. A restore changes
// nothing before every byte was found to be what was backed up. Credentials come in files
// and go to the store alone: they are in no message, no log and no argument.
package mover
