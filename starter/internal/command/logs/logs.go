// Package logs is the command `starter logs`.
package logs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runlogs"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "logs RUN [NAME]",
		Short: "Print the logs in a run's directory",
		Long: `Prints the logs of the run, or the one that is named: provider-plan,
provider-execute, gatekeeper and so on. Of a long one the end is printed. The
run's directory must be on this host.`,
		Example:           "  starter logs slug#14\n  starter logs slug#14 provider-execute",
		Args:              usage.ArgsBetween(1, 2, "a RUN and perhaps the name of a log"),
		ValidArgsFunction: runref.Complete(c),
		RunE: runref.On(c, func(_ context.Context, r runref.Found, args []string) error {
			dir, err := c.OpenRecord(r.ID)
			if err != nil {
				return fmt.Errorf("the record of run %s is missing (%w): name the worker's runs directory with --runs-dir", r.ID, err)
			}
			files, err := runlogs.Read(dir.Path(), args)
			if err != nil {
				return fmt.Errorf("logs of run %s: %w", r.ID, err)
			}
			if c.JSON {
				return c.PrintJSON(struct {
					RunID string         `json:"runId"`
					Dir   string         `json:"dir"`
					Logs  []runlogs.File `json:"logs"`
				}{string(r.ID), dir.Path(), files})
			}
			printLogs(c, files)
			return nil
		}),
	}
}

func printLogs(c *factory.Factory, files []runlogs.File) {
	s := c.Style()
	for _, f := range files {
		c.Printf("%s %s\n", s.Bold(display.Line(f.Name)), s.Dim(display.Line(f.Path)))
		if left := f.Bytes - int64(len(f.Text)); left > 0 {
			c.Printf("%s\n", s.Dim(fmt.Sprintf("… the first %s are left out", terminal.Bytes(left))))
		}
		c.Printf("%s\n", display.Text([]byte(f.Text)))
	}
}
