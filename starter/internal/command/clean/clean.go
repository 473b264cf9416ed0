// Package clean is the command `starter clean`.
package clean

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/checkouts"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runrecords"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

type cleanFlags struct {
	older             string
	yes               bool
	records, unmerged bool
}

// Leftover is something that a run has left behind.
type Leftover struct {
	RunID run.ID   `json:"runId"`
	Name  run.Name `json:"name,omitempty"`
	Kind  string   `json:"kind"` // branch, files, record
	Path  string   `json:"path"` // of the files; name of the branch
	// Why is the state of the branch: merged, empty, unmerged, inUse, or away (its repository cannot be read); or the state
	// of its run: open, recent, or unknown. Files and records belong to runs that are over.
	Why string `json:"why"`
	// Commit is the branch's: `git branch NAME COMMIT` brings it back.
	Commit     run.Commit `json:"commit,omitempty"`
	Repository string     `json:"repository,omitempty"`
	Bytes      int64      `json:"bytes,omitempty"`
	Removed    bool       `json:"removed"`
	Kept       bool       `json:"kept,omitempty"`  // no flag asks for it, or it is not to go
	Stays      string     `json:"stays,omitempty"` // why it is kept, and what would remove it
	Error      string     `json:"error,omitempty"`
}

func New(c *factory.Factory) *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Show, and with --yes remove, what runs that are over have left",
		Long: `Shows what the runs of this host that are over have left: branches that are merged
or have no commits, checkouts, and records. With --yes it removes them, the
records only with --records. A branch with commits that no branch of yours has
stays, unless --unmerged names them, too, and so does a checkout that you have
changed or built in. Each branch of a run that stays is shown with its reason, each that goes
with its commit: ` + "`git branch NAME COMMIT`" + ` brings it back. Where a repository is not
at its path or cannot be read, branch and record stay. Caches are not touched.`,
		Example: "  starter clean\n  starter clean --yes\n  starter clean --older 60d --records --yes",
		Args:    usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			age, err := usage.Span(f.older)
			if err != nil {
				return usage.Errorf("--older: %w", err)
			}
			return cleanRuns(ctx, c, f, c.Now().Add(-age))
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.older, "older", "1d", "only of runs that ended so long `ago`, such as 12h, 14d or 8w")
	flags.BoolVar(&f.yes, "yes", false, "remove what is shown")
	flags.BoolVar(&f.records, "records", false, "remove the records, too: status, logs and reports no longer know these runs")
	flags.BoolVar(&f.unmerged, "unmerged", false, "remove branches with commits that no branch of yours has, too")
	return cmd
}

func cleanRuns(ctx context.Context, c *factory.Factory, f cleanFlags, before time.Time) error {
	if f.yes {
		if err := c.MayDecide(); err != nil {
			return err
		}
	}
	records, err := runrecords.Read(c)
	if err != nil {
		return err
	}
	landed := runrecords.FindLanded(ctx, c, records)
	if err := ctx.Err(); err != nil { // no repository is away for that
		return err
	}
	found := append([]Leftover{}, halfRemoved(c, f)...)
	for _, r := range records {
		found = append(found, leftBy(ctx, c, f, r, before, landed)...)
	}
	found = append(found, unknownBranches(ctx, landed, records)...)
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
	if c.JSON {
		err = c.PrintJSON(found)
	} else {
		printClean(c, found, f)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%s could not be removed", display.Count(failed, "thing", "things"))
	}
	return err
}

// leftBy returns what a run has left: its branch and, if it is over for long enough, its files and its record.
func leftBy(ctx context.Context, c *factory.Factory, f cleanFlags, r runrecords.Record, before time.Time, landed map[string]merge.Landed) []Leftover {
	found := branchOf(ctx, c, f, r, before, landed)
	away := len(found) > 0 && found[0].Why == whyAway
	if end := r.End(); end != nil && !end.TS.After(before) {
		found = append(found, filesOf(ctx, c, f, r, away)...)
	}
	return found
}

