package rundir

import (
	"path/filepath"
)

// DefaultDir returns the runs directory of a user who names none: ratchet in XDG_STATE_HOME, or in .local/state of
// HOME. It is the same in every working directory. It is empty if neither variable holds an absolute path.
// Source of the rule: the XDG Base Directory Specification.
func DefaultDir(getenv func(string) string) string {
	state := getenv("XDG_STATE_HOME")
	if home := getenv("HOME"); !filepath.IsAbs(state) && filepath.IsAbs(home) {
		state = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(state) {
		return ""
	}
	return filepath.Join(state, "ratchet")
}
