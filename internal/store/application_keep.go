package store

import (
	"context"
	"fmt"
)

// KeepApplication takes back that an application is being deleted, when its deletion was
// cancelled before it began.
func (tx *Tx) KeepApplication(ctx context.Context, id int64) error {
	_, err := tx.exec(ctx, `UPDATE applications SET deleting = ?, updated_at = ? WHERE id = ? AND deleting = ? AND deleted_at IS NULL`,
		false, tx.Now, id, true)
	if err != nil {
		return fmt.Errorf("keep application %d: %w", id, err)
	}
	return nil
}
