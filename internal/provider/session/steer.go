package session

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// steerLimit bounds the wait for the agent's answer to a note.
const steerLimit = 10 * time.Second

// steering passes the notes that people leave into the current turn.
type steering struct {
	agent agent.Watched       // nil: the agent takes no message into a turn
	turn  string              // in progress; empty: none
	notes []run.Note          // that no prompt carries yet
	sent  map[string]run.Note // to the agent, which has not read them yet, by their markers
}

// watchNotes returns the channel of the notes for the agent. It is nil, as for most agents, where the adapter does not
// prove that the agent takes a message into the current turn.
func (c *activeCall) watchNotes(ctx context.Context) <-chan []run.Note {
	w, ok := c.talk.Session.(agent.Watched)
	if !ok || c.servingPeers || c.req.Work.Notes == nil || !w.Capabilities().TurnSteer() {
		return nil
	}
	c.talk.steering.agent = w
	return c.req.Work.Notes(ctx)
}

// noteTurn follows the turns, and the notes that the agent reads in them.
func (c *activeCall) noteTurn(ctx context.Context, e agent.Event) error {
	s := &c.talk.steering
	switch e := e.(type) {
	case agent.TurnOpened:
		s.turn = e.ID
		return c.passNotes(ctx)
	case agent.TurnClosed:
		s.turn = ""
	case agent.UserMessage:
		if n, ok := s.sent[e.Marker]; ok {
			delete(s.sent, e.Marker)
			c.log(rundir.NoteRead, map[string]string{"target": n.Text, "by": n.By})
		}
	}
	return nil
}

// passNotes gives the agent each note that it was not given yet. The note on disk says so before, so the agent is given
// none twice. Whatever comes of it, the run keeps the note, and its next prompt carries it.
func (c *activeCall) passNotes(ctx context.Context) error {
	s := &c.talk.steering
	for s.agent != nil && s.turn != "" && c.note.Passed < len(s.notes) {
		n := s.notes[c.note.Passed]
		c.note.Passed++
		if err := c.keepNote(); err != nil {
			return err
		}
		if err := c.passNote(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// passNote gives the agent a note. The error is the end of ctx alone.
func (c *activeCall) passNote(ctx context.Context, n run.Note) error {
	limit, cancel := context.WithTimeout(ctx, steerLimit)
	defer cancel()
	s, marker := &c.talk.steering, uuid.NewString()
	if s.sent == nil {
		s.sent = map[string]run.Note{}
	}
	s.sent[marker] = n
	_, err := s.agent.Deliver(limit, agent.Delivery{Text: notePrompt(n), Marker: marker, Expected: s.turn})
	if _, refused := errors.AsType[*agent.Refused](err); refused {
		delete(s.sent, marker)
	}
	if err != nil {
		c.log("note perhaps not passed to the agent", map[string]string{"target": n.Text, "error": err.Error()})
	}
	return ctx.Err()
}
