package git

import (
	"bytes"
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
	name, err := findTracked(ctx, around, func(name string) bool {
		first, _, _ := strings.Cut(name, "/")
		return strings.EqualFold(first, base)
	})
	if name != "" || err != nil {
		return name, err
	}
	// The directory can be a work tree itself, or a link into one.
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	name, err = findTracked(ctx, real, func(string) bool { return true })
	if name != "" {
		name = filepath.Join(base, name)
	}
	return name, err
}

// findTracked returns the first name in the index, below a directory and relative to it, that matches. It returns
// "" where no work tree is.
func findTracked(ctx context.Context, dir string, match func(name string) bool) (string, error) {
	r := Repo{Dir: dir}
	inside, err := r.Run(ctx, "rev-parse", "--is-inside-work-tree")
	switch {
	case errors.Is(err, ErrNotRepository), err == nil && string(bytes.TrimSpace(inside)) != "true":
		return "", nil
	case err != nil:
		return "", fmt.Errorf("does git track anything in %s: %w", dir, err)
	}
	names := matcher{match: match}
	if err := r.Do(ctx, Command{Args: []string{"ls-files", "-z"}, Stdout: &names}); err != nil && names.found == "" {
		return "", fmt.Errorf("does git track anything in %s: %w", dir, err)
	}
	return names.found, nil
}

// matcher looks for a name among names that end in a zero byte.
type matcher struct {
	match func(name string) bool
	rest  []byte // the beginning of a name
	found string
}

// errFound ends the output after the first match.
var errFound = errors.New("found")

func (m *matcher) Write(p []byte) (int, error) {
	m.rest = append(m.rest, p...)
	for {
		name, rest, whole := bytes.Cut(m.rest, []byte{0})
		if !whole {
			return len(p), nil
		}
		if m.match(string(name)) {
			m.found = string(name)
			return len(p), errFound
		}
		m.rest = rest
	}
}
