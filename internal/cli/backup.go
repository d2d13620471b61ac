package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

const backupHelp = `Back up applications: take, list, show and delete backups.

What is backed up is said by the application's driver: databases are dumped, the
files of volumes are copied, and actions of the driver do what only they can.
Where it goes is a backup location of the environment:

  slipway secrets set s3-key-id -e shop/production
  slipway secrets set s3-key -e shop/production
  slipway backup location create nightly -e shop/production \
      --endpoint https://s3.example.com --bucket shop-backups \
      --access-key-secret s3-key-id --secret-key-secret s3-key

A schedule and what is kept stand in application.toml:

  [backup]
  location = "nightly"
  schedule = "0 3 * * *"
  time_zone = "Europe/Rome"
  keep_last = 7
  before_upgrade = true

A backup is put back with  slipway restore.`

func (s *session) backupsCommand() *cobra.Command {
	c := group("backup", "Take, list, show and delete backups", []string{"backups"},
		s.backupCreateCommand(), s.backupListCommand(), s.backupGetCommand(), s.backupDeleteCommand(), s.locationsCommand())
	c.Long = backupHelp
	return c
}

func (s *session) backupCreateCommand() *cobra.Command {
	var env, location, key string
	var wait bool
	c := &cobra.Command{
		Use: "create APPLICATION", Short: "Back up an application now", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		Long: `Back up an application now. It waits for the changes before it, and stops only
what the driver says must not be written to meanwhile. Retention never removes a
backup that was asked for; slipway backup delete does.`,
		Example: "  slipway backup create guestbook -e shop/production --wait",
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			accepted, err := cl.CreateBackup(c.Context(), app.ID, wire.NewBackup{Location: location}, key)
			if err != nil {
				return err
			}
			s.warn(accepted.Warnings)
			return s.follow(c.Context(), cl, accepted, wait)
		},
	}
	s.addEnvironment(c, &env)
	c.Flags().StringVar(&location, "location", "", "the backup location (default: the application's, or the environment's only one)")
	addChangeFlags(c, nil, &wait, &key)
	return c
}

func (s *session) backupListCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "list [APPLICATION]", Aliases: []string{"ls"}, Short: "List backups, newest first", Args: args(0, 1), ValidArgsFunction: s.completeApplications,
		Long: `List backups, newest first. Those of an application that was deleted are listed
under its name, and can be restored into a new one.`,
		RunE: func(c *cobra.Command, a []string) error {
			f, err := s.backupFilter(a, env)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := client.All(c.Context(), func(ctx context.Context, p client.Page) ([]wire.Backup, string, error) { return cl.Backups(ctx, f, p) })
			if err != nil {
				return err
			}
			return list(s, all, "no backup yet; slipway backup create takes one",
				[]string{"ID", "APPLICATION", "VERSION", "STATE", "SIZE", "WHY", "TAKEN", "LOCATION"},
				func(b wire.Backup) []string {
					return []string{strconv.FormatInt(b.ID, 10), b.Application, b.AppVersion, b.State, sizeCell(b.Size), b.Cause, agoPtr(b.TakenAt, "-"), b.Location}
				})
		},
	}
	s.addEnvironment(c, &env)
	return c
}

// backupFilter narrows a list by an application's name and an environment, each of which
// may be left out.
func (s *session) backupFilter(a []string, env string) (f client.BackupFilter, err error) {
	if len(a) == 1 {
		parts := strings.Split(a[0], "/")
		switch len(parts) {
		case 1:
			f.Application = a[0]
		case 3:
			return client.BackupFilter{Project: parts[0], Environment: parts[1], Application: parts[2]}, nil
		default:
			return f, usagef("%q does not name an application", a[0]).hint("write its name, or project/environment/name")
		}
	}
	if env == "" {
		t, err := s.target()
		if err != nil {
			return f, err
		}
		env = t.environment
	}
	if env == "" {
		return f, nil
	}
	f.Project, f.Environment, err = splitEnvironment(env)
	return f, err
}

// sizeCell writes bytes as people read them.
func sizeCell(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	}
	value, i := float64(n), -1
	for value >= 1000 && i < 4 {
		value, i = value/1000, i+1
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTP"[i])
}

func (s *session) backupGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get BACKUP", Short: "Show a backup with its files", Args: args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			id, err := backupID(a[0])
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			b, err := cl.Backup(c.Context(), id)
			if err != nil {
				return err
			}
			return s.show(b, func() { s.printBackup(b) })
		},
	}
}

func backupID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usagef("%q is not a backup's number", text).hint("see slipway backup list")
	}
	return id, nil
}

func (s *session) printBackup(b wire.Backup) {
	expires := ""
	if b.ExpiresAt != nil {
		expires = b.ExpiresAt.Local().Format(time.DateTime)
	}
	s.fields("backup", strconv.FormatInt(b.ID, 10), "application", b.Application, "version", b.AppVersion, "driver", b.DriverName+" "+b.DriverVersion,
		"state", b.State, "error", b.Error, "why", b.Cause, "by", b.By, "size", sizeCell(b.Size), "location", b.Location, "path", b.Path,
		"taken", agoPtr(b.TakenAt, ""), "kept until", expires, "task", strconv.FormatInt(b.TaskID, 10))
	if len(b.Files) == 0 {
		return
	}
	s.print("\nfiles")
	for _, f := range b.Files {
		s.print("  %s  %s  %s  sha256:%s", f.Name, f.Kind, sizeCell(f.Size), f.SHA256)
	}
}

