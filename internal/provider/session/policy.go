package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// decidePermissions answers the waiting permission requests in their order, by
// the policy or a permit. The first request that is left to a person suspends
// the call.
func (c *activeCall) decidePermissions(ctx context.Context) error {
	t := c.talk
	for len(t.asks) > 0 {
		d, known := c.decidePermission(t.asks[0])
		if !known {
			c.showProgress("waits for a permission")
			s := newSuspension(t.asks[0])
			c.note.Asked = &askID{s.CallID, s.Digest()}
			return s
		}
		if err := c.keepNote(); err != nil { // a permit that is used up must stay used up
			return err
		}
		c.log("permission decided", map[string]string{"tool": t.asks[0].Tool, "input": string(t.asks[0].Input), "verdict": string(d.Verdict), "reason": d.Reason})
		c.letTool(t.asks[0], letBy(d, c.isPermitted(t.asks[0])))
		c.showProgress("goes on")
		t.asks = t.asks[1:]
		if err := t.Decide(ctx, d); err != nil && !errors.Is(err, agent.ErrNotPending) {
			return err
		}
	}
	return nil
}

// isPermitted reports whether a person has decided about the request.
func (c *activeCall) isPermitted(asked agent.Permission) bool {
	_, ok := c.findPermit(asked)
	return ok
}

// letBy says in the words of the log who has let a tool call pass; empty: it does not pass.
func letBy(d agent.PermissionDecision, person bool) string {
	switch {
	case d.Verdict == agent.AllowSession:
		return rundir.LetSession
	case d.Verdict == agent.Allow && person:
		return rundir.LetOnce
	case d.Verdict == agent.Allow:
		return rundir.LetByRun
	}
	return ""
}

// decidePermission answers a request by the role, a permit or the run's policy;
// known is false if a person must decide.
func (c *activeCall) decidePermission(asked agent.Permission) (d agent.PermissionDecision, known bool) {
	d = agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Deny}
	if c.roleSandbox() == agent.ReadOnly {
		d.Reason = "this role reads and changes nothing"
		return d, true
	}
	if c.servingPeers {
		d.Reason = "this turn is another session's message: what was allowed is the run's"
		return d, true
	}
	if p, ok := c.findPermit(asked); ok {
		d.Reason = p.Reason
		switch {
		case p.Allow && p.Session:
			d.Verdict = agent.AllowSession
		case p.Allow:
			d.Verdict = agent.Allow
		}
		c.note.spendPermit(askIDOf(p))
		return d, true
	}
	switch {
	case asked.Edit && isInside(c.talk.dir, asked.Paths), c.req.Work.Tools == run.AllowTools:
		d.Verdict = agent.Allow
	case c.req.Work.Tools == run.DenyTools:
		d.Reason = "the run allows no tools but those that edit its files"
	default:
		return d, false
	}
	return d, true
}

// findPermit finds the decision on a tool call. It prefers the decision on this
// very call. Otherwise it takes a decision on the same input that has let no
// call through yet, or one that holds for the session: then the agent itself
// lets the calls pass that it takes for the same.
func (c *activeCall) findPermit(asked agent.Permission) (run.Permit, bool) {
	digest := newSuspension(asked).Digest()
	var found *run.Permit
	for i, p := range c.req.Work.Permits {
		spent := slices.Contains(c.note.Spent, askIDOf(p)) && !(p.Allow && p.Session)
		if p.Digest == digest && !spent && (found == nil || p.CallID == asked.CallID) {
			found = &c.req.Work.Permits[i]
		}
	}
	if found == nil {
		return run.Permit{}, false
	}
	return *found, true
}

func newSuspension(asked agent.Permission) *provider.Suspended {
	input := asked.Input
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	return &provider.Suspended{CallID: asked.CallID, Tool: asked.Tool, Input: input, Title: asked.Title, Reason: asked.Reason}
}

// isInside reports whether all paths, with their links resolved, lie in the
// checkout and outside of its git directory.
func isInside(dir string, paths []string) bool {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil || len(paths) == 0 {
		return false
	}
	for _, path := range paths {
		if slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..") { // behind a link, .. leads to another place than the path shows
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
