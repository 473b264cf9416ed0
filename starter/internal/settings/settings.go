// Package settings reads the decisions that hold for many runs: a user's, in a file of the user's own, and
// a repository's, in a file of its last commit. A user's file that another user can write is refused, and so
// is a file with anything unknown. A repository's file is read as a hostile one: it decides nothing that
// lets more happen than the defaults do.
package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// File is the content of a user's file.
type File struct {
	// Values hold for all repositories.
	Values Values
	// Repositories hold for single repositories, by the absolute path of their top or by their URL.
	Repositories map[string]Values
	// Notices says how the user is notified about runs: the keys of the table notify.
	Notices Values
}

// For returns what holds for a repository: its own settings, and the others beside them.
func (f File) For(repository string) Values {
	all := maps.Clone(f.Values)
	if all == nil {
		all = Values{}
	}
	maps.Copy(all, f.repository(repository))
	return all
}

// repository returns the settings of the repository alone: of the table that names it as it is, else of one whose path
// leads to it by links.
func (f File) repository(path string) Values {
	if v, ok := f.Repositories[path]; ok {
		return v
	}
	for _, named := range slices.Sorted(maps.Keys(f.Repositories)) {
		if real, err := filepath.EvalSymlinks(named); err == nil && real == path {
			return f.Repositories[named]
		}
	}
	return nil
}

// Sandbox returns the policy for the box that holds for all repositories; empty: nothing was decided.
func (f File) Sandbox() run.Sandbox {
	if v, ok := f.Values["sandbox"]; ok {
		return run.Sandbox(v.Texts[0])
	}
	return ""
}

// Path returns the path of the file: ratchet/config.toml in XDG_CONFIG_HOME, or in .config of HOME. It
// is empty if neither is known.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if home := getenv("HOME"); !filepath.IsAbs(dir) && filepath.IsAbs(home) {
		dir = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "ratchet", "config.toml")
}

// Read returns the settings in the file. A file that does not exist holds none. The error is one line,
// with the file and the line of the fault.
func Read(path string) (File, error) {
	f, _, err := read(path)
	return f, err
}

// read is Read, and also returns the bytes that it has checked.
func read(path string) (File, []byte, error) {
	if path == "" {
		return File{}, nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, nil, nil
	}
	if err != nil {
		return File{}, nil, fmt.Errorf("settings: %w", err)
	}
	defer f.Close()
	if err := own.Check(f); err != nil {
		return File{}, nil, fmt.Errorf("settings: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return File{}, nil, fmt.Errorf("settings %s: %w", path, err)
	}
	content, err := decode(path, b, true)
	return content, b, err
}

// own is a file that decides for this user: only the user and root write it. It may be reached by a link.
var own = file.Trust{Closed: 0o022, Root: true}

// RememberSandbox adds the policy to the file, unless the file names one already. It keeps the rest of
// the file as it was checked, and makes a new one readable for this user alone. The policy becomes the
// first line: after a table it would belong to that.
func RememberSandbox(path string, policy run.Sandbox) error {
	s, rest, err := read(path)
	if err != nil || s.Sandbox() != "" {
		return err
	}
	if path == "" {
		return errors.New("settings: cannot find the file: neither HOME nor XDG_CONFIG_HOME is set")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link stays
	}
	line := fmt.Sprintf("sandbox = %q\n", policy)
	if err := file.Replace(path, append([]byte(line), rest...)); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}
