package git

import (
	"os"
	"path/filepath"
	"strings"
)

// LinkedTree returns the top of the linked work tree that has its git directory at dir. Git does not report it where the
// configuration that all work trees share says that the repository is bare.
func LinkedTree(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	if err != nil {
		return "", err
	}
	file := strings.TrimSuffix(string(text), "\n")
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	return filepath.Dir(file), nil
}
