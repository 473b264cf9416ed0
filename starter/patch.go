package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func (c *cli) patchCommand() *cobra.Command {
	var repo string
	var check bool
	cmd := &cobra.Command{
		Use:   "patch --repo DIR",
		Short: "Apply a raw answer to a directory, as a run would",
		Long: `Reads what a model answered on standard input, finds its PATCH, ASK or NOOP, and
applies a patch to DIR: all of it or nothing. Prints one JSON report. Exit code 1
is a refusal.`,
		Example: "  starter patch --repo . --check < answer.md\n  starter patch --repo . < answer.md | jq .files",
		Args:    exactly(0, "no arguments"),
		RunE: c.do(func(context.Context, []string) error {
			if repo == "" {
				return usagef("no directory given: name it with --repo")
			}
			report, err := patchDir(repo, c.in, check)
			if err != nil {
				return err
			}
			if err := c.printJSON(report); err != nil {
				return err
			}
			if report.Result == patch.Refused {
				return &statusError{run.Failed}
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&repo, "repo", "", "`directory` that the patch is for")
	cmd.Flags().BoolVar(&check, "check", false, "only say what would happen")
	return cmd
}

func patchDir(dir string, in io.Reader, check bool) (patch.Report, error) {
	raw, err := io.ReadAll(io.LimitReader(in, answer.MaxBytes+1)) // one more, so that the parser sees that it is too long
	if err != nil {
		return patch.Report{}, fmt.Errorf("read the answer: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return patch.Report{}, fmt.Errorf("open the directory: %w", err)
	}
	defer root.Close()
	if check {
		return patch.Check(patch.Dir(root), raw, "", patch.Limits{}), nil
	}
	return patch.Apply(root, raw, "", patch.Limits{}), nil
}
