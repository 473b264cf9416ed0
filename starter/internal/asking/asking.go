// Package asking finds the sessions that wait for a person, for the screens that show the runs that do.
package asking

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// maxSessions bounds the open sessions that are looked at.
const maxSessions = 100

// Session is a session that waits for a person.
type Session struct {
	ID    session.ID
	Name  string // its title or provider
	About string // the tool or the question
	Wait  string // the id of the approval or question
	Since time.Time
}

// Find returns the sessions that wait, the longest wait first.
func Find(ctx context.Context, c *factory.Factory, t client.Client) ([]Session, error) {
	sessions := sessionref.Client(c, t)
	open, err := sessions.List(ctx, false, maxSessions)
	if err != nil {
		return nil, err
	}
	var list []Session
	for _, l := range open {
		if l.State != session.Asking {
			continue
		}
		s, err := sessions.State(ctx, l.ID)
		if err != nil {
			continue // no worker answers for it, and none can take a decision
		}
		found := Session{ID: l.ID, Name: cmp.Or(l.Title, l.Provider+" session"), Since: s.Since}
		switch asks := s.Pending().Asks; {
		case len(asks) > 0:
			found.About, found.Wait = asks[0].Summary, asks[0].ApprovalID
		case s.Doubt != nil:
			found.About, found.Wait = s.Doubt.Question.Question, s.Doubt.ID
		default:
			continue
		}
		list = append(list, found)
	}
	slices.SortFunc(list, func(a, b Session) int { return a.Since.Compare(b.Since) })
	return list, nil
}

// Lines returns a line for each session that waits; none if the engine does not answer.
func Lines(ctx context.Context, c *factory.Factory, style terminal.Style) (lines []string) {
	t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
	if err != nil {
		return nil
	}
	defer t.Close()
	list, _ := Find(ctx, c, t)
	for _, s := range list {
		lines = append(lines, s.Line(c, style))
	}
	return lines
}

// Line returns one line about a session that waits, with the command that leads there.
func (s Session) Line(c *factory.Factory, style terminal.Style) string {
	return style.Bold("session "+story.OneLine(s.Name, 60)) + " " + style.Wait("asks: ") + story.OneLine(s.About, 120) + "  " + style.Dim(c.Hint("session watch %s", s.ID))
}
