package conduct

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Rules decide about the tool calls for which an agent asks.
type Rules struct {
	Dir     string // the agent's checkout, whose files it may change unasked
	Tools   run.Tools
	Permits []run.Permit
	// Spent reports whether a permit for one call has let it through already.
	Spent func(run.Permit) bool
}

// Decide answers a request by a permit or the policy. Known is false if a person must decide. Used is the
// permit that decided; the caller must remember that it is spent before the agent learns of it.
func (r Rules) Decide(asked agent.Permission) (d agent.PermissionDecision, used *run.Permit, known bool) {
	d = agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Deny}
	if p := r.findPermit(asked); p != nil {
		d.Reason = p.Reason
		switch {
		case p.Allow && p.Session:
			d.Verdict = agent.AllowSession
		case p.Allow:
			d.Verdict = agent.Allow
		}
		return d, p, true
	}
	switch {
	case asked.Edit && IsInside(r.Dir, asked.Paths), r.Tools == run.AllowTools:
		d.Verdict = agent.Allow
	case r.Tools == run.DenyTools:
		d.Reason = "only tools that change files of the checkout are allowed"
	default:
		return d, nil, false
	}
	return d, nil, true
}

// findPermit finds the decision on a tool call. It prefers the decision on this
// very call. Otherwise it takes a decision on the same input that has let no
// call through yet, or one that holds for the session: then the agent itself
// lets the calls pass that it takes for the same.
func (r Rules) findPermit(asked agent.Permission) *run.Permit {
	digest := DigestOf(asked)
	var found *run.Permit
	for i, p := range r.Permits {
		spent := r.Spent(p) && !(p.Allow && p.Session)
		if p.Digest == digest && !spent && (found == nil || p.CallID == asked.CallID) {
			found = &r.Permits[i]
		}
	}
	return found
}

// InputOf returns the whole input of a tool call.
func InputOf(asked agent.Permission) json.RawMessage {
	if len(asked.Input) == 0 {
		return json.RawMessage("null")
	}
	return asked.Input
}

// DigestOf identifies the tool and the whole input of a tool call.
func DigestOf(asked agent.Permission) run.Digest {
	return run.DigestOf(append([]byte(asked.Tool+"\n"), InputOf(asked)...))
}

// IsInside reports whether all paths, with their links resolved, lie in the
// checkout and outside of its git directory.
func IsInside(dir string, paths []string) bool {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil || len(paths) == 0 {
		return false
	}
	for _, path := range paths {
		if isSpelled(path) || slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..") { // behind a link, .. leads to another place than the path shows
			return false
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		rel, err := filepath.Rel(root, resolveLinks(path))
		if err != nil || !filepath.IsLocal(rel) || slices.Contains(strings.Split(strings.ToLower(filepath.ToSlash(rel)), "/"), ".git") {
			return false
		}
	}
	return true
}

// isSpelled reports whether a client may take the text for another path than it is: the home directory for ~, the rest for
// @ and file://, another name where it makes odd spaces plain or cuts them off.
func isSpelled(path string) bool {
	odd := func(r rune) bool { return r > unicode.MaxASCII && unicode.IsSpace(r) }
	return path == "" || strings.TrimSpace(path) != path || strings.ContainsFunc(path, odd) ||
		strings.HasPrefix(path, "~") || strings.HasPrefix(path, "@") || strings.HasPrefix(strings.ToLower(path), "file:")
}

// resolveLinks follows the links of the existing part of path; the rest does not
// exist yet. It returns an empty string if a link leads nowhere.
func resolveLinks(path string) string {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if _, err := os.Lstat(at); err == nil { // a link whose target does not exist yet
			return ""
		}
		if at == filepath.Dir(at) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
