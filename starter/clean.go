package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

type cleanFlags struct {
	older             string
	yes               bool
	records, unmerged bool
}

// leftover is something that a run has left behind.
type leftover struct {
	RunID run.ID   `json:"runId"`
	Name  run.Name `json:"name,omitempty"`
	Kind  string   `json:"kind"` // branch, files, record
	Path  string   `json:"path"` // of the files; name of the branch
	Why   string   `json:"why"`  // merged, empty, unmerged, over
	// Commit is the branch's: `git branch NAME COMMIT` brings it back.
	Commit     run.Commit `json:"commit,omitempty"`
	Repository string     `json:"repository,omitempty"`
	Bytes      int64      `json:"bytes,omitempty"`
	Removed    bool       `json:"removed"`
	Kept       bool       `json:"kept,omitempty"` // no flag asks for it
	Error      string     `json:"error,omitempty"`
}

func (c *cli) cleanCommand() *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Show, and with --yes remove, what runs that are over have left",
		Long: `Shows what the runs of this host that are over have left: branches that are merged
or have no commits, checkouts, and records. With --yes it removes them, the
records only with --records. A branch with commits that no branch of yours has is
shown and stays, unless --unmerged names them, too; its commit is printed, and
` + "`git branch NAME COMMIT`" + ` brings it back. Caches are not touched.`,
		Example: "  starter clean\n  starter clean --yes\n  starter clean --older 60d --records --yes",
		Args:    exactArgs(0, "no arguments"),
		RunE: c.handleWith(func(ctx context.Context, _ []string) error {
			age, err := parseSpan(f.older)
			if err != nil {
				return usageErrorf("--older: %w", err)
			}
			return c.cleanRuns(ctx, f, c.now().Add(-age))
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.older, "older", "1d", "only of runs that ended so long `ago`, such as 12h, 14d or 8w")
	flags.BoolVar(&f.yes, "yes", false, "remove what is shown")
	flags.BoolVar(&f.records, "records", false, "remove the records, too: status, logs and reports no longer know these runs")
	flags.BoolVar(&f.unmerged, "unmerged", false, "remove branches with commits that no branch of yours has, too")
	return cmd
}

func (c *cli) cleanRuns(ctx context.Context, f cleanFlags, before time.Time) error {
	if f.yes {
		if err := c.mayDecide(); err != nil {
			return err
		}
	}
	records, err := c.readRecords()
	if err != nil {
		return err
	}
	landed := c.findLanded(ctx, records)
	found := []leftover{}
	for _, r := range records {
		if end := r.endEvent(); end == nil || end.TS.After(before) {
			continue
		}
		found = append(found, c.leftoversOf(ctx, f, r, landed)...)
	}
	failed := 0
	for i := range found {
		if l := &found[i]; f.yes && !l.Kept {
			if err := l.removeAll(ctx); err != nil {
				l.Error = err.Error()
				failed++
			}
			l.Removed = l.Error == ""
		}
	}
	if c.json {
		err = c.printJSON(found)
	} else {
		c.printClean(found, f)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%s could not be removed", plural(failed, "thing", "things"))
	}
	return err
}

// leftoversOf returns what the run has left.
func (c *cli) leftoversOf(ctx context.Context, f cleanFlags, r recordOf, landed map[string]merge.Landed) (found []leftover) {
	one := leftover{RunID: r.in.RunID, Name: r.in.Name, Repository: r.in.Repository.Path}
	// A record that another process has forged names no branch of the user's.
	if l, ok := landed[r.in.Repository.Path]; ok && run.CheckBranch(r.branch, r.in.RunID, r.in.Name) == nil {
		if tip, err := l.Tip(ctx, r.branch); err == nil && tip != "" {
			branch := one
			branch.Kind, branch.Path, branch.Commit, branch.Why = "branch", r.branch, tip, "unmerged"
			if has, err := l.Has(ctx, tip); err == nil && has {
				branch.Why = "merged"
			}
			if tip == r.in.Repository.Base {
				branch.Why = "empty"
			}
			branch.Kept = branch.Why == "unmerged" && !f.unmerged
			found = append(found, branch)
		}
	}
	for _, dir := range []string{"agents", "workspaces", "tmp", "checkouts"} {
		path := filepath.Join(c.runsDir, dir, string(r.in.RunID))
		if _, err := os.Lstat(path); err == nil {
			files := one
			files.Kind, files.Path, files.Why, files.Bytes = "files", path, "over", bytesIn(path)
			found = append(found, files)
		}
	}
	record := one
	record.Kind, record.Path, record.Why, record.Bytes, record.Kept = "record", r.dir, "over", bytesIn(r.dir), !f.records
	return append(found, record)
}

// removeAll removes it. A branch that has moved since is left.
func (l *leftover) removeAll(ctx context.Context) error {
	if l.Kind != "branch" {
		return git.RemoveTree(l.Path)
	}
	gone, err := merge.RemoveBranch(ctx, l.Repository, l.Path, l.Commit)
	if err == nil && !gone {
		err = fmt.Errorf("branch %s is checked out, or has moved", l.Path)
	}
	return err
}

// bytesIn returns the size of the regular files below a directory.
func bytesIn(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

func (c *cli) printClean(found []leftover, f cleanFlags) {
	s := c.style()
	rows := [][]string{}
	var bytes, kept int64
	removable, unmerged := 0, 0
	for _, l := range found {
		if l.Kind == "record" && l.Kept {
			kept += l.Bytes
			continue
		}
		what, size := s.Dim("would go"), "-"
		switch {
		case l.Error != "":
			what = s.Bad(display.Line(l.Error))
		case l.Removed:
			what = s.Good("removed")
		case l.Kept:
			what = s.Wait("stays: --unmerged removes it")
			unmerged++
		}
		if l.Kind != "branch" {
			size = terminal.Bytes(l.Bytes)
		}
		why := l.Why
		if l.Commit != "" {
			why += fmt.Sprintf(" at %.12s", l.Commit)
		}
		if !l.Kept {
			removable++
			bytes += l.Bytes
		}
		rows = append(rows, []string{story.OneLine(l.Name.Shown(l.RunID), 40), l.Kind, story.OneLine(nearPath(l.Path), 60), why, size, what})
	}
	c.printf("%s", terminal.Table(rows))
	verb := "would go, with --yes"
	if f.yes {
		verb = "were to go"
	}
	c.printf("%s %s: %s", plural(removable, "thing", "things"), verb, terminal.Bytes(bytes))
	if unmerged > 0 {
		c.printf("; %s with commits of no other branch", plural(unmerged, "branch stays", "branches stay"))
	}
	if kept > 0 {
		c.printf("; records of these runs have %s, and stay without --records", terminal.Bytes(kept))
	}
	c.printf("\n")
}
