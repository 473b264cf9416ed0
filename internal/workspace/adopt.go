package workspace

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

const maxCommit = 1 << 20 // bytes of a commit that is compared

// isAdopted reports whether the branch stands at a commit that equals p except for its author, committer and
// times: its only parent is the base, and it has the same tree and the same trailers. Workers with
// different clocks make such commits, and so does an engine with a restored database.
func (w *Workspace) isAdopted(ctx context.Context, at standing, in CommitInput, p planned) (bool, error) {
	if !at.isPlain() || at.commit == "" {
		return false, nil
	}
	c, err := w.readCommit(ctx, at.commit)
	if errors.Is(err, git.ErrObject) {
		return false, nil
	}
	return len(c.parents) == 1 && c.parents[0] == in.Base && c.tree == p.tree && sameTrailers(c.message, in.Message), err
}

// commit holds the parsed parts of a commit.
type commit struct {
	tree    git.ID
	parents []run.Commit
	message string
}

// readCommit reads a commit. The result is empty for an object that is no commit or is larger than
// maxCommit.
func (w *Workspace) readCommit(ctx context.Context, id run.Commit) (c commit, err error) {
	o, err := w.objects.Read(ctx, git.ID(id), maxCommit)
	if err != nil || o.Kind != git.Commit || o.Size > maxCommit {
		return c, err
	}
	head, message, _ := strings.Cut(string(o.Content), "\n\n")
	for line := range strings.Lines(head) {
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name {
		case "tree":
			c.tree = git.ID(value)
		case "parent":
			c.parents = append(c.parents, run.Commit(value))
		}
	}
	c.message = message
	return c, nil
}

var trailer = regexp.MustCompile(`^[A-Za-z0-9-]+: .`)

// sameTrailers reports whether two messages end in the same trailers. Messages without trailers do
// not.
func sameTrailers(a, b string) bool {
	ta, tb := trailerLines(a), trailerLines(b)
	return len(ta) > 0 && slices.Equal(ta, tb)
}

// trailerLines returns the lines of the last paragraph when all of them are trailers.
func trailerLines(message string) []string {
	message = strings.TrimSpace(message)
	lines := strings.Split(message[strings.LastIndex(message, "\n\n")+1:], "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	if slices.ContainsFunc(lines, func(l string) bool { return !trailer.MatchString(l) }) {
		return nil
	}
	return lines
}
