package helm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"helm.sh/helm/v4/pkg/action"
	helmchart "helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"slipway.dev/slipway/internal/slipway"
)

// Chart is a loaded chart. It is never changed and may be used by many goroutines.
type Chart struct {
	Name       string
	Version    string
	AppVersion string
	Digest     string // of the packed chart, or what the caller knows it by; may be empty
	Ref        string // where it came from, for people

	files []*archive.BufferedFile
	size  int
}

// fresh returns the chart as Helm wants it. Helm changes a chart while it renders it, so
// each use gets its own; parsing the files again is cheap beside reading them.
func (c *Chart) fresh() (*chartv2.Chart, error) {
	ch, err := loader.LoadFiles(c.files)
	if err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "the chart %s cannot be read: %v", c.Ref, err)
	}
	return ch, nil
}

// LoadDir loads a chart from a directory or a packed chart on disk. With a digest, by
// which the caller knows the content, a chart that was loaded before is not read again.
func (c *Client) LoadDir(path, digest string) (*Chart, error) {
	key := ""
	if digest != "" {
		key = digest + " " + path
		if ch := c.loaded.get(key); ch != nil {
			return ch, nil
		}
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, slipway.Errorf(slipway.NotFound, "there is no chart at %s", filepath.Base(path)).
			WithHint("put the chart into the bundle, or correct helm.main.location")
	}
	if err != nil {
		return nil, fmt.Errorf("read the chart at %s: %w", path, err)
	}
	var ch *chartv2.Chart
	if info.IsDir() {
		ch, err = loader.LoadDir(path)
	} else {
		ch, err = loader.LoadFile(path)
	}
	if err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "the chart at %s cannot be read: %v", filepath.Base(path), err)
	}
	out, err := checked(ch, filepath.Base(path), digest)
	if err == nil && key != "" {
		c.loaded.put(key, out)
	}
	return out, err
}

// checked turns a chart of Helm's into ours, and refuses one that cannot be installed.
func checked(ch *chartv2.Chart, ref, digest string) (*Chart, error) {
	if err := ch.Validate(); err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "the chart %s is not valid: %v", ref, err)
	}
	if ch.Metadata.Type == "library" {
		return nil, slipway.Errorf(slipway.Invalid, "the chart %s is a library and cannot be installed", ref)
	}
	if deps := ch.Metadata.Dependencies; deps != nil {
		wanted := make([]helmchart.Dependency, len(deps))
		for i, d := range deps {
			wanted[i] = d
		}
		if err := action.CheckDependencies(ch, wanted); err != nil {
			return nil, slipway.Errorf(slipway.Invalid, "the chart %s lacks charts that it depends on: %v", ref, err).
				WithHint("run  helm dependency build  before packing it")
		}
	}
	out := &Chart{Name: ch.Name(), Version: ch.Metadata.Version, AppVersion: ch.Metadata.AppVersion, Digest: digest, Ref: ref}
	for _, f := range ch.Raw {
		out.files = append(out.files, &archive.BufferedFile{Name: f.Name, ModTime: f.ModTime, Data: f.Data})
		out.size += len(f.Data)
	}
	return out, nil
}

// loadedCharts keeps the charts that were used last, up to a number of bytes. They are
// few, since each is many files.
type loadedCharts struct {
	mu    sync.Mutex
	limit int
	size  int
	order []string // the keys, the one used last at the end
	byKey map[string]*Chart
}

func newLoadedCharts(limit int) *loadedCharts {
	return &loadedCharts{limit: limit, byKey: map[string]*Chart{}}
}

func (l *loadedCharts) get(key string) *Chart {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := l.byKey[key]
	if ch != nil {
		l.order = append(slices.DeleteFunc(l.order, func(k string) bool { return k == key }), key)
	}
	return ch
}

func (l *loadedCharts) put(key string, ch *Chart) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey[key] != nil || ch.size > l.limit {
		return
	}
	l.byKey[key] = ch
	l.order = append(l.order, key)
	l.size += ch.size
	for l.size > l.limit {
		oldest := l.order[0]
		l.order = l.order[1:]
		l.size -= l.byKey[oldest].size
		delete(l.byKey, oldest)
	}
}
