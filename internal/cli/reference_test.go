package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"slipway.dev/slipway/internal/config"
)

var update = flag.Bool("update", false, "write the generated files anew")

// TestTheReferenceIsWhatTheCommandsSay stands in the pure world. It keeps
// docs/reference/cli.md, and so every help text, under review: go test -update writes it.
func TestTheReferenceIsWhatTheCommandsSay(t *testing.T) {
	t.Parallel()
	const path = "../../docs/reference/cli.md"
	root := (&session{}).root()
	root.InitDefaultHelpFlag()
	root.InitDefaultCompletionCmd()
	got := reference(root)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the commands say; run go test ./internal/cli -run Reference -update (-file +commands):\n%s", path, diff)
	}
}

// TestTheReferenceHasEverySetting stands in the pure world. It keeps
// docs/reference/configuration.md: go test -update writes it.
func TestTheReferenceHasEverySetting(t *testing.T) {
	t.Parallel()
	const path = "../../docs/reference/configuration.md"
	got := settings()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the server takes; run go test ./internal/cli -run Reference -update (-file +settings):\n%s", path, diff)
	}
}

func settings() string {
	var b bytes.Buffer
	b.WriteString("# Settings of the server\n\nGenerated from package `config` by the tests of `internal/cli`; not edited by hand.\n\n" +
		"Each setting is a key of `slipway.toml`, a variable and a flag of `slipway server`, each stronger than the one before.\n" +
		"The file is named by `--config` or `SLIPWAY_CONFIG`; else `slipway.toml` in the current directory or in `/etc/slipway` is\n" +
		"read, where there is one. `slipway config check` shows what they come to.\n\n" +
		"| key | variable | flag | default | what it does |\n| --- | --- | --- | --- | --- |\n")
	for _, k := range config.Keys() {
		byDefault := ""
		if k.Default != "" {
			byDefault = "`" + k.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | `--%s` | %s | %s |\n", k.Name, k.Env, k.Flag, byDefault, strings.ReplaceAll(k.Doc, "|", `\|`))
	}
	return b.String()
}

// TestEveryCommandIsDescribed stands in the pure world.
func TestEveryCommandIsDescribed(t *testing.T) {
	t.Parallel()
	each((&session{}).root(), func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its short text is %q; want one without a full stop", c.CommandPath(), c.Short)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s: no usage", c.CommandPath(), f.Name)
			}
		})
		for l := range strings.SplitSeq(c.Long, "\n") {
			if len([]rune(l)) > 80 {
				t.Errorf("%s: a line of its help is %d wide: %s", c.CommandPath(), len([]rune(l)), l)
			}
		}
	})
}

// each visits a command and all below it, in the order of the help.
func each(c *cobra.Command, visit func(*cobra.Command)) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	visit(c)
	for _, child := range c.Commands() {
		each(child, visit)
	}
}

func reference(root *cobra.Command) string {
	var b bytes.Buffer
	b.WriteString("# The command line\n\nGenerated from the commands by the tests of `internal/cli`; not edited by hand.\n")
	each(root, func(c *cobra.Command) {
		if c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			return // cobra's own words, which its version changes
		}
		fmt.Fprintf(&b, "\n## %s\n\n", c.CommandPath())
		text := c.Short
		if c.Long != "" {
			text = c.Long
		}
		fmt.Fprintf(&b, "```text\n%s\n```\n", strings.TrimSpace(text))
		if c.Runnable() && !c.HasSubCommands() {
			fmt.Fprintf(&b, "\n    %s\n", c.UseLine())
		}
		if len(c.Aliases) > 0 {
			fmt.Fprintf(&b, "\nAlso called: %s.\n", strings.Join(c.Aliases, ", "))
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "\n```console\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
		}
		flags(&b, c)
	})
	return b.String()
}

func flags(b *bytes.Buffer, c *cobra.Command) {
	own := c.NonInheritedFlags()
	if !own.HasAvailableFlags() {
		return
	}
	b.WriteString("\n| flag | what it does |\n| --- | --- |\n")
	own.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, strings.ReplaceAll(f.Usage, "|", `\|`))
	})
}
