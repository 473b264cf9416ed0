package forge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Basis names the branch of a ticket.
type Basis struct {
	Ticket Ticket     `json:"ticket"`
	Pull   int        `json:"pull"`
	Branch string     `json:"branch"`
	Head   run.Commit `json:"head"` // of the branch
	// Push sets the branch to a merge without conflicts. Otherwise a run begins at it, and pushes both.
	Push bool `json:"push,omitempty"`
}

// Joined is the result of MergeBase.
type Joined struct {
	Base string `json:"base"` // the branch to merge into
	// Commit has the commits of both branches. It is empty if there is nothing to merge.
	Commit run.Commit `json:"commit,omitempty"`
	// Conflicts are the files in which Commit has the marks of conflicts. It is not pushed.
	Conflicts []string `json:"conflicts,omitempty"`
	// Problem says why there is no such commit, although both branches have changed.
	Problem string `json:"problem,omitempty"`
}

// MergeBase merges the base branch of a pull request, as it is on the server, into the branch of its ticket: by a commit with
// two parents, never by a rebase. The commit lies in the user's repository. A second call makes the same commit, or finds
// the one that was pushed.
func (a *Activities) MergeBase(ctx context.Context, in Basis) (out Joined, err error) {
	defer beat(ctx)()
	client, err := a.clientOf(in.Ticket.Repository)
	if err != nil {
		return out, a.activityError(err)
	}
	p, err := client.Pull(ctx, in.Pull)
	if err != nil {
		return out, a.activityError(err)
	}
	out.Base = p.Base
	at, err := a.locateAt(ctx, in.Ticket.Input.Repository.Path, in.Ticket.Remote, in.Head)
	if err != nil {
		return out, a.activityError(err)
	}
	defer at.close()
	there, err := at.remote.Branches(ctx, at.shadow, in.Branch, p.Base)
	switch stands := there[in.Branch]; {
	case err != nil:
		return out, a.activityError(err)
	case !p.Open:
		return out, nil
	case stands != string(in.Head): // the merge of an earlier attempt, or a person's commits, which the ticket asks about
		out.Commit, err = at.ownMerge(ctx, in, stands)
		return out, a.activityError(err)
	}
	if err := at.join(ctx, in, there[p.Base], &out); err != nil || out.Commit == "" || len(out.Conflicts) > 0 || !in.Push {
		return out, a.activityError(err)
	}
	err = at.remote.Push(ctx, at.shadow, in.Branch, string(out.Commit), string(in.Head))
	failpoint.Hit("ticket.merged")
	if errors.Is(err, remote.ErrMoved) { // the ticket asks
		return Joined{Base: p.Base}, nil
	}
	if err != nil {
		err = pushError(at.repo, err)
	}
	return out, a.activityError(err)
}

// join makes the commit that merges a commit of the server into the branch.
func (p place) join(ctx context.Context, in Basis, theirs string, out *Joined) error {
	if theirs == "" {
		return refusedf("%s has no branch %s to merge into any more: restore it", p.repo, out.Base)
	}
	if err := p.bring(ctx, out.Base, theirs, in.Head); err != nil {
		return err
	}
	if p.isAncestor(ctx, theirs, string(in.Head)) {
		return nil
	}
	said, err := p.shadow.Run(ctx, "merge-tree", "--write-tree", "-z", "--name-only", string(in.Head), theirs)
	if code := git.ExitCode(err); err != nil && code != 1 {
		return fmt.Errorf("merge %s: %w", out.Base, err)
	}
	tree, conflicts, problem := readMerge(said)
	if out.Problem = problem; problem != "" {
		return nil
	}
	out.Conflicts = conflicts
	out.Commit, err = p.commitMerge(ctx, tree, in, theirs, out.Base)
	return err
}

// bring fetches a branch of the server unless the user's repository has its commit.
func (p place) bring(ctx context.Context, branch, commit string, have run.Commit) error {
	if _, err := p.shadow.Run(ctx, "cat-file", "-e", commit+"^{commit}"); err == nil {
		return nil
	}
	return p.remote.Bring(ctx, p.shadow, branch, string(have))
}

// readMerge reads what git merge-tree -z --name-only says: the tree, the files with conflicts, and, after an empty name,
// messages of a number of paths, the paths, a type and a text each.
func readMerge(said []byte) (tree string, conflicts []string, problem string) {
	fields := strings.Split(strings.TrimSuffix(string(said), "\x00"), "\x00")
	tree, fields = fields[0], fields[1:]
	for len(fields) > 0 && fields[0] != "" {
		conflicts, fields = append(conflicts, fields[0]), fields[1:]
	}
	for fields = fields[min(1, len(fields)):]; len(fields) > 0; {
		paths := 0
		if _, err := fmt.Sscan(fields[0], &paths); err != nil || paths < 0 || len(fields) < paths+3 {
			return tree, conflicts, "git's answer to the merge is not understood"
		}
		kind, text := fields[paths+1], fields[paths+2]
		// Of these both sides are in the file, between marks. Of others one side is missing there, without a mark.
		if strings.HasPrefix(kind, "CONFLICT") && !slices.Contains([]string{"CONFLICT (contents)", "CONFLICT (add/add)"}, kind) && problem == "" {
			problem = display.OneLine(text, 300)
		}
		fields = fields[paths+3:]
	}
	return tree, slices.Compact(conflicts), problem
}

// commitMerge writes the commit of a merge. Its author and its date are fixed: made again it is the same.
func (p place) commitMerge(ctx context.Context, tree string, in Basis, theirs, base string) (run.Commit, error) {
	said, err := p.shadow.Run(ctx, "show", "-s", "--format=%ct", string(in.Head), theirs)
	if err != nil {
		return "", err
	}
	at := int64(0)
	for _, word := range strings.Fields(string(said)) {
		t := int64(0)
		if _, err := fmt.Sscan(word, &t); err != nil {
			return "", err
		}
		at = max(at, t)
	}
	by := fmt.Sprintf("%s <%s> %d +0000", git.Name, git.Email, at)
	text := fmt.Sprintf("tree %s\nparent %s\nparent %s\nauthor %s\ncommitter %s\n\n%s\n", tree, in.Head, theirs, by, by, mergeSubject(base, in.Branch))
	var id strings.Builder
	if err := p.shadow.Do(ctx, git.Command{Args: []string{"hash-object", "-t", "commit", "-w", "--stdin"}, Stdin: strings.NewReader(text), Stdout: &id}); err != nil {
		return "", err
	}
	return run.Commit(strings.TrimSpace(id.String())), nil
}

func mergeSubject(base, branch string) string {
	return fmt.Sprintf("Merge branch '%s' into %s", base, branch)
}

// ownMerge returns the commit at which the branch stands if it is a merge that MergeBase has pushed; empty: it is not.
func (p place) ownMerge(ctx context.Context, in Basis, stands string) (run.Commit, error) {
	if stands == "" {
		return "", nil
	}
	if err := p.bring(ctx, in.Branch, stands, in.Head); err != nil {
		return "", err
	}
	said, err := p.shadow.Run(ctx, "show", "-s", "--format=%P%n%an <%ae>%n%s", stands)
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(said), "\n")
	parents := strings.Fields(lines[0])
	if len(parents) == 2 && parents[0] == string(in.Head) && lines[1] == git.Name+" <"+git.Email+">" && strings.HasPrefix(lines[2], "Merge branch ") {
		return run.Commit(stands), nil
	}
	return "", nil
}
