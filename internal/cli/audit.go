package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) auditCommand() *cobra.Command {
	var f client.AuditFilter
	var limit int
	c := &cobra.Command{
		Use: "audit", Short: "Show who did what", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return usagef("--limit is %d", limit).hint("use a number from 1")
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			lines, err := firstOf(c.Context(), limit, func(ctx context.Context, p client.Page) ([]wire.Audit, string, error) {
				return cl.Audit(ctx, f, p)
			})
			if err != nil {
				return err
			}
			return list(s, lines, "nothing is recorded", []string{"WHEN", "USER", "WHAT", "OF", "FROM"}, func(a wire.Audit) []string {
				return []string{a.At.Local().Format(time.DateTime), a.User, a.Action, a.Name, a.Remote}
			})
		},
	}
	c.Flags().StringVar(&f.User, "user", "", "only what a user did")
	c.Flags().StringVar(&f.Action, "action", "", "only one action: application.deploy")
	c.Flags().StringVar(&f.Noun, "noun", "", "only what concerns one noun: application")
	c.Flags().IntVar(&limit, "limit", 50, "how many lines, from the newest")
	return c
}

// firstOf collects the first n items of a listing.
func firstOf[T any](ctx context.Context, n int, list func(context.Context, client.Page) ([]T, string, error)) ([]T, error) {
	var all []T
	for p := (client.Page{}); len(all) < n; {
		p.Limit = min(n-len(all), wire.MaxLimit)
		items, next, err := list(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if next == "" {
			break
		}
		p.Cursor = next
	}
	return all[:min(n, len(all))], nil
}