func (s *session) backupDeleteCommand() *cobra.Command {
	var key string
	var yes, wait bool
	c := &cobra.Command{
		Use: "delete BACKUP", Aliases: []string{"rm"}, Short: "Remove a backup and its files", Args: args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			id, err := backupID(a[0])
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			b, err := cl.Backup(c.Context(), id)
			if err != nil {
				return err
			}
			if err := s.confirm(yes, fmt.Sprintf("remove backup %d of %s (%s, %s)?", b.ID, b.Application, b.AppVersion, sizeCell(b.Size))); err != nil {
				return err
			}
			accepted, err := cl.DeleteBackup(c.Context(), id, key)
			if err != nil {
				return err
			}
			s.warn(accepted.Warnings)
			return s.follow(c.Context(), cl, accepted, wait)
		},
	}
	addYes(c, &yes)
	addChangeFlags(c, nil, &wait, &key)
	return c
}

func (s *session) restoreCommand() *cobra.Command {
	var env, key, confirmed string
	var from int64
	var yes, wait, plan bool
	c := &cobra.Command{
		Use: "restore APPLICATION --from BACKUP", Short: "Overwrite an application's data by a backup", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		Long: `Overwrite an application's data by a backup. What is lost and what stops is
shown first, and nothing happens before it is confirmed: by typing the
application's name, by --confirm NAME, or by --yes.

Every file of the backup is checked before anything stops. The application must
have the backup's version or a later one. A database is restored in one
transaction. A restore that fails can be run again; until then what was stopped
stays stopped.`,
		Example: "  slipway restore guestbook -e shop/production --from 12 --wait\n  slipway restore guestbook -e shop/production --from 12 --plan",
		RunE: func(c *cobra.Command, a []string) error {
			if from == 0 {
				return usagef("%s needs --from BACKUP", c.CommandPath()).hint("see slipway backup list %s", a[0])
			}
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			p, err := cl.PlanRestore(c.Context(), app.ID, wire.RestoreFrom{Backup: from})
			if err != nil {
				return err
			}
			if plan {
				return s.show(p, func() { s.printRestore(p) })
			}
			if err := s.confirmRestore(p, yes, confirmed); err != nil {
				return err
			}
			accepted, err := cl.Restore(c.Context(), app.ID, wire.RestoreFrom{Backup: from, Confirm: p.Name}, key)
			if err != nil {
				return err
			}
			return s.follow(c.Context(), cl, accepted, wait)
		},
	}
	s.addEnvironment(c, &env)
	c.Flags().Int64Var(&from, "from", 0, "the backup, by its number")
	c.Flags().BoolVar(&plan, "plan", false, "only show what would happen")
	c.Flags().StringVar(&confirmed, "confirm", "", "confirm by the application's name, without being asked")
	addYes(c, &yes)
	addChangeFlags(c, nil, &wait, &key)
	return c
}

// confirmRestore wants the application's name: a yes is typed too easily.
func (s *session) confirmRestore(p wire.RestorePlan, yes bool, confirmed string) error {
	if yes || confirmed == p.Name {
		s.warn(p.Warnings)
		return nil
	}
	if confirmed != "" {
		return usagef("--confirm %q is not the application's name", confirmed).hint("write --confirm %s", p.Name)
	}
	if _, tty := terminal(s.Stdin); !tty {
		return usagef("nobody can be asked here whether the data of %s may be overwritten", p.Application).hint("write --confirm %s, or --yes", p.Name)
	}
	s.tellRestore(p)
	answer, err := s.ask(fmt.Sprintf("type %s to overwrite its data: ", p.Name))
	if err != nil {
		return err
	}
	if answer != p.Name {
		return (&failure{code: exitInterrupted, msg: "nothing was done"})
	}
	return nil
}

func (s *session) printRestore(p wire.RestorePlan) {
	for _, line := range restoreLines(p) {
		s.print("%s", line)
	}
	s.warn(p.Warnings)
}

// tellRestore writes the plan where the question stands.
func (s *session) tellRestore(p wire.RestorePlan) {
	for _, line := range restoreLines(p) {
		s.say("%s", line)
	}
	s.warn(p.Warnings)
}

func restoreLines(p wire.RestorePlan) []string {
	b := p.Backup
	out := []string{fmt.Sprintf("%s %s from backup %d of %s, taken %s (%s)", p.Application, p.Version, b.ID, b.AppVersion, agoPtr(b.TakenAt, "never"), sizeCell(b.Size))}
	for _, x := range p.Overwrites {
		out = append(out, "  overwrites  "+x)
	}
	if len(p.Stops) > 0 {
		out = append(out, "  stops meanwhile  "+strings.Join(p.Stops, ", "))
	}
	if len(p.Actions) > 0 {
		out = append(out, "  runs  "+strings.Join(p.Actions, ", "))
	}
	return out
}
