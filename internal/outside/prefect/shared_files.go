package prefect

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// spareScript is the warm spare; loggingConfig is Prefect's logging with our filter.
var (
	//go:embed spare.py
	spareScript []byte
	//go:embed logging.yml
	loggingConfig []byte
)

func (r *Runner) sharedFile(name string) string { return filepath.Join(r.Dir, name) }
func (r *Runner) prefectHome() string           { return filepath.Join(r.Dir, "prefect-home") }

// writeSharedFiles puts the embedded files where child processes can read them.
func (r *Runner) writeSharedFiles() error {
	if err := os.MkdirAll(r.prefectHome(), 0o700); err != nil {
		return fmt.Errorf("make the folder of Prefect's settings: %w", err)
	}
	for name, content := range map[string][]byte{"spare.py": spareScript, "logging.yml": loggingConfig} {
		if err := writeFile(r.sharedFile(name), content); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a private file in one step, so that a reader sees the old content or
// the new and a crash leaves one of them.
func writeFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone when all went well
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync() // or a power cut may leave the new name on an empty file
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
