package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// ErrLacks reports a repository that lacks objects of the commit that a run would start from.
var ErrLacks = errors.New("objects are missing")

// checkWhole refuses a commit with missing files or directories, as in a partial clone: a run fetches
// nothing. The history of the commit does not count.
func (p place) checkWhole(ctx context.Context, commit run.Commit) error {
	repo, lacks := p.repo, lacking{atStart: true}
	repo.Timeout = checkoutTimeout
	err := repo.Do(ctx, git.Command{
		Args:   []string{"rev-list", "--objects", "--no-walk", "--missing=print", "--no-object-names", string(commit)},
		Stdout: &lacks,
	})
	switch {
	case errors.Is(err, git.ErrObject):
		return fmt.Errorf("%w from commit %.12s, or damaged (%w): run git fsck, or use a full clone", ErrLacks, commit, err)
	case err != nil || lacks.count == 0:
		return err
	case p.isPartial(ctx):
		return fmt.Errorf("%w from commit %.12s (%d), because this is a partial clone: get them with git fetch --refetch --no-filter, or use a full clone",
			ErrLacks, commit, lacks.count)
	}
	return fmt.Errorf("%w from commit %.12s (%d): run git fsck, or use a full clone", ErrLacks, commit, lacks.count)
}

// isPartial reports whether the repository is a partial clone, which leaves objects with another
// repository.
func (p place) isPartial(ctx context.Context) bool {
	out, err := p.repo.Run(ctx, "config", "--get-regexp", `^(extensions\.partialclone|remote\..*\.promisor)$`)
	return err == nil && len(out) > 0
}

// lacking counts the lines that begin with a question mark. Each names an object that git-rev-list
// misses.
type lacking struct {
	count   int
	atStart bool // at the start of a line
}

func (l *lacking) Write(p []byte) (int, error) {
	if l.atStart && bytes.HasPrefix(p, []byte("?")) {
		l.count++
	}
	l.count += bytes.Count(p, []byte("\n?"))
	l.atStart = bytes.HasSuffix(p, []byte("\n"))
	return len(p), nil
}
