// Package pool brings runner pools to their demand: which queued jobs are whose, how many
// runners a pool needs, and which of its slots must go. What it decides is pure; what acts
// on it calls the forge and the cluster through package outside.
//
// It must never end a runner that has a job, but when its pool is deleted; never count a
// slot as gone before its registration and its pod are; and never tie a runner to a job,
// because the forge gives a job to any runner with its labels.
package pool
