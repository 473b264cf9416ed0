package child

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Home is a directory that a client keeps for its user. A session in a box has one of its own in the place of it.
type Home struct {
	Dir string
	// Settings are patterns of the names in Dir that the session sees, read-only, besides texts and programs: see
	// shown. Another name is not there, whatever a later version of the client makes of it.
	Settings []string
	// Logins are the names of files of credentials. The session has copies of them.
	Logins []string
	// Kept are patterns of the names that stay in the session's own directory for its next process: transcripts.
	Kept []string
}

// DirOf returns the directory that a variable names, or one below HOME.
func (c *Client) DirOf(values map[string]string, variable, dir string) string {
	if path := values[variable]; path != "" {
		return c.AbsolutePath(variable, path)
	}
	return filepath.Join(c.AbsolutePath("HOME", values["HOME"]), dir)
}

// AbsolutePath returns the clean path that a variable names. One that is not absolute would be a place in the worker's own
// directory: the client is refused then.
func (c *Client) AbsolutePath(variable, path string) string {
	if !filepath.IsAbs(path) && c.refused == nil {
		c.refused = fmt.Errorf("%s=%s is not an absolute path: set it to one", variable, path)
	}
	return filepath.Clean(path)
}

// AddHome adds a directory, unless it is there already.
func (c *Client) AddHome(h Home) {
	if !slices.ContainsFunc(c.Homes, func(other Home) bool { return other.Dir == h.Dir }) {
		c.Homes = append(c.Homes, h)
	}
}
