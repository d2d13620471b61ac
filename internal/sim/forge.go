package sim

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"slipway.dev/slipway/internal/observe"
	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// line is our way to the forge with one credential. All that goes wrong there goes wrong
// here, and what we must never do there is noticed here.
type line struct {
	w     *World
	host  *host
	token string
}

var (
	_ forge.Forge   = (*line)(nil)
	_ observe.Forge = (*line)(nil)
)

// Spare reports whether requests are left for what can wait.
func (l *line) Spare() bool { return !l.w.tight }

func (l *line) call(ctx context.Context, c out) error {
	w, do := l.w, c.do
	c.down, c.away = l.host.down, func(why string) error {
		return forge.Fail(forge.Away, "GitHub did not answer: "+why, "", errors.New(why))
	}
	c.do = func() error {
		for _, h := range w.hosts {
			if h != l.host && strings.HasPrefix(l.token, h.credential) {
				w.violate("%s was sent to %s", h.credential, l.host.name())
			}
		}
		if l.token != l.host.token {
			return forge.Fail(forge.Refused, "GitHub does not accept the credential", "save a new one", nil).Lacks("a credential that is accepted")
		}
		return do()
	}
	c.refuse = func(what What) error {
		switch {
		case what == Refused:
			return forge.Fail(forge.Refused, "GitHub refuses this", "give the credential access", nil).Lacks("self-hosted runners: write")
		case what == Throttled:
			return forge.Fail(forge.Throttled, "GitHub asks to wait", "", nil).Wait(20 * time.Second)
		case what == Busy && c.op == "Unregister":
			return forge.Fail(forge.Busy, "the runner has a job", "", nil)
		}
		return nil
	}
	return w.call(ctx, c)
}

func ask[T any](ctx context.Context, l *line, op string, do func() (T, error)) (T, error) {
	var got, none T
	err := l.call(ctx, out{op: op, do: func() (err error) { got, err = do(); return err }})
	if err != nil {
		return none, err
	}
	return got, nil
}

// list gives the part that it has beside the error of a list that broke off: who takes it
// for the whole is found out.
func list[T any](ctx context.Context, l *line, op string, do func() ([]T, error), late func([]T) []T) (got []T, err error) {
	c := out{op: op, do: func() (err error) { got, err = do(); return err }, cut: func() { got = got[:len(got)/2] }}
	if late != nil {
		c.late = func() { got = late(got) }
	}
	return got, l.call(ctx, c)
}

func (l *line) DefaultGroup(ctx context.Context, s slipway.ForgeScope) (int64, error) {
	return ask(ctx, l, "DefaultGroup", func() (int64, error) { return l.host.DefaultGroup(ctx, s) })
}

func (l *line) Register(ctx context.Context, s slipway.ForgeScope, r forge.Registration) (forge.Configured, error) {
	return ask(ctx, l, "Register", func() (forge.Configured, error) {
		c, err := l.host.Register(ctx, s, r)
		if err == nil || l.w.ours(r.Name) { // Taken by ourselves is a second use too
			l.w.registered(l.host, r.Name, s, c)
		}
		return c, err
	})
}

func (l *line) Runners(ctx context.Context, s slipway.ForgeScope) ([]forge.Runner, error) {
	return list(ctx, l, "Runners", func() ([]forge.Runner, error) { return l.host.Runners(ctx, s) }, l.w.withoutYoung)
}

func (l *line) Runner(ctx context.Context, s slipway.ForgeScope, id int64) (forge.Runner, error) {
	return ask(ctx, l, "Runner", func() (forge.Runner, error) { return l.host.Runner(ctx, s, id) })
}

func (l *line) RunnerNamed(ctx context.Context, s slipway.ForgeScope, name string) (forge.Runner, error) {
	return ask(ctx, l, "RunnerNamed", func() (forge.Runner, error) { return l.host.RunnerNamed(ctx, s, name) })
}

func (l *line) Unregister(ctx context.Context, s slipway.ForgeScope, id int64) error {
	return l.call(ctx, out{op: "Unregister", do: func() error {
		for _, r := range l.host.Registrations() {
			if r.ID == id && !l.w.ours(r.Name) {
				l.w.violate("the registration of %s, which is somebody else's, was taken away", r.Name)
			}
		}
		return l.host.Unregister(ctx, s, id)
	}})
}

func (l *line) Runs(ctx context.Context, r forge.Repository, q forge.RunQuery) ([]forge.Run, error) {
	return list(ctx, l, "Runs", func() ([]forge.Run, error) { return l.host.Runs(ctx, r, q) }, nil)
}

func (l *line) Run(ctx context.Context, r forge.Repository, id int64) (forge.Run, error) {
	return ask(ctx, l, "Run", func() (forge.Run, error) { return l.host.Run(ctx, r, id) })
}

func (l *line) Jobs(ctx context.Context, r forge.Repository, run int64, attempt int) ([]forge.Job, error) {
	return list(ctx, l, "Jobs", func() ([]forge.Job, error) { return l.host.Jobs(ctx, r, run, attempt) }, nil)
}

func (l *line) Job(ctx context.Context, r forge.Repository, id int64) (forge.Job, error) {
	return ask(ctx, l, "Job", func() (forge.Job, error) { return l.host.Job(ctx, r, id) })
}

func (l *line) Log(ctx context.Context, r forge.Repository, job, limit int64) (io.ReadCloser, error) {
	return ask(ctx, l, "Log", func() (io.ReadCloser, error) { return l.host.Log(ctx, r, job, limit) })
}

func (l *line) RerunFailed(ctx context.Context, r forge.Repository, run int64) error {
	return l.call(ctx, out{op: "RerunFailed", do: func() error { return l.host.RerunFailed(ctx, r, run) }})
}

func (l *line) RerunJob(ctx context.Context, r forge.Repository, job int64) error {
	return l.call(ctx, out{op: "RerunJob", do: func() error { return l.host.RerunJob(ctx, r, job) }})
}

func (l *line) Hooks(ctx context.Context, s slipway.ForgeScope) ([]forge.Hook, error) {
	return list(ctx, l, "Hooks", func() ([]forge.Hook, error) { return l.host.Hooks(ctx, s) }, nil)
}

func (l *line) Deliveries(ctx context.Context, h forge.Hook, since time.Time) ([]forge.Delivery, error) {
	return list(ctx, l, "Deliveries", func() ([]forge.Delivery, error) { return l.host.Deliveries(ctx, h, since) }, nil)
}

func (l *line) Redeliver(ctx context.Context, h forge.Hook, id int64) error {
	return l.call(ctx, out{op: "Redeliver", do: func() error { return l.host.Redeliver(ctx, h, id) }})
}
