package merge

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Landed is what the branches of the user's hold of runs.
type Landed struct {
	Runs map[run.ID]bool // those with commits there, which no later commit has undone
	// Undone holds the commits that have undone the merge of a run since it was merged last.
	Undone map[run.ID]run.Commit
	Names  []string     // the branches below ratchet/, which are of runs
	heads  []run.Commit // the last commits of runs that were merged
	refs   []string     // the branches
	at     place
}

// FindLanded looks at the branches of a repository other than the branches of runs: the given ones, and all
// below ratchet/. It knows commits of runs by their trailers, whoever has merged them.
func FindLanded(ctx context.Context, repository string, ofRuns []string) (Landed, error) {
	l := Landed{Runs: map[run.ID]bool{}, Undone: map[run.ID]run.Commit{}}
	var err error
	if l.at, err = locateRepository(ctx, repository); err != nil {
		return l, err
	}
	out, err := l.at.repo.Run(ctx, "for-each-ref", "--format=%(refname)", "refs/heads/")
	if err != nil {
		return l, err
	}
	for line := range strings.Lines(string(out)) {
		ref := strings.TrimSuffix(line, "\n")
		name := strings.TrimPrefix(ref, "refs/heads/")
		switch {
		case strings.HasPrefix(name, "ratchet/"):
			l.Names = append(l.Names, name)
		case !slices.Contains(ofRuns, name):
			l.refs = append(l.refs, ref)
		}
	}
	if len(l.refs) == 0 {
		return l, nil
	}
	out, err = l.at.repo.Run(ctx, append(append([]string{"log", "--format=%H%x00%(trailers:key=Ratchet-Run,valueonly,separator=%x2C)%x00%(trailers:key=" + headTrailer + ",valueonly,separator=%x2C)%x00%(trailers:key=" + undoneTrailer + ",valueonly,separator=%x2C)",
		"--grep=^Ratchet-Run: ", "--grep=^" + undoneTrailer + ": "}, l.refs...), "--")...)
	if err != nil {
		return l, err
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(f) != 4 {
			continue
		}
		for id := range strings.SplitSeq(f[1], ",") {
			if id := run.ID(id); l.Undone[id] == "" {
				l.Runs[id] = true
			}
		}
		if git.ID(f[2]).Valid() {
			l.heads = append(l.heads, run.Commit(f[2]))
		}
		for id := range strings.SplitSeq(f[3], ",") {
			if id := run.ID(id); id != "" && !l.Runs[id] && l.Undone[id] == "" {
				l.Undone[id] = run.Commit(f[0])
			}
		}
	}
	return l, nil
}

// Common returns the git directory that all work trees of the repository share.
func (l Landed) Common() string { return l.at.common }

// Has reports whether nothing is lost with a branch that is at the commit, which exists: a branch of the user's has it,
// or the merge of a run that ends in it or continues from it.
func (l Landed) Has(ctx context.Context, commit run.Commit) (bool, error) {
	if slices.Contains(l.heads, commit) {
		return true, nil
	}
	var revisions, out bytes.Buffer
	fmt.Fprintln(&revisions, commit)
	for _, ref := range l.refs {
		fmt.Fprintln(&revisions, "^"+ref)
	}
	for _, head := range l.heads {
		fmt.Fprintln(&revisions, "^"+head)
	}
	// A head that git has removed since is passed over.
	err := l.at.repo.Do(ctx, git.Command{Args: []string{"rev-list", "--max-count=1", "--ignore-missing", "--stdin"}, Stdin: &revisions, Stdout: &out})
	return err == nil && out.Len() == 0, err
}

// Standing says where the commits of a run are, and where a merge would bring them.
type Standing struct {
	Into   string // the branch that the work tree has checked out; empty: none is
	Branch string // of the user's, with commits of the run: Into if that has them; empty: none has
	Undone string // of the user's, on which the merge of the run was undone; Branch is empty then
	// At is the time of the last of the commits, or of the one that undid them.
	At time.Time
}

// Standing looks for the commits of a run on the branches of the user's.
func (l Landed) Standing(ctx context.Context, id run.ID) (s Standing, err error) {
	if s.Into, err = l.at.headBranch(ctx); err != nil {
		return s, err
	}
	if undo := l.Undone[id]; undo != "" {
		s.Undone, s.At, err = l.branchAndTime(ctx, s.Into, undo)
		return s, err
	}
	if !l.Runs[id] {
		return s, nil
	}
	args := []string{"log", "--max-count=1", "--format=%H", "--grep=^Ratchet-Run: " + regexp.QuoteMeta(string(id)) + "$"}
	out, err := l.at.repo.Run(ctx, append(append(args, l.refs...), "--")...)
	if err != nil {
		return s, err
	}
	s.Branch, s.At, err = l.branchAndTime(ctx, s.Into, run.Commit(strings.TrimSpace(string(out))))
	return s, err
}

// branchAndTime returns a branch of the user's with a commit, the given one if it is among them, and the time of the
// commit.
func (l Landed) branchAndTime(ctx context.Context, into string, commit run.Commit) (branch string, at time.Time, err error) {
	out, err := l.at.repo.Run(ctx, "show", "--no-patch", "--format=%ct", string(commit), "--")
	if err != nil {
		return "", at, err
	}
	unix, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return "", at, fmt.Errorf("read the time of commit %s: %w", commit, err)
	}
	out, err = l.at.repo.Run(ctx, "for-each-ref", "--format=%(refname)", "--contains="+string(commit), "refs/heads/")
	for line := range strings.Lines(string(out)) {
		ref := strings.TrimSuffix(line, "\n")
		name := strings.TrimPrefix(ref, "refs/heads/")
		if slices.Contains(l.refs, ref) && (branch == "" || name == into) {
			branch = name
		}
	}
	return branch, time.Unix(unix, 0), err
}

// CheckUnused returns a *git.InUseError if a work tree uses the branch.
func (l Landed) CheckUnused(ctx context.Context, branch string) error {
	return l.at.repo.CheckUnused(ctx, "refs/heads/"+branch)
}

// Tip returns the commit of a branch; empty if there is no such branch.
func (l Landed) Tip(ctx context.Context, branch string) (run.Commit, error) {
	out, err := l.at.repo.Run(ctx, "rev-parse", "--verify", "-q", "refs/heads/"+branch)
	if git.ExitCode(err) == 1 {
		return "", nil
	}
	return run.Commit(strings.TrimSpace(string(out))), err
}
