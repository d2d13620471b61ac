package change

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Delivery is a delivery whose signature was verified and whose payload was read.
type Delivery struct {
	Connection slipway.Connection
	GUID       string
	Event      string
	Action     string
	Size       int64
	Fault      string       // why it cannot be understood, in words; empty: it can
	Why        string       // what is to be said of it, when it is about no job
	Job        *slipway.Job // that it is about; nil: none
}

// Taken is what became of a delivery. It is durable when it is told, unless there is an
// error, and then nothing of it was kept.
type Taken struct {
	Outcome slipway.DeliveryOutcome
	Why     string
	Again   bool // it was taken before, and nothing was done now
	Unseen  bool // others of its job were lost: the forge will be asked
	Err     error
}

// TakeDeliveries writes deliveries with all that follows from them, in one transaction: the
// delivery once by its GUID, the job moved forward, the time that its pools were heard of,
// and the wake-ups. One that the database refuses does not take the others with it.
func (s *Service) TakeDeliveries(ctx context.Context, ds []Delivery) []Taken {
	out, err := s.takeDeliveries(ctx, ds)
	switch {
	case err == nil:
		return out
	case len(ds) == 1 || slipway.Is(err, slipway.Unavailable) || ctx.Err() != nil:
		out = make([]Taken, len(ds))
		for i := range out {
			out[i].Err = fmt.Errorf("take delivery %s: %w", ds[i].GUID, err)
		}
		return out
	}
	// One of them is at fault, so each is taken by itself.
	var each []Taken
	for i := range ds {
		each = append(each, s.TakeDeliveries(ctx, ds[i:i+1])...)
	}
	return each
}

func (s *Service) takeDeliveries(ctx context.Context, ds []Delivery) (out []Taken, err error) {
	err = s.Store.InTx(ctx, func(tx *store.Tx) error {
		out = make([]Taken, len(ds))
		fresh, err := freshDeliveries(ctx, tx, ds, out)
		if err != nil {
			return err
		}
		in := newIntake(s, tx)
		var words []store.JobWord
		var about []int // of each word, its delivery
		for _, i := range fresh {
			d := ds[i]
			switch keep, why, err := in.keep(ctx, d); {
			case err != nil:
				return err
			case !keep && d.Fault != "":
				out[i].Outcome, out[i].Why = slipway.DeliveryInvalid, d.Fault
			case !keep:
				out[i].Outcome, out[i].Why = slipway.DeliveryIgnored, why
			default:
				words, about = append(words, store.JobWord{Job: *d.Job, EnvironmentID: d.Connection.EnvironmentID}), append(about, i)
			}
		}
		moves, err := in.put(ctx, words)
		if err != nil {
			return err
		}
		for n, m := range moves {
			t := &out[about[n]]
			t.Outcome, t.Unseen = slipway.DeliveryTaken, m.Unseen
			if !m.Moved {
				t.Outcome, t.Why = slipway.DeliveryOld, "the job had come as far already"
			}
		}
		return in.finish(ctx, ds, out, fresh)
	})
	return out, err
}

// freshDeliveries finds which of the deliveries were not taken before, nor stand in the
// same batch twice.
func freshDeliveries(ctx context.Context, tx *store.Tx, ds []Delivery, out []Taken) (fresh []int, err error) {
	guids := map[int64][]string{}
	for _, d := range ds {
		guids[d.Connection.ID] = append(guids[d.Connection.ID], d.GUID)
	}
	seen := map[int64]map[string]bool{}
	for c, gs := range guids {
		if seen[c], err = tx.DeliveriesTaken(ctx, c, gs); err != nil {
			return nil, err
		}
	}
	for i, d := range ds {
		if seen[d.Connection.ID][d.GUID] {
			out[i].Again = true
			continue
		}
		seen[d.Connection.ID][d.GUID] = true
		fresh = append(fresh, i)
	}
	return fresh, nil
}

