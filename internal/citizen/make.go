package citizen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/git"
)

// Make makes the directories of the registry that are missing, for this user alone. It refuses a registry in
// which anyone but this user can put files: sessions act upon its files. Another user owns or can write one
// of the directories or a directory above, or git has checked out files in one, as of a repository that a
// variable leads into. The error is one line with the remedy. A second call changes nothing.
func (d Dirs) Make(ctx context.Context) error {
	for _, dir := range []string{d.Sessions, d.Mailboxes, d.Senders, d.Receivers, d.Sockets} {
		if err := makeOwn(ctx, dir); err != nil {
			return fmt.Errorf("the registry of sessions: %w", err)
		}
	}
	return nil
}

func makeOwn(ctx context.Context, dir string) error {
	there, err := nearestDir(dir)
	if err != nil {
		return err
	}
	if err := checkAbove(there); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := checkAbove(dir); err != nil { // a link or another directory may have taken its place
		return err
	}
	if err := file.CheckDir(dir); err != nil {
		return err
	}
	name, err := git.Tracked(ctx, dir)
	if err != nil {
		return err
	}
	if name != "" {
		return fmt.Errorf("git has checked out %q in %s, so the author of a repository may have written it: set the variable for this directory to another one", name, dir)
	}
	return nil
}

// nearestDir returns the directory, or the nearest one above it that is there.
func nearestDir(dir string) (string, error) {
	for {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			dir = filepath.Dir(dir)
			continue
		case err != nil:
			return "", err
		case info.Mode()&os.ModeSymlink != 0:
			if _, err := os.Stat(dir); err != nil {
				return "", fmt.Errorf("%s is a broken link: remove it, or create the directory", dir)
			}
		case !info.IsDir():
			return "", fmt.Errorf("%s is not a directory: move it away", dir)
		}
		return dir, nil
	}
}

// checkAbove refuses a directory that others could move away or replace: its real path leads through a
// directory that belongs to another user but root, or that others can write without a sticky bit.
func checkAbove(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSticky == 0 || at == real {
			if err := file.CheckDir(at); err != nil {
				return err
			}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
