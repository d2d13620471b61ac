package dashboard

import (
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
)

// doBackUp takes a backup now, and shows the task that does it.
func (s *site) doBackUp(r *request) error {
	m, err := s.applicationOf(r)
	if err != nil {
		return err
	}
	done, err := s.Change.Backup(r.Context(), r.caller, change.BackupInput{ApplicationID: m.Application.ID, IdempotencyKey: r.form("key")})
	if err != nil {
		f := r.fault(err)
		return s.showApplication(r, &f)
	}
	r.redirect(taskAddress(done.Task.ID))
	return nil
}

var backupSigns = map[slipway.BackupState]sign{
	slipway.BackupTaking:   {"Being taken", "busy", "is-busy"},
	slipway.BackupComplete: {"Complete", "ok", "is-ok"},
	slipway.BackupFailed:   {"Failed", "bad", "is-bad"},
	slipway.BackupDeleting: {"Being deleted", "busy", "is-busy"},
}

func backupSign(s slipway.BackupState) sign { return lookUp(backupSigns, s) }

// causeWord says why a backup was taken.
func causeWord(c slipway.BackupCause) string {
	switch c {
	case slipway.BackupScheduled:
		return "schedule"
	case slipway.BackupUpgrade:
		return "before an upgrade"
	}
	return "asked for"
}

func backupSize(b slipway.Backup) string {
	if b.Size == 0 {
		return ""
	}
	return bytesWord(b.Size)
}

func zoneWord(zone string) string {
	if zone == "" {
		return "UTC"
	}
	return zone
}

// keepWord says what retention keeps.
func keepWord(b slipway.BackupConfig) string {
	var parts []string
	if b.KeepLast > 0 {
		parts = append(parts, fmt.Sprintf("the last %d", b.KeepLast))
	}
	if b.KeepDays > 0 {
		parts = append(parts, count(b.KeepDays, "day"))
	}
	if len(parts) == 0 {
		return "all are kept"
	}
	return "keeps " + strings.Join(parts, " and ")
}
