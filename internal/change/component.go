package change

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// StopComponents has components stop and stay stopped, also through later changes, until
// they are started. Who may write in the environment may.
func (s *Service) StopComponents(ctx context.Context, c slipway.Caller, in ComponentsInput) (Accepted, error) {
	return s.turn(ctx, c, in, stopping)
}

// StartComponents has components run again as the current configuration says. Who may
// write in the environment may.
func (s *Service) StartComponents(ctx context.Context, c slipway.Caller, in ComponentsInput) (Accepted, error) {
	return s.turn(ctx, c, in, starting)
}

// turning is what stopping and starting have in common.
type turning struct {
	kind   slipway.TaskKind
	verb   string // "stop"
	action string // of the audit
	done   string // "stopped"
	stop   bool
}

var (
	stopping = turning{slipway.StopTask, "stop", "application.stop", "stopped", true}
	starting = turning{slipway.StartTask, "start", "application.start", "running", false}
)

// componentArgs are the arguments of a task that stops or starts.
type componentArgs struct {
	Components []string `json:"components"`
}

func (s *Service) turn(ctx context.Context, c slipway.Caller, in ComponentsInput, how turning) (Accepted, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return Accepted{}, err
	}
	r := request{c, in.IdempotencyKey, how.action, []any{in.ApplicationID, in.Components}}
	return s.start(ctx, r, func(tx *store.Tx) (started, error) {
		app, err := application(ctx, tx, c, in.ApplicationID)
		if err != nil {
			return started{}, err
		}
		if err := app.DriverOnly("no components to "+how.verb, "pause its pools with  slipway runners pause "+app.Ref()); err != nil {
			return started{}, err
		}
		if err := changeable(app); err != nil {
			return started{}, err
		}
		known, err := componentsOf(ctx, tx, app)
		if err != nil {
			return started{}, err
		}
		names, why := chosen(in.Components, known)
		if why != nil {
			return started{}, invalid("components", why.Msg, why.Hint)
		}
		open, err := openTasks(ctx, tx, app.ID)
		if err != nil {
			return started{}, err
		}
		settled, err := settled(ctx, tx, app.ID, how, names)
		if err != nil {
			return started{}, err
		}
		warnings := waiting(open, false)
		if len(settled) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s %s already; the task makes sure", strings.Join(settled, ", "), areIs(settled, how.done)))
		}
		t := slipway.Task{Kind: how.kind, Title: how.verb + " " + strings.Join(names, ", ") + " of " + app.Name, RequestedBy: c.UserName}
		if c.TaskID != 0 && holds(open, c.TaskID) {
			// An action called the API itself, not a primitive: its task is let in under the
			// one that runs, or both would wait for each other, but no step shows it.
			t.RootID, warnings = c.TaskID, nil
		}
		if t.Args, err = json.Marshal(componentArgs{names}); err != nil {
			return started{}, fmt.Errorf("encode the components: %w", err)
		}
		if t, err = s.begin(ctx, tx, app, t); err != nil {
			return started{}, err
		}
		err = record(ctx, tx, c, deed{how.action, "application", app.ID, app.Ref(), nil, facts{"components": names, "task": t.ID}})
		return started{Application: app.ID, Task: t.ID, Warnings: warnings}, err
	})
}

func areIs(names []string, state string) string {
	if len(names) == 1 {
		return "is " + state
	}
	return "are " + state
}

// changeable refuses work on an application that is going, or not there yet.
func changeable(app slipway.Application) error {
	switch {
	case app.Deleting:
		return slipway.Errorf(slipway.Conflict, "%s is being deleted", app.Ref()).WithHint("there is nothing to stop or start any more")
	case app.Applied == 0:
		return slipway.Errorf(slipway.Conflict, "%s is not installed yet", app.Ref()).WithHint("wait for its install to succeed")
	}
	return nil
}

// componentsOf lists the components of the driver that the application is to run on.
func componentsOf(ctx context.Context, tx *store.Tx, app slipway.Application) ([]string, error) {
	r, err := tx.Revision(ctx, app.ID, app.Revision)
	if err != nil {
		return nil, err
	}
	return componentsIn(ctx, tx, r)
}

func componentsIn(ctx context.Context, tx *store.Tx, r slipway.Revision) ([]string, error) {
	d, err := tx.DriverByDigest(ctx, r.DriverDigest)
	if err != nil {
		return nil, err
	}
	return sorted(d.Spec.Components), nil
}

// chosen checks names against the known ones. Repeated names count once; the order stays.
func chosen(names, known []string) ([]string, *slipway.Error) {
	if len(names) == 0 {
		return nil, slipway.Errorf(slipway.Invalid, "no component is named").WithHint("name one of: %s", strings.Join(known, ", "))
	}
	var out []string
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, slipway.Errorf(slipway.Invalid, "unknown component %q; this driver has: %s", n, strings.Join(known, ", ")).
				WithHint("name one of: %s", strings.Join(known, ", "))
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out, nil
}

// settled lists those of the components that are as they shall be already.
func settled(ctx context.Context, tx *store.Tx, appID int64, how turning, names []string) ([]string, error) {
	states, err := tx.ComponentStates(ctx, appID)
	if err != nil {
		return nil, err
	}
	stopped := map[string]bool{}
	for _, st := range states {
		stopped[st.Component] = st.Stopped
	}
	var out []string
	for _, n := range names {
		if stopped[n] == how.stop {
			out = append(out, n)
		}
	}
	return out, nil
}
