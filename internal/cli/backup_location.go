package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) locationsCommand() *cobra.Command {
	return group("location", "Make, list and delete places for backups", []string{"locations"},
		s.locationListCommand(), s.locationCreateCommand(), s.locationDeleteCommand())
}

func (s *session) locationListCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the backup locations of an environment", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			project, environment, err := s.environment(env)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := cl.BackupLocations(c.Context(), project, environment)
			if err != nil {
				return err
			}
			return list(s, all, "no backup location yet; slipway backup location create makes one", []string{"NAME", "KIND", "WHERE", "USED BY"},
				func(l wire.BackupLocation) []string {
					return []string{l.Name, l.Kind, l.Where, strings.Join(l.UsedBy, ", ")}
				})
		},
	}
	s.addEnvironment(c, &env)
	return c
}

func (s *session) locationCreateCommand() *cobra.Command {
	var env, ca, key, claim, prefix string
	var s3 wire.S3Location
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a place for backups", Args: args(1, 1),
		Long: `Make a place for the backups of an environment: a bucket of an S3-compatible
store, or with --claim a volume claim in the environment's namespace.

The credentials of a bucket are two secrets of the environment, which are named
here and stored with  slipway secrets set . They reach the Job that carries the
bytes, and nothing else. Give the key no more than listing, reading, writing and
deleting in that bucket.`,
		Example: `  slipway backup location create nightly -e shop/production \
      --endpoint https://s3.example.com --bucket shop-backups --prefix slipway \
      --access-key-secret s3-key-id --secret-key-secret s3-key
  slipway backup location create disk -e shop/dev --claim backups`,
		RunE: func(c *cobra.Command, a []string) error {
			project, environment, err := s.environment(env)
			if err != nil {
				return err
			}
			in := wire.NewBackupLocation{Name: a[0], Kind: "s3"}
			if claim != "" {
				if s3.Endpoint != "" || s3.Bucket != "" {
					return usagef("--claim makes a volume location, and --endpoint and --bucket one in a store").hint("give one of the two")
				}
				in.Kind, in.Volume = "volume", &wire.VolumeLocation{Claim: claim, Prefix: prefix}
			} else {
				if ca != "" {
					pem, err := os.ReadFile(ca)
					if err != nil {
						return usagef("%s", err)
					}
					s3.CA = string(pem)
				}
				s3.Prefix = prefix
				in.S3 = &s3
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			l, err := cl.CreateBackupLocation(c.Context(), project, environment, in, key)
			if err != nil {
				return err
			}
			return s.show(l, func() { s.print("backup location %s  %s", l.Name, l.Where) })
		},
	}
	s.addEnvironment(c, &env)
	f := c.Flags()
	f.StringVar(&s3.Endpoint, "endpoint", "", "the store's address: https://s3.example.com")
	f.StringVar(&s3.Bucket, "bucket", "", "the bucket, which must be there")
	f.StringVar(&s3.Region, "region", "", "the bucket's region, where the store has any")
	f.StringVar(&s3.AccessKeySecret, "access-key-secret", "", "the name of the secret with the access key's ID")
	f.StringVar(&s3.SecretKeySecret, "secret-key-secret", "", "the name of the secret with the secret access key")
	f.StringVar(&ca, "ca-file", "", "the certificate of the store's authority, PEM (default: the usual ones)")
	f.StringVar(&claim, "claim", "", "a volume claim of the environment's namespace, in place of a bucket")
	f.StringVar(&prefix, "prefix", "", "a folder in the bucket or on the volume")
	f.StringVar(&key, "key", "", "an idempotency key: asking again under it gives the first answer again")
	return c
}

func (s *session) locationDeleteCommand() *cobra.Command {
	var env string
	c := s.removal("delete NAME", "Delete a backup location that holds no backup", nil,
		func(a string) string { return fmt.Sprintf("delete the backup location %s?", a) },
		func(c *cobra.Command, cl *client.Client, a string) error {
			project, environment, err := s.environment(env)
			if err != nil {
				return err
			}
			return cl.DeleteBackupLocation(c.Context(), project, environment, a)
		})
	s.addEnvironment(c, &env)
	return c
}
