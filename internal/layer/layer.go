// Package layer keeps the files that the checks of a repository have built and downloaded, for later runs on the
// same repository. A layer is a directory that boxes see, read-only, below a writable layer of their own. The caller
// of Keep must ensure that its contents come from checks on a commit that the user already has.
package layer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/git"
)

// The bounds of a layer. One that has grown beyond them starts again.
const (
	maxFiles = 1 << 20
	maxBytes = 8 << 30
)

// patience is how long Keep waits for the boxes that see the layer.
const patience = 2 * time.Second

// Layer is one layer, at a directory of that name. Its lock is beside it.
type Layer struct{ dir string }

// At returns the layer in a directory of the runs directory.
func At(dir, name string) Layer { return Layer{filepath.Join(dir, name)} }

// Use makes the layer if it does not exist, and keeps it as it is until release. A box may see the
// directory until then.
func (l Layer) Use() (dir string, release func(), err error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("layer: %w", err)
	}
	lock, err := l.lock(unix.LOCK_SH)
	if err != nil {
		return "", nil, err
	}
	return l.dir, func() { lock.Close() }, nil
}

// ErrBusy reports that others see the layer.
var ErrBusy = errors.New("the layer is in use")

func (l Layer) lock(how int) (*os.File, error) {
	f, err := os.OpenFile(l.dir+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := file.WaitLock(ctx, f, how); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return f, nil
}

// Keep moves what an overlay has received into the layer, unless a process uses the layer: then the error
// matches ErrBusy, and nothing has changed. No process may write to upper any more. A directory that the layer
// does not have is moved as a whole, so that no tool sees a half of it. If a call is killed, the next one moves the
// rest.
func (l Layer) Keep(ctx context.Context, upper string) error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("layer: %w", err)
	}
	lock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	// One root above both: the names below come from a hostile program, and no link leads out of it.
	common, from, to, err := deepestShared(upper, l.dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(common)
	if err != nil {
		return fmt.Errorf("layer: %w", err)
	}
	defer root.Close()
	if err := moveEntries(ctx, root, from, to); err != nil {
		return fmt.Errorf("keep in %s: %w", l.dir, err)
	}
	return l.removeIfTooLarge(root, to)
}

// deepestShared returns the deepest directory that holds both paths, and the rest of each.
func deepestShared(a, b string) (common, restA, restB string, err error) {
	common = filepath.Dir(a)
	for {
		rest, err := filepath.Rel(common, b)
		if err == nil && filepath.IsLocal(rest) && rest != "." {
			restA, err := filepath.Rel(common, a)
			return common, restA, rest, err
		}
		if common == filepath.Dir(common) {
			return "", "", "", fmt.Errorf("layer: %s and %s have no directory in common", a, b)
		}
		common = filepath.Dir(common)
	}
}

// moveEntries moves the entries of one directory into another. It leaves anything but files, directories and links,
// such as the mark by which an overlay hides a file.
func moveEntries(ctx context.Context, root *os.Root, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, dir := range []string{from, to} {
		if err := root.Chmod(dir, 0o700); err != nil { // tools make directories that cannot be written
			return err
		}
	}
	entries, err := fs.ReadDir(root.FS(), from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		a, b := path.Join(from, e.Name()), path.Join(to, e.Name())
		there, err := root.Lstat(b)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case e.IsDir() && err == nil && there.IsDir():
			if err := moveEntries(ctx, root, a, b); err != nil {
				return err
			}
			continue
		case !e.IsDir() && !e.Type().IsRegular() && e.Type() != fs.ModeSymlink:
			continue
		case err == nil:
			if err := git.RemoveAll(root, b); err != nil {
				return err
			}
		}
		if e.IsDir() {
			if err := root.Chmod(a, 0o700); err != nil { // to give it another parent
				return err
			}
		}
		if err := root.Rename(a, b); err != nil {
			return err
		}
	}
	return nil
}

// removeIfTooLarge removes the content of a layer that has grown beyond the bounds.
func (l Layer) removeIfTooLarge(root *os.Root, to string) error {
	var files, bytes int64
	err := fs.WalkDir(root.FS(), to, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			files, bytes = files+1, bytes+info.Size()
		}
		if files > maxFiles || bytes > maxBytes {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || files <= maxFiles && bytes <= maxBytes {
		return nil // a directory that cannot be read is the tool's
	}
	if err := git.RemoveAll(root, to); err != nil {
		return fmt.Errorf("layer: %w", err)
	}
	return root.MkdirAll(to, 0o700)
}
