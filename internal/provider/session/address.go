package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/intake"
)

// Host lets other sessions of this host reach one of our sessions while its
// agent lives.
type Host interface {
	// Open makes the session known to others by the garden id that is given, or by
	// a new id if it is empty. Close makes the session unknown again.
	Open(ctx context.Context, id dispatch.GardenID, dir string, about dispatch.About, s controlsocket.Session) (known dispatch.GardenID, close func(), err error)
}

// peersLimit bounds how long a run waits for the turns of other sessions'
// messages.
const peersLimit = 10 * time.Minute

var errOwned = errors.New("the turn belongs to a run: cancel the run to end it")

// makeAddressable makes the session known to others, unless the agent plans or
// judges: other sessions have no influence on that. A failure does not stop the
// work.
func (c *activeCall) makeAddressable(ctx context.Context) {
	if c.Host == nil || c.talk.unregister != nil || c.roleSandbox() == agent.ReadOnly {
		return
	}
	kind := string(c.Adapter.Kind())
	in := intake.New(intake.Options{
		Dir: c.talk.dir, Model: &controlsocket.Model{ID: cmp.Or(c.Choice.Model, kind), Provider: kind},
		End: func(context.Context) error { return errOwned },
	})
	id, leave, err := c.Host.Open(ctx, c.note.Garden, in.Dir, c.describeSession(), in)
	if err != nil {
		c.log("not addressable", map[string]string{"error": err.Error()})
		return
	}
	in.SetID(id)
	c.talk.intake, c.talk.unregister = in, leave
	site := c.req.Work.Site
	c.talk.reportLost = func(m controlsocket.Message) {
		site.Warn("message of another session lost: the agent ended before its turn", messageFields(m))
	}
	if id != "" && c.note.Garden != id {
		c.note.Garden = id
		c.log("addressable", map[string]string{"gardenId": string(id)})
	}
}

// describeSession names the agent, its role and its run.
func (c *activeCall) describeSession() dispatch.About {
	return dispatch.About{
		Agent: string(c.Adapter.Kind()), Model: c.Choice.Model, Run: string(c.req.RunID), Name: c.req.Work.Name,
		Role: string(c.req.Role), Attempt: c.req.Candidate, Goal: c.req.Work.Goal,
	}
}

// answerPeers gives each message that other sessions sent during the run's own
// turn a turn of its own. The run's answer is kept before, and these turns do
// not touch it. Their changes to the checkout are never taken, because the
// slot's next call begins with a fresh checkout. Later messages are refused.
func (c *activeCall) answerPeers(ctx context.Context) {
	in := c.talk.intake
	if in == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, peersLimit)
	defer stop()
	c.servingPeers = true
	in.SetLastMessage(c.note.Answer.Text)
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

func (c *activeCall) answerPeer(ctx context.Context, in *intake.Intake, m controlsocket.Message) error {
	if err := c.sendMessage(ctx, m.Prompt()); err != nil {
		return err
	}
	a, err := c.followTurn(ctx)
	if err != nil {
		c.keepNoteOrLog() // with what the turn cost
		return err
	}
	in.SetLastMessage(a.Text)
	return c.keepNote()
}

// messageFields returns the fields that describe a message in the log.
func messageFields(m controlsocket.Message) map[string]string {
	from := "an unknown sender"
	if m.Sender != nil {
		from = fmt.Sprintf("%s, %s", m.Sender.AgentID, m.Sender.SessionID)
	}
	return map[string]string{"from": from, "input": m.Text}
}
