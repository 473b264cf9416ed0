package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// find is the absolute path of the client's program. The error names every
// place that was looked at.
func (a *adapter) find() (string, error) {
	name := a.Binary
	if name == "" {
		name = "claude"
	}
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(name)
		if err != nil {
			return "", fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
		}
		if !executable(path) {
			return "", fmt.Errorf("%w: no executable file %s", agent.ErrUnavailable, path)
		}
		return path, nil
	}
	var tried []string
	for _, dir := range filepath.SplitList(valueOf(a.Environ, "PATH")) {
		if !filepath.IsAbs(dir) { // what runs must not depend on where we are
			continue
		}
		path := filepath.Join(dir, name)
		if executable(path) {
			return path, nil
		}
		tried = append(tried, path)
	}
	return "", fmt.Errorf("%w: no %s on PATH: looked for %s", agent.ErrUnavailable, name, strings.Join(tried, ", "))
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// valueOf is the last entry of that name.
func valueOf(env []string, name string) string {
	var found string
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			found = v
		}
	}
	return found
}
