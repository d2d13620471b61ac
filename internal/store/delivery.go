package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const deliveryColumns = `connection_id, guid, event, action, outcome, why, job_id, size, received_at`

func readDelivery(scan scan) (d slipway.Delivery, err error) {
	return d, scan(&d.ConnectionID, &d.GUID, &d.Event, &d.Action, &d.Outcome, &d.Why, &d.JobID, &d.Size, at(&d.ReceivedAt))
}

// AddDeliveries records deliveries that were not taken before, as DeliveriesTaken told in
// the same transaction.
func (tx *Tx) AddDeliveries(ctx context.Context, ds []slipway.Delivery) error {
	ds = slices.Clone(ds)
	slices.SortFunc(ds, func(a, b slipway.Delivery) int {
		return cmp.Or(cmp.Compare(a.ConnectionID, b.ConnectionID), strings.Compare(a.GUID, b.GUID))
	})
	rows := make([][]any, len(ds))
	for i, d := range ds {
		rows[i] = []any{d.ConnectionID, d.GUID, d.Event, d.Action, d.Outcome, d.Why, d.JobID, d.Size, tx.Now}
	}
	// Another process may have taken one of them meanwhile. What follows from it is the same.
	if err := tx.insertRows(ctx, `INSERT INTO deliveries (`+deliveryColumns+`) VALUES `, ` ON CONFLICT DO NOTHING`, rows); err != nil {
		return fmt.Errorf("record %d deliveries: %w", len(ds), orMissing(err, "a connection is gone"))
	}
	return nil
}

// DeliveriesTaken reports which of a connection's deliveries were recorded.
func (tx *Tx) DeliveriesTaken(ctx context.Context, connectionID int64, guids []string) (map[string]bool, error) {
	out := map[string]bool{}
	for some := range slices.Chunk(guids, 500) {
		these, args := oneOf(`guid`, some)
		got, err := all(ctx, tx, func(scan scan) (g string, err error) { return g, scan(&g) },
			`SELECT guid FROM deliveries WHERE `+these+` AND connection_id = ?`, append(args, connectionID)...)
		if err != nil {
			return nil, fmt.Errorf("look for deliveries: %w", err)
		}
		for _, g := range got {
			out[g] = true
		}
	}
	return out, nil
}

// Deliveries lists those of a connection, the newest first.
func (tx *Tx) Deliveries(ctx context.Context, connectionID int64, limit int) ([]slipway.Delivery, error) {
	ds, err := all(ctx, tx, readDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE connection_id = ? ORDER BY received_at DESC, guid LIMIT ?`,
		connectionID, limit)
	if err != nil {
		return nil, fmt.Errorf("list the deliveries of connection %d: %w", connectionID, err)
	}
	return ds, nil
}

// PruneDeliveries drops deliveries that came before a time, at most limit, and says how
// many. They are kept for longer than a forge can send them again.
func (tx *Tx) PruneDeliveries(ctx context.Context, before time.Time, limit int) (int64, error) {
	n, err := tx.exec(ctx, `DELETE FROM deliveries WHERE (connection_id, guid) IN
		(SELECT connection_id, guid FROM deliveries WHERE received_at < ? LIMIT ?)`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("drop old deliveries: %w", err)
	}
	return n, nil
}
