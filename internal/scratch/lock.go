package scratch

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// lockDir makes Dir and locks it: it admits one call at a time, over all processes. The lock is free
// when the last holder has closed the file.
func (s *Scratch) lockDir(ctx context.Context) (*os.File, error) {
	for {
		if err := os.MkdirAll(s.spec.Dir, 0o700); err != nil {
			return nil, err
		}
		f, err := git.Lock(ctx, filepath.Join(s.spec.Dir, lockName))
		if !errors.Is(err, os.ErrNotExist) { // as when its holder removes it with Dir
			return f, err
		}
	}
}
