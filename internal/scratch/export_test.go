package scratch

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
)

// Base is the tree that changes are proved on.
func (s *Scratch) Base(ctx context.Context) (patch.Tree, func() error, error) {
	index, err := s.loadIndex()
	if err != nil {
		return nil, nil, err
	}
	objects := git.NewObjects(git.Repo{Dir: s.pathOf(shadowName), GitDir: s.pathOf(shadowName)})
	return base{ctx: ctx, index: index, prefix: s.spec.Prefix, objects: objects, most: 64 << 20}, objects.Close, nil
}

// OpenFile and ListDir are how the tree is read, when something else has taken the place
// of what was looked at.
func OpenFile(tree *os.Root, name string) error {
	f, _, err := openRegular(tree, name)
	if err != nil {
		return err
	}
	return f.Close()
}

func ListDir(tree *os.Root, name string) error {
	_, err := listDirectory(tree, name, 10)
	return err
}

// ShortenIgnore bounds the look for ignored names until the test ends.
func ShortenIgnore(t *testing.T, limit time.Duration) {
	was := ignoreTimeout
	ignoreTimeout = limit
	t.Cleanup(func() { ignoreTimeout = was })
}
