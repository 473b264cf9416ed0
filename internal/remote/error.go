package remote

import (
	"errors"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/git"
)

// Error says in one line why a server could not be used.
type Error struct {
	URL   string
	Text  string // with the remedy
	Final bool   // no retry mends it
	Err   error  // of git; nil: none was run
}

func (e *Error) Error() string { return display.Line(e.URL) + ": " + e.Text }

func (e *Error) Unwrap() error { return e.Err }

// complaints are the causes that git, ssh and servers name, by their words in the C locale. The first that fits counts.
var complaints = []struct {
	words []string
	text  string
	final bool
}{
	{[]string{"Could not resolve host", "Name or service not known", "Temporary failure in name resolution"},
		"unknown host: check the URL, and that the worker's host can reach it", false},
	{[]string{"Connection refused", "Connection timed out", "Connection reset", "Failed to connect", "Network is unreachable", "No route to host"},
		"the server cannot be reached", false},
	{[]string{"No space left on device", "Disk quota exceeded"},
		"not enough disk space for its mirror in the runs directory: make room, then try again", true},
	{[]string{"Host key verification failed"},
		"the worker's user does not know this host's key: connect once with ssh as that user", true},
	{[]string{"unable to update url base from redirection", "error: 301", "error: 302", "error: 303", "error: 307", "error: 308"},
		"the server leads elsewhere, which is not followed: name the URL that it leads to", true},
	{[]string{"could not read Username", "could not read Password", "Authentication failed", "error: 401", "error: 403", "Permission denied", "denied to ", "not allowed to push", "You are not allowed"},
		"no permission: give the worker's user a credential helper or key that may read and push (docs/remotes.md)", true},
	{[]string{"not found", "error: 404", "does not appear to be a git repository", "does not exist"},
		"no such repository, or no permission to see it", true},
	{[]string{"remote rejected", "pre-receive hook declined", "protected branch"},
		"the server refuses the branch", true},
	{[]string{"Server does not allow request for unadvertised object", "not our ref"},
		"the server gives no commit by its id alone: name a branch or a tag that holds it", true},
	{[]string{"fsck error", "fsckObjects"}, "its objects are malformed", true},
}

// explain returns the error of git as one line with a remedy.
func (m Remote) explain(err error) error {
	failed, ok := errors.AsType[*git.Error](err)
	if !ok || failed.Stderr == "" {
		return err
	}
	var lines []string
	for line := range strings.Lines(failed.Stderr) {
		if !strings.HasPrefix(line, "hint:") {
			lines = append(lines, line)
		}
	}
	said := display.OneLine(strings.Join(lines, ""), 300)
	for _, c := range complaints {
		for _, words := range c.words {
			if strings.Contains(failed.Stderr, words) {
				return &Error{URL: m.URL, Text: c.text + " (git says: " + said + ")", Final: c.final, Err: err}
			}
		}
	}
	return &Error{URL: m.URL, Text: said, Err: err}
}