// intake is one transaction that takes words of jobs.
type intake struct {
	s     *Service
	tx    *store.Tx
	pools map[[2]string][]slipway.RunnerPool // by host and owner
	serve map[string][]int64                 // pools, by what a job asks for
	wakes map[int64]bool                     // pools
	heard map[int64]time.Time                // pools
	looks map[string]int64                   // a job for each repository that is to be asked about
}

func newIntake(s *Service, tx *store.Tx) *intake {
	return &intake{s: s, tx: tx, pools: map[[2]string][]slipway.RunnerPool{}, serve: map[string][]int64{}, wakes: map[int64]bool{}, heard: map[int64]time.Time{}, looks: map[string]int64{}}
}

// near lists the pools that a word through an environment may wake: those of the job's
// owner there, and for 0 everywhere.
func (in *intake) near(ctx context.Context, host, owner string, environment int64) ([]slipway.RunnerPool, error) {
	k := [2]string{host, strings.ToLower(owner)}
	all, ok := in.pools[k]
	if !ok {
		var err error
		if all, err = in.tx.RunnerPoolsFor(ctx, host, owner); err != nil {
			return nil, err
		}
		in.pools[k] = all
	}
	if environment == 0 {
		return all, nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(p slipway.RunnerPool) bool { return p.EnvironmentID != environment }), nil
}

// serving lists those of them that the job may run on.
func (in *intake) serving(ctx context.Context, j slipway.Job, environment int64) ([]int64, error) {
	k := strings.Join(append([]string{strconv.FormatInt(environment, 10), j.Host, j.Owner, j.Repository}, j.Labels...), "\x00")
	if ids, ok := in.serve[k]; ok {
		return ids, nil
	}
	pools, err := in.near(ctx, j.Host, j.Owner, environment)
	var ids []int64
	for _, p := range pools {
		if p.Spec.Serves(j) {
			ids = append(ids, p.ID)
		}
	}
	in.serve[k] = ids
	return ids, err
}

// keep says whether a delivery's job goes on record, and why not. Most jobs of an
// organization run on the forge's own machines and concern nobody here. One that asks for
// self-hosted runners is kept even before there is a pool for it: one may come.
func (in *intake) keep(ctx context.Context, d Delivery) (bool, string, error) {
	switch {
	case d.Fault != "":
		return false, "", nil
	case d.Job == nil:
		return false, d.Why, nil
	case len(d.Job.Labels) == 0:
		return false, "the job asks for no labels, so it cannot be told who may serve it", nil
	case slices.ContainsFunc(d.Job.Labels, func(l string) bool { return strings.EqualFold(l, "self-hosted") }):
		return true, "", nil
	}
	pools, err := in.serving(ctx, *d.Job, d.Connection.EnvironmentID)
	if err != nil || len(pools) > 0 {
		return true, "", err
	}
	return false, "no pool serves the labels " + strings.Join(d.Job.Labels, ", "), nil
}

// put moves jobs forward, and gathers whom that concerns: the pools that the jobs may run
// on, and those whose runners took or ended them. One whose labels were changed still has
// runners that take jobs of the old ones.
func (in *intake) put(ctx context.Context, words []store.JobWord) ([]store.JobMove, error) {
	if len(words) == 0 {
		return nil, nil
	}
	runners := map[string]bool{}
	for _, w := range words {
		if w.Runner != "" {
			runners[w.Runner] = true
		}
	}
	owners, err := in.tx.OwnersOfRunners(ctx, slices.Sorted(maps.Keys(runners)))
	if err != nil {
		return nil, err
	}
	n := len(words)
	words = told(words, owners)
	moves, err := in.tx.PutJobs(ctx, words)
	if err != nil {
		return nil, err
	}
	for i, w := range words {
		pools, err := in.serving(ctx, w.Job, w.EnvironmentID)
		if err != nil {
			return nil, err
		}
		for _, p := range pools {
			in.heard[p] = in.tx.Now
			if moves[i].Moved {
				in.wakes[p] = true
			}
		}
		if o, ours := owners[w.Runner]; ours && moves[i].Moved && (w.EnvironmentID == 0 || w.EnvironmentID == o.EnvironmentID) {
			in.wakes[o.PoolID] = true
		}
		// A job that was skipped was never queued.
		moves[i].Unseen = moves[i].Unseen && !w.Certain && w.Conclusion != "skipped" && len(pools) > 0
		if at := w.Host + "/" + strings.ToLower(w.Owner+"/"+w.Repository); moves[i].Unseen && in.looks[at] == 0 {
			in.looks[at] = w.ID
		}
	}
	return moves[:n], nil
}

