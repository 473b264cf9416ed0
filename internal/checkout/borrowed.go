package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxBorrowed bounds the chain of repositories that borrow from each other; git's own bound is 5.
const maxBorrowed = 16

// Borrowed returns the directories of objects that a git directory borrows, and that those borrow in
// turn. It believes the git directory: call it before a foreign program could write there. It leaves
// out directories that do not exist, and names in quotes.
func Borrowed(gitDir string) ([]string, error) {
	var found []string
	for next := []string{filepath.Join(gitDir, "objects")}; len(next) > 0 && len(found) < maxBorrowed; next = next[1:] {
		text, err := os.ReadFile(filepath.Join(next[0], "info", "alternates"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			dir := strings.TrimSuffix(line, "\n")
			if dir == "" || strings.HasPrefix(dir, "#") || strings.HasPrefix(dir, `"`) {
				continue
			}
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(next[0], dir)
			}
			dir = filepath.Clean(dir)
			if info, err := os.Stat(dir); err == nil && info.IsDir() && !slices.Contains(found, dir) {
				found, next = append(found, dir), append(next, dir)
			}
		}
	}
	return found, nil
}
