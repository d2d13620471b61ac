// Package gitlab is the runners' half of the forge contract on GitLab: gitlab.com and
// servers of one's own.
//
// GitLab gives a registration a token, with which a runner asks for one job after another;
// that ours takes one only is up to how it is started. It tells of no job that waits, so
// pools on it have a fixed size. And it lets a registration go whose runner has a job: so
// taking one away is to pause it, to ask for its jobs, and only then to delete it.
package gitlab