// whyAway is the Why of a branch that cannot be looked at. Its run keeps its record, without which nothing here would
// know of the branch.
const whyAway = "away"

// branchOf returns the branch of a run, if it is there or may be there.
func branchOf(ctx context.Context, c *factory.Factory, f cleanFlags, r runrecords.Record, before time.Time, landed map[string]merge.Landed) []Leftover {
	in := r.Input
	// A record that another process has forged names no branch of the user's.
	if run.CheckBranch(r.Branch, in.RunID, in.Name) != nil {
		return nil
	}
	b := Leftover{RunID: in.RunID, Name: in.Name, Repository: in.Repository.Path, Kind: "branch", Path: r.Branch}
	away := b
	away.Why, away.Kept, away.Stays = whyAway, true, fmt.Sprintf("its repository is not at %s, or cannot be read", display.Line(in.Repository.Path))
	l, readable := landed[in.Repository.Path]
	if !readable {
		return []Leftover{away}
	}
	tip, err := l.Tip(ctx, r.Branch)
	if err != nil {
		return []Leftover{away}
	}
	if tip == "" {
		return nil
	}
	b.Commit = tip
	b.Why, b.Stays = reasonOf(ctx, c, f, r, before, l, tip)
	b.Kept = b.Stays != ""
	return []Leftover{b}
}

// reasonOf returns the Why of a branch that is there, and why it stays; empty: it goes.
func reasonOf(ctx context.Context, c *factory.Factory, f cleanFlags, r runrecords.Record, before time.Time, l merge.Landed, tip run.Commit) (why, stays string) {
	why = "unmerged"
	if has, err := l.Has(ctx, tip); err == nil && has {
		why = "merged"
	}
	if tip == r.Input.Repository.Base && (why == "merged" || r.Input.Before == nil) { // else the commits of the run before are there
		why = "empty"
	}
	inUse, _ := errors.AsType[*git.InUseError](l.CheckUnused(ctx, r.Branch))
	switch end := r.End(); {
	case end == nil:
		return "open", "its run is not over"
	case end.TS.After(before):
		return "recent", fmt.Sprintf("its run ended %s ago, and --older %s spares it", c.Ago(end.TS), f.older)
	case inUse != nil:
		return "inUse", display.Line(inUse.Error())
	case why == "unmerged" && !f.unmerged:
		return why, "not merged; --unmerged removes it"
	}
	return why, ""
}

