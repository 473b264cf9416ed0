package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// inputs are the names below <dir>/.pi that pi asks trust for. A bare .pi does not count, and
// neither do AGENTS.md and CLAUDE.md.
var inputs = []string{"settings.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md"}

// Look gathers the facts about a directory. A trust store that cannot be read, or a file that is
// not a trust store, is an error and no decision.
func Look(d citizen.Dirs, dir string) (Facts, error) {
	dir, err := canonicalPath(dir)
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Dir: dir, Inputs: hasInputs(dir, d.Home)}
	saved, err := readStore(d.Trust)
	if err != nil {
		return Facts{}, err
	}
	f.Saved, f.SavedAt = nearestDecision(saved, dir)
	for _, root := range d.PrefixRoots {
		if root, err := canonicalPath(root); err == nil && coversDir(root, dir) {
			f.Root = root
			break
		}
	}
	return f, nil
}

// canonicalPath returns the absolute path without symlinks. A path that does not exist stays as it is,
// because a root that is missing covers nothing.
func canonicalPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	return abs, nil
}

// readStore returns pi's decisions by canonical directory; null is no decision.
func readStore(path string) (map[string]*bool, error) {
	b, err := file.Read(path, file.MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var saved map[string]*bool
	if err == nil {
		err = json.Unmarshal(b, &saved)
	}
	if err == nil && saved == nil {
		err = errors.New("not a JSON object")
	}
	if err != nil {
		return nil, fmt.Errorf("trust store %s: %w", path, err)
	}
	return saved, nil
}

func nearestDecision(saved map[string]*bool, dir string) (SavedTrust, string) {
	for at := range dirsUpwards(dir) {
		if trusted := saved[at]; trusted != nil {
			if *trusted {
				return Trusted, at
			}
			return Distrusted, at
		}
	}
	return Undecided, ""
}

// hasInputs reports whether the directory brings something that pi asks trust for. Besides inputs,
// it looks for .agents/skills in the directory and all above it, except in the user's home.
func hasInputs(dir, home string) bool {
	for _, name := range inputs {
		if mayExist(filepath.Join(dir, ".pi", name)) {
			return true
		}
	}
	own, err := canonicalPath(home)
	for at := range dirsUpwards(dir) {
		if (err != nil || at != own) && mayExist(filepath.Join(at, ".agents", "skills")) {
			return true
		}
	}
	return false
}

// mayExist reports whether something is at path, or may be: an error proves nothing.
func mayExist(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// dirsUpwards yields a directory and all above it.
func dirsUpwards(dir string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for yield(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
	}
}
