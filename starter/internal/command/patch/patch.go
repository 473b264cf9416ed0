// Package patch is the command `starter patch`.
package patch

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var repo, finish string
	var check bool
	var limits patch.Limits
	cmd := &cobra.Command{
		Use:   "patch --repo DIR",
		Short: "Apply a raw answer to a directory, as a run would",
		Long: `Reads what a model answered on standard input, finds its PATCH, ASK or NOOP, and
applies a patch to DIR, file by file. A patch that is refused changes nothing.
If the command is killed, some files may be written: git diff shows them. Prints
one JSON report. Exit code 1 is a refusal.`,
		Example: "  starter patch --repo . --check < answer.md\n  starter patch --repo . < answer.md | jq .files",
		Args:    usage.Args(0, "no arguments"),
		RunE: c.Handle(func(context.Context, []string) error {
			switch {
			case repo == "":
				return usage.Errorf("no directory given: name it with --repo")
			case limits.Files < 0 || limits.Bytes < 0:
				return usage.Errorf("a limit is negative")
			}
			report, err := patchDir(repo, c.In, finish, limits, check)
			if err != nil {
				return err
			}
			if err := c.PrintJSON(report); err != nil {
				return err
			}
			if report.Result == patch.Refused {
				return &exit.StatusError{Status: run.Failed}
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&repo, "repo", "", "`directory` that the patch is for")
	cmd.Flags().BoolVar(&check, "check", false, "only say what would happen")
	cmd.Flags().StringVar(&finish, "finish", "", "`reason` why the model stopped: stop, length, timeout or error; unknown when it is not given")
	cmd.Flags().IntVar(&limits.Files, "max-files", 0, "most `files` that a patch may change; 0 is 500")
	cmd.Flags().IntVar(&limits.Bytes, "max-bytes", 0, "most `bytes` that a diff may have; 0 is 8 MiB")
	return cmd
}

func patchDir(dir string, in io.Reader, finish string, limits patch.Limits, check bool) (patch.Report, error) {
	raw, err := io.ReadAll(io.LimitReader(in, answer.MaxBytes+1)) // one byte more shows the parser that it is too long
	if err != nil {
		return patch.Report{}, fmt.Errorf("read the answer: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return patch.Report{}, fmt.Errorf("open the directory: %w: name one that is there with --repo", err)
	}
	defer root.Close()
	if check {
		return patch.CheckAnswer(patch.DirTree(root), raw, finish, limits), nil
	}
	return patch.ApplyAnswer(root, raw, finish, limits), nil
}