// told adds to what the forge itself said of a runner that the environment which has it
// is told too: the asking pool may be of another one. What a server says of the runners of
// another server goes to nobody else.
func told(words []store.JobWord, owners map[string]store.RunnerOwner) []store.JobWord {
	out := words[:len(words):len(words)]
	for _, w := range words {
		o, ours := owners[w.Runner]
		if ours && w.Certain && w.EnvironmentID != 0 && w.EnvironmentID != o.EnvironmentID && w.Host == o.Host {
			w.EnvironmentID = o.EnvironmentID
			out = append(out, w)
		}
	}
	return out
}

// finish writes what the jobs have brought about, and the deliveries themselves.
func (in *intake) finish(ctx context.Context, ds []Delivery, out []Taken, fresh []int) error {
	rows := make([]slipway.Delivery, 0, len(fresh))
	connections := map[int64]bool{}
	for _, i := range fresh {
		d := slipway.Delivery{
			ConnectionID: ds[i].Connection.ID, GUID: ds[i].GUID, Event: ds[i].Event, Action: ds[i].Action, Size: ds[i].Size,
			Outcome: out[i].Outcome, Why: out[i].Why,
		}
		if ds[i].Job != nil {
			d.JobID = ds[i].Job.ID
		}
		rows, connections[d.ConnectionID] = append(rows, d), true
	}
	if err := in.tx.AddDeliveries(ctx, rows); err != nil {
		return err
	}
	for _, c := range slices.Sorted(maps.Keys(connections)) {
		if err := in.tx.ConnectionHeard(ctx, c, in.tx.Now); err != nil {
			return err
		}
	}
	return in.tell(ctx)
}

// tell wakes whom the jobs concern.
func (in *intake) tell(ctx context.Context) error {
	for _, p := range slices.Sorted(maps.Keys(in.heard)) {
		if err := in.tx.PoolHeard(ctx, p, in.heard[p]); err != nil {
			return err
		}
	}
	for _, p := range slices.Sorted(maps.Keys(in.wakes)) {
		if err := in.s.wake(ctx, in.tx, slipway.WakePool, p); err != nil {
			return err
		}
	}
	for _, at := range slices.Sorted(maps.Keys(in.looks)) {
		if err := in.s.wake(ctx, in.tx, slipway.WakeLook, in.looks[at]); err != nil {
			return err
		}
	}
	return nil
}

// TakeJobs records what the forge itself said of jobs when it was asked with the credential
// of an environment's pool, or of the installation (0). It reports how many moved.
func (s *Service) TakeJobs(ctx context.Context, environmentID int64, jobs []slipway.Job) (moved int, err error) {
	for some := range slices.Chunk(jobs, maxBatch) {
		err := s.Store.InTx(ctx, func(tx *store.Tx) error {
			in := newIntake(s, tx)
			var words []store.JobWord
			for _, j := range some {
				words = append(words, store.JobWord{Job: j, EnvironmentID: environmentID, Certain: true})
			}
			moves, err := in.put(ctx, words)
			if err != nil {
				return err
			}
			for _, m := range moves {
				if m.Moved {
					moved++
				}
			}
			return in.tell(ctx)
		})
		if err != nil {
			return moved, fmt.Errorf("record what the forge said of %d jobs: %w", len(some), err)
		}
	}
	return moved, nil
}

// maxBatch bounds the jobs of one transaction, so that none keeps deliveries waiting.
const maxBatch = 256
