package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Tracked returns the path, relative to the directory around it, of a file that git has checked out at a directory
// or in it: the directory is in a work tree, or is one, and the index has a link there, a submodule or a file below.
// It returns "" if there is none. Letters of the directory's own name count as equal in both cases, as they are on
// some file systems.
func Tracked(ctx context.Context, dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	around, base := filepath.Split(abs)
	name, err := firstTracked(ctx, around, "--no-literal-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "ls-files", "-z", "./"+base)
	if name != "" || err != nil {
		return name, err
	}
	if name, err = firstTracked(ctx, abs, "ls-files", "-z"); name != "" { // the directory is a work tree, or a link into one
		name = filepath.Join(base, name)
	}
	return name, err
}

// firstTracked returns the first name that git lists in a directory. It returns "" where no work tree is.
func firstTracked(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := Repo{Dir: dir}.Run(ctx, args...)
	name, _, listed := strings.Cut(string(out), "\x00")
	failed, _ := errors.AsType[*Error](err)
	switch {
	case listed: // and perhaps more than is read
		return name, nil
	case errors.Is(err, ErrNotRepository), failed != nil && strings.Contains(failed.Stderr, "must be run in a work tree"):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for tracked files in %s: %w", dir, err)
	}
	return "", nil
}
