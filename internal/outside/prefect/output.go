package prefect

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// trimOutput bounds a file that another process appends to. When it is larger than limit,
// its last half of limit is kept beside it under the name ".1" and the file is emptied, so
// both together stay near limit and a half.
//
// The writer holds the file open for appending and never knows. It is not a pipe, because
// Slipway may die and the writer must not; and not RLIMIT_FSIZE, which would end the action
// and bound its other files too. What is written between the copy and the cut is lost, and
// while no Slipway runs nothing is cut.
func trimOutput(path string, limit int64) {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= limit {
		return
	}
	tail, err := readTail(path, limit/2)
	if err != nil {
		return
	}
	if os.WriteFile(path+".1", tail, 0o600) == nil {
		_ = os.Truncate(path, 0)
	}
}

// ReadTail returns up to n last bytes of a process's output, across a trim. It may hold
// secrets: redact before it is cut any further.
func (p Process) ReadTail(n int64) ([]byte, error) {
	tail, err := readTail(p.Output, n)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the output of the process: %w", err)
	}
	if rest := n - int64(len(tail)); rest > 0 {
		if earlier, err := readTail(p.Output+".1", rest); err == nil {
			tail = append(earlier, tail...)
		}
	}
	return tail, nil
}

func readTail(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-n)
	return io.ReadAll(io.NewSectionReader(f, from, n))
}