// filesOf returns the files of a run that is over, and its record. Away: its branch cannot be looked at.
func filesOf(ctx context.Context, c *factory.Factory, f cleanFlags, r runrecords.Record, away bool) (found []Leftover) {
	one := Leftover{RunID: r.Input.RunID, Name: r.Input.Name, Repository: r.Input.Repository.Path, Why: "over"}
	id := string(r.Input.RunID)
	for _, name := range []string{"agents/" + id, "workspaces/" + id, "tmp/" + id, "tmp/" + checkouts.MergeChecks + id, checkouts.Dir + "/" + id} {
		path := filepath.Join(c.RunsDir, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err == nil {
			files := one
			files.Kind, files.Path, files.Bytes = "files", path, bytesIn(path)
			if name == checkouts.Dir+"/"+id && hasOwnChanges(ctx, c, r.Input) {
				files.Kept, files.Stays = true, "it has changes or build output of yours; remove it yourself"
			}
			found = append(found, files)
		}
	}
	record := one
	record.Kind, record.Path, record.Bytes, record.Kept = "record", r.Dir, bytesIn(r.Dir), !f.records
	if away && f.records {
		record.Kept, record.Stays = true, "else nothing here would know of its branch; remove it yourself if that repository is gone for good"
	}
	return append(found, record)
}

// hasOwnChanges reports whether the user has changed the checkout of a run, or may have.
func hasOwnChanges(ctx context.Context, c *factory.Factory, in run.Input) bool {
	tree, err := checkouts.Of(c, in.RunID, in.Repository)
	return err != nil || checkouts.Changed(ctx, tree)
}

// unknownBranches returns the branches below ratchet/ whose runs have no record here: it was removed, or is on another
// host. A run whose repository is away may have its branch in any.
func unknownBranches(ctx context.Context, landed map[string]merge.Landed, records []runrecords.Record) (found []Leftover) {
	known := map[string][]string{} // branches, by the git directory that work trees share; empty: away
	for _, r := range records {
		common := landed[r.Input.Repository.Path].Common()
		known[common] = append(known[common], r.Branch)
	}
	for _, path := range slices.Sorted(maps.Keys(landed)) {
		l := landed[path]
		for _, name := range l.Names {
			if slices.Contains(known[l.Common()], name) || slices.Contains(known[""], name) {
				continue
			}
			known[l.Common()] = append(known[l.Common()], name) // another work tree has it, too
			remove := display.Line(shellquote.Join("git", "-C", path, "branch", "-D", name))
			b := Leftover{Kind: "branch", Path: name, Repository: path, Why: "unknown", Kept: true, Stays: "this host has no record of its run; `" + remove + "` removes it"}
			b.Commit, _ = l.Tip(ctx, name)
			found = append(found, b)
		}
	}
	return found
}

// removeAll removes it. A branch that has moved since is left.
func (l *Leftover) removeAll(ctx context.Context) error {
	switch l.Kind {
	case "branch":
		return merge.RemoveBranch(ctx, l.Repository, l.Path, l.Commit)
	case "record":
		return removeRecord(l.Path)
	}
	return git.RemoveTree(l.Path)
}

// goingPrefix begins the name of a record that is being removed. No id of a run begins so.
const goingPrefix = ".removed-"

// removeRecord removes a record, or the rest of one. A kill leaves no record without its events: the directory has no
// run's name by then.
func removeRecord(dir string) error {
	name := filepath.Base(dir)
	if strings.HasPrefix(name, goingPrefix) {
		return git.RemoveTree(dir)
	}
	going := filepath.Join(filepath.Dir(dir), goingPrefix+name)
	if err := os.Rename(dir, going); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	failpoint.Hit("clean.half-removed")
	return git.RemoveTree(going)
}

// halfRemoved returns the rests of records that an earlier clean was killed in.
func halfRemoved(c *factory.Factory, f cleanFlags) (found []Leftover) {
	workflows := filepath.Join(c.RunsDir, "workflows")
	entries, _ := os.ReadDir(workflows) // runrecords.Read has reported the error
	for _, entry := range entries {
		if id, going := strings.CutPrefix(entry.Name(), goingPrefix); going {
			path := filepath.Join(workflows, entry.Name())
			found = append(found, Leftover{RunID: run.ID(id), Kind: "record", Path: path, Why: "over", Bytes: bytesIn(path), Kept: !f.records})
		}
	}
	return found
}

// bytesIn returns the size of the regular files below a directory.
func bytesIn(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // what cannot be read is not counted
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

func printClean(c *factory.Factory, found []Leftover, f cleanFlags) {
	s := c.Style()
	rows := [][]string{}
	var bytes, kept int64
	removable, stay := 0, 0
	for _, l := range found {
		if l.Kind == "record" && l.Kept && l.Stays == "" {
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
			what = s.Wait("stays: " + l.Stays)
			stay++
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
		rows = append(rows, []string{story.OneLine(l.Name.Shown(l.RunID), 40), l.Kind, story.OneLine(console.NearPath(l.Path), 60), why, size, what})
	}
	c.Printf("%s", terminal.Table(rows))
	if len(rows) == 0 && kept == 0 {
		c.Printf("Nothing is left of runs that ended more than %s ago (--older).\n", f.older)
		return
	}
	verb := "would go, with --yes"
	if f.yes {
		verb = "were to go"
	}
	c.Printf("%s %s: %s", display.Count(removable, "thing", "things"), verb, terminal.Bytes(bytes))
	if stay > 0 {
		c.Printf("; %s", display.Count(stay, "thing stays", "things stay"))
	}
	if kept > 0 {
		c.Printf("; records of these runs have %s, and stay without --records", terminal.Bytes(kept))
	}
	c.Printf("\n")
}
