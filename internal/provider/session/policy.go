package session

import (
	"context"
	"errors"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/conduct"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/toolcall"
)

// decidePermissions answers the waiting permission requests in their order, by
// the policy or a permit. The first request that is left to a person suspends
// the call.
func (c *activeCall) decidePermissions(ctx context.Context) error {
	t := c.talk
	for len(t.asks) > 0 {
		d, person, known := c.decidePermission(t.asks[0])
		if !known {
			c.showProgress("waits for a permission")
			s := newSuspension(t.asks[0], t.dir)
			c.note.Asked = &askID{s.Halt.Permission.CallID, s.Halt.Permission.Digest}
			return s
		}
		if err := c.keepNote(); err != nil { // a permit that is used up must stay used up
			return err
		}
		c.log("permission decided", map[string]string{"tool": t.asks[0].Tool, "input": string(t.asks[0].Input), "verdict": string(d.Verdict), "reason": d.Reason})
		c.letTool(t.asks[0], letBy(d, person))
		if person && d.Verdict == agent.Deny && !c.Adapter.Kind().Traits().TellsReason {
			t.refused = append(t.refused, refusal{t.asks[0].Tool, d.Reason})
		}
		c.showProgress("continues")
		t.asks = t.asks[1:]
		if err := t.Decide(ctx, d); err != nil && !errors.Is(err, agent.ErrNotPending) {
			return err
		}
	}
	return nil
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
// known is false if a person must decide. person reports that a permit decided.
func (c *activeCall) decidePermission(asked agent.Permission) (d agent.PermissionDecision, person, known bool) {
	d = agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Deny}
	if c.roleSandbox() == agent.ReadOnly {
		d.Reason = "this role may only read"
		return d, false, true
	}
	if c.servingPeers {
		d.Reason = "this turn belongs to a message of another session: the run's permissions do not apply"
		return d, false, true
	}
	rules := conduct.Rules{Dir: c.talk.dir, Tools: c.req.Work.Tools, Permits: c.req.Work.Permits, Spent: func(p run.Permit) bool {
		return slices.Contains(c.note.Spent, askIDOf(p))
	}}
	d, used, known := rules.Decide(asked)
	if used != nil {
		c.note.spendPermit(askIDOf(*used))
	}
	return d, used != nil, known
}

func newSuspension(asked agent.Permission, dir string) *provider.Halted {
	return provider.Suspend(run.Permission{
		CallID: asked.CallID, Tool: asked.Tool, Title: toolcall.ShortenPaths(asked.Title, dir), Reason: asked.Reason, Dir: dir,
	}, conduct.InputOf(asked))
}
