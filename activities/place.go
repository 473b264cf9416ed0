package activities

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// place is where checks run: the top of a work tree, the directory in it that they run in, their home, and the
// directory of what they build in the box.
type place struct {
	top, dir, home, layers string
	exact                  bool // the tree holds the files of the commit alone
}

// placeIn returns a place with home and layers in a directory.
func placeIn(own, top, dir string) place {
	return place{top: top, dir: dir, home: filepath.Join(own, "home"), layers: filepath.Join(own, "built")}
}

// runsOwn is a file beside the layers of a run, where no box shows it. It says that checks have run there on
// what a run has made.
const runsOwn = "runs-own"

// markRunsOwn notes, before checks begin, that they run on what a run has made.
func (p place) markRunsOwn() error {
	if err := os.MkdirAll(p.layers, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.layers, runsOwn), nil, 0o600)
}

// isRunsOwn reports whether checks have run there on what a run has made.
func (p place) isRunsOwn() (bool, error) {
	_, err := os.Lstat(filepath.Join(p.layers, runsOwn))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// removeLeftovers removes all that checks have left, where they have run on what a run has made: the verdict on a
// commit does not hang on what the code of another commit wrote into the home, the caches or the tree. What
// the checks on a commit of the user's have left stays, so that the first patch begins warm. The mark stays, and a
// second call removes what the first, killed, has left.
func (p place) removeLeftovers(ctx context.Context, w *workspace.Workspace) error {
	own, err := p.isRunsOwn()
	if err != nil || !own {
		return err
	}
	for _, dir := range []string{p.home, p.cache(), p.private()} {
		if err := git.RemoveTree(dir); err != nil {
			return err
		}
	}
	return w.Clear(ctx)
}

// cache returns the directory of the caches that the checks see.
func (p place) cache() string { return filepath.Join(p.layers, "cache") }

// private returns the directory of what the checks have written over the layers of the repository.
func (p place) private() string { return filepath.Join(p.layers, "layers") }
