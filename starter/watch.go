package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func watchCommand(c *factory.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run live",
		Long: `Tells the run from its beginning and follows it live. On a terminal it asks for
approvals and answers; elsewhere it ends with exit code 3 or 4 when the run
waits. An interrupt ends the watching, never the run.`,
		Example:           "  starter watch slug#14\n  starter watch slug#14 --json | jq -r .type",
		Args:              usage.ArgsBetween(0, 1, usage.MayHaveRun),
		ValidArgsFunction: runref.Complete(c),
		RunE: runref.OnOr(c, 0, func(ctx context.Context, r runref.Found, _ []string) error {
			return follow.Run(ctx, c, r)
		}, runref.BothWaits...),
	}
	follow.AddVerbose(c, cmd)
	return cmd
}

// byFlag adds the flag --by, which names who acts. The default is the user of this process. Another name is recorded with
// that user beside it, because anyone can give any name.
func byFlag(c *factory.Factory, flags *pflag.FlagSet, by *string, usage string) {
	*by = c.UserName()
	flags.Var(&byName{by, *by}, "by", usage)
}

// byName is the value of the flag --by.
type byName struct {
	name *string
	user string
}

func (b *byName) String() string { return *b.name }

func (*byName) Type() string { return "name" }

// Set implements pflag.Value.
func (b *byName) Set(name string) error {
	*b.name = b.user
	if name != "" && name != b.user {
		*b.name = name + " (user " + b.user + ")"
	}
	return nil
}
