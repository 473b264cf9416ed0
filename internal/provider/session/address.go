package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/controlsocket/inlet"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Host lets other sessions of this host reach one of ours while its agent
// lives.
type Host interface {
	// Open makes the session known by a garden id: by the one given, or by a new
	// one where it is empty. What is a line that says who it is. Close makes it
	// unknown again. A host that has nobody to tell returns an empty id, and close
	// does nothing.
	Open(ctx context.Context, id dispatch.GardenID, dir, what string, s controlsocket.Session) (known dispatch.GardenID, close func(), err error)
}

// peersLimit bounds how long a run waits for the turns of other sessions'
// messages.
const peersLimit = 10 * time.Minute

var errOwned = errors.New("the turn belongs to a run: cancel the run to end it")

// open makes the session known, unless it plans or judges: nobody has a say in
// that. That it could not be made known is no reason not to work.
func (c *call) makeAddressable(ctx context.Context) {
	if c.Host == nil || c.talk.unregister != nil || c.roleSandbox() == agent.ReadOnly {
		return
	}
	kind := string(c.Adapter.Kind())
	in := inlet.New(inlet.Options{
		Dir: c.talk.dir, Model: &controlsocket.Model{ID: cmp.Or(c.Choice.Model, kind), Provider: kind},
		End: func(context.Context) error { return errOwned },
	})
	id, leave, err := c.Host.Open(ctx, c.note.Garden, in.Dir, c.describeAgent(), in)
	if err != nil {
		c.log("not addressable", map[string]string{"error": err.Error()})
		return
	}
	in.Name(id)
	c.talk.inlet, c.talk.unregister = in, leave
	site := c.req.Work.Site
	c.talk.reportLost = func(m controlsocket.Message) {
		site.Warn("message of another session lost: the agent ended before its turn", messageFields(m))
	}
	if id != "" && c.note.Garden != id {
		c.note.Garden = id
		c.log("addressable", map[string]string{"gardenId": string(id)})
	}
}

// introduction says in a line which agent this is, and for whom it works.
func (c *call) describeAgent() string {
	who := string(c.Adapter.Kind())
	if c.Choice.Model != "" {
		who += "/" + c.Choice.Model
	}
	role := string(c.req.Role)
	if c.req.Attempt > 0 {
		role += fmt.Sprintf(" %d", c.req.Attempt)
	}
	return fmt.Sprintf("%s, %s of run %s", who, role, c.req.RunID)
}

// serveOthers gives each message that other sessions sent during the run's own
// turn a turn of its own. The answer is kept by then and none of these turns
// touches it; what they change in the checkout is never taken, since the slot's
// next call begins with a fresh one. Later messages are refused.
func (c *call) answerPeers(ctx context.Context) {
	in := c.talk.inlet
	if in == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, peersLimit)
	defer stop()
	c.servingPeers = true
	in.Said(c.note.Answer.Text)
	in.Close()
	for m, ok := in.Next(); ok; m, ok = in.Next() {
		c.log("message of another session", messageFields(m))
		if err := c.answerPeer(ctx, in, m); err != nil {
			about := messageFields(m)
			about["error"] = err.Error()
			c.req.Work.Site.Warn("the turn of another session's message failed", about)
			return
		}
	}
}

func (c *call) answerPeer(ctx context.Context, in *inlet.Inlet, m controlsocket.Message) error {
	if err := c.sendMessage(ctx, m.Prompt()); err != nil {
		return err
	}
	a, err := c.followTurn(ctx)
	if err != nil {
		return err
	}
	c.note.Used = a.used
	in.Said(a.Text)
	return c.keepNote()
}

// aboutMessage are the circumstances of a message in the log.
func messageFields(m controlsocket.Message) map[string]string {
	from := "nobody who says who it is"
	if m.Sender != nil {
		from = fmt.Sprintf("%s, %s", m.Sender.AgentID, m.Sender.SessionID)
	}
	return map[string]string{"from": from, "input": m.Text}
}
