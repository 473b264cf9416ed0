// Package open is the command `starter open`.
package open

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/starter/internal/checkouts"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "open RUN",
		Short: "Open your editor on a checkout of a run's branch",
		Long: `Opens $VISUAL or $EDITOR on a checkout of the last commit of the run's branch, in
a directory of its own; it prints the path where there is no editor. The checkout
is a repository of its own: what you change there is yours, and no part of the
run. It is made again at each call, and ` + "`starter clean`" + ` removes it, unless you have
changed something in it. Each file that is not in the commit counts, build output
and others that git ignores, too: remove them, and it is made again.`,
		Example:           "  starter open slug#14\n  cd \"$(starter open 14 --print)\"",
		Args:              usage.Args(1, usage.WantsRun),
		ValidArgsFunction: runref.Complete(c),
		RunE:              runref.On(c, func(ctx context.Context, r runref.Found, _ []string) error { return openRun(ctx, c, r, show) }),
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the path and open nothing")
	return cmd
}

func openRun(ctx context.Context, c *factory.Factory, r runref.Found, show bool) error {
	facts, err := r.Facts(ctx, r.ID)
	if err == nil {
		err = runref.CheckRepository(r, facts.Repository.Path)
	}
	if err != nil {
		return err
	}
	tree, err := checkouts.Of(c, r.ID, facts.Repository)
	if err != nil {
		return err
	}
	changed := checkouts.Changed(ctx, tree)
	if !changed {
		if err := tree.Make(ctx, cmp.Or(facts.Head, facts.Repository.Base)); err != nil {
			return fmt.Errorf("check out run %s: %w", r.ShownName(), err)
		}
	}
	path := tree.WorkDir()
	editor := cmp.Or(c.Getenv("VISUAL"), c.Getenv("EDITOR"))
	if c.JSON {
		return c.PrintJSON(struct {
			Path    string `json:"path"`
			Changed bool   `json:"changed"` // it has something of yours since an earlier call: it was not made anew
		}{path, changed})
	}
	if show || editor == "" || !c.Interactive {
		c.Printf("%s\n", path)
		return nil
	}
	return runEditor(ctx, editor, path)
}

// runEditor opens the editor on a directory and waits for it.
func runEditor(ctx context.Context, editor, path string) error {
	words, err := shellquote.Split(editor)
	if err != nil || len(words) == 0 {
		return usage.Errorf("the editor %q cannot be called: set VISUAL or EDITOR to a command", editor)
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], path)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = path, os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("editor %s: %w", words[0], err)
	}
	return nil
}
