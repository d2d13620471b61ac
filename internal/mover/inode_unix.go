//go:build unix

package mover

import (
	"io/fs"
	"syscall"
)

// inode is where a file stands on its disk.
type inode struct{ device, number uint64 }

// inodeOf returns it for a file with several names.
func inodeOf(info fs.FileInfo) (id inode, several bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || s.Nlink < 2 {
		return inode{}, false
	}
	return inode{uint64(s.Dev), s.Ino}, true //nolint:unconvert // of another type elsewhere
}
