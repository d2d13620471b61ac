// Package git reads a driver out of a git repository, at one commit.
//
// It runs the git program, because that brings what a person has set up already: SSH keys
// and known hosts, credential helpers, a proxy. Nothing else of a person's configuration is
// let in, and nothing of the repository is ever run: there is no working copy, so there are
// no hooks, filters, attributes or submodules; files are read as the blobs that the commit
// names. What a server sends is bounded in time and on the disk.
package git
