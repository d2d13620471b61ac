package author

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/Masterminds/semver/v3"

	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// TestOptions say what to test and how long to wait.
type TestOptions struct {
	Bundle spec.Bundle
	Report Report        // of Check, without a fault
	Only   string        // part of the names of the tests to run; empty: all
	Limit  time.Duration // how long one action may take; 0: a minute
	// Heard is told each test as it ends; may be nil.
	Heard func(TestResult)
}

// TestResult is how one test went.
type TestResult struct {
	Name   string               `json:"name"`
	Line   int                  `json:"line,omitempty"` // in the file of tests; 0: there is none
	Passed bool                 `json:"passed"`
	Faults []slipway.FieldError `json:"faults"` // what is not as it was expected
	Tasks  []TaskResult         `json:"tasks"`
	Took   time.Duration        `json:"took_ns"`
}

// TaskResult is one install or upgrade of a test.
type TaskResult struct {
	Title string       `json:"title"` // "upgrade guestbook from 1.0.0 to 1.1.0"
	Steps []StepResult `json:"steps"`
	Error string       `json:"error,omitempty"`
	Hint  string       `json:"hint,omitempty"`
}

// StepResult is one step of a task, under the name that people see.
type StepResult struct {
	Name    string            `json:"name"`
	State   slipway.StepState `json:"state"`
	Actions []ActionResult    `json:"actions,omitempty"`
}

// ActionResult is one run of an action: what it called and logged, in order.
type ActionResult struct {
	Name     string        `json:"name"`
	Location string        `json:"location"`
	Events   []Event       `json:"events"`
	Output   string        `json:"printed,omitempty"`
	Error    string        `json:"error,omitempty"`
	Where    string        `json:"where,omitempty"` // the line of the driver that raised it: actions.py:51
	Unknown  []string      `json:"unanswered,omitempty"`
	Took     time.Duration `json:"took_ns"`
}

// Event is a call of a primitive, or a line of the log.
type Event struct {
	Call  *Call  `json:"call,omitempty"`
	Level string `json:"level,omitempty"`
	Log   string `json:"log,omitempty"`
}

// Test runs the tests of a driver. Without a file of tests it installs the lowest version
// that the driver supports, and upgrades it to the highest. The error is for what keeps
// tests from running; how they went is in the results.
func (t *Tools) Test(ctx context.Context, o TestOptions) ([]TestResult, error) {
	if err := o.Report.Err(); err != nil {
		return nil, err
	}
	tests, there, err := spec.ParseDriverTests(o.Bundle)
	if err != nil {
		return nil, err
	}
	if !there {
		tests = withoutFile(o.Report.Spec)
	}
	s, err := t.newStage(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var out []TestResult
	for _, test := range tests.Tests {
		if !picked(test.Name, o.Only) {
			continue
		}
		r, err := s.test(ctx, tests, test)
		if err != nil {
			return out, fmt.Errorf("run the test %q: %w", test.Name, err)
		}
		if !there {
			r.Line = 0
		}
		out = append(out, r)
		if o.Heard != nil {
			o.Heard(r)
		}
	}
	return out, nil
}

// withoutFile is what is tried of a driver that has no tests of its own: the lowest
// version, and an upgrade to the next minor one, or else to the highest.
func withoutFile(d slipway.DriverSpec) spec.DriverTests {
	bounds := spec.SupportedBounds(d)
	test := spec.DriverTest{Name: "install " + bounds[0], Install: bounds[0]}
	candidates := bounds[1:]
	if v, err := semver.NewVersion(bounds[0]); err == nil {
		candidates = append([]string{v.IncMinor().String()}, candidates...)
	}
	for _, to := range candidates {
		if spec.UpgradeAllowed(d, bounds[0], to) == nil {
			test.Upgrade = to
			test.Name += ", then upgrade to " + to
			break
		}
	}
	return spec.DriverTests{Tests: []spec.DriverTest{test}}
}

// stage is where tests are played: one Python for all of them.
type stage struct {
	tools     *Tools
	o         TestOptions
	dir       string // the unpacked bundle
	work      string
	door      *door
	rehearsal *prefect.Rehearsal // made when the first action needs it
	runs      int
}

func (t *Tools) newStage(_ context.Context, o TestOptions) (*stage, error) {
	if o.Limit <= 0 {
		o.Limit = time.Minute
	}
	dir, err := o.Bundle.WriteTo(t.Dir)
	if err != nil {
		return nil, fmt.Errorf("unpack the driver: %w", err)
	}
	work, err := os.MkdirTemp(t.Dir, "test-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the tests: %w", err)
	}
	return &stage{tools: t, o: o, dir: dir, work: work, door: &door{}}, nil
}

// python starts what runs actions, once.
func (s *stage) python(ctx context.Context) (*prefect.Rehearsal, error) {
	if s.rehearsal != nil {
		return s.rehearsal, nil
	}
	if s.tools.Python == nil {
		return nil, slipway.Errorf(slipway.Unavailable, "actions cannot run here: there is no Python environment")
	}
	python, err := s.tools.Python(ctx)
	if err != nil {
		return nil, err
	}
	s.rehearsal, err = prefect.NewRehearsal(ctx, prefect.RehearsalConfig{Python: python, Dir: filepath.Join(s.work, "python"), API: s.door})
	return s.rehearsal, err
}

func (s *stage) close() {
	if s.rehearsal != nil {
		s.rehearsal.Close()
	}
	_ = os.RemoveAll(s.work) // below the caller's own directory
}
