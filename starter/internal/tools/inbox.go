package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

type inboxInput struct {
	GardenID dispatch.GardenID `json:"gardenId" jsonschema:"your own garden id, as the mail notice or entwurf_self gives it"`
}

// Reasons why mail stays unread.
var (
	errUnwritten = errors.New("the answer with the mail was not written: it stays unread")
	errTooMuch   = fmt.Errorf("the mail has more than %d bytes, too much for one answer: read it with `starter inbox read`", mailbox.MaxBody)
)

// readInbox answers with the mail while it is still reading the mailbox. The mail counts as read
// when the answer has been written. The server cannot know whether the client ever looks at
// it.
func (s *server) readInbox(ctx context.Context, _ *mcp.CallToolRequest, in inboxInput) (*mcp.CallToolResult, mailbox.Drained, error) {
	if err := s.mayRead(in.GardenID); err != nil {
		return nil, mailbox.Drained{}, err
	}
	slip := s.out.expect()
	handed := make(chan mailbox.Drained, 1)
	var failure error
	s.drains.Go(func() {
		defer slip.dropSlip()
		defer close(handed)
		failure = s.drainMailbox(ctx, in.GardenID, func(d mailbox.Drained) error {
			if sizeOf(d) > mailbox.MaxBody {
				return errTooMuch
			}
			handed <- d
			if len(d.Messages) == 0 {
				return nil
			}
			return slip.awaitWritten(ctx)
		})
	})
	d, ok := <-handed
	if !ok {
		return nil, mailbox.Drained{}, failure
	}
	res := textResult(bodiesText(d))
	res.Meta = slip.asMeta()
	return res, d, nil
}

// mayRead refuses a citizen the mail of another. It trusts a caller without a proved identity,
// because clients without a marker have no other way to their mail.
func (s *server) mayRead(id dispatch.GardenID) error {
	self, err := s.Dirs.Self(s.Caller())
	if err != nil || self.SessionID == string(id) {
		return nil
	}
	return fmt.Errorf("%s is not your mailbox: your own garden id is %s", id, self.SessionID)
}

// drainMailbox reads a mailbox and passes the mail to take. It stops waiting for the mailbox when ctx
// ends. Once it has the mail only take can stop it. The mail that take accepts is archived.
func (s *server) drainMailbox(ctx context.Context, id dispatch.GardenID, take func(mailbox.Drained) error) error {
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	holdOn := context.AfterFunc(ctx, cancel)
	d, err := mailbox.Mailboxes{Dirs: s.Dirs}.Drain(waiting, id, func(d mailbox.Drained) error {
		if !holdOn() {
			return errUnwritten
		}
		return take(d)
	})
	if err != nil && len(d.Messages) > 0 {
		s.Log.Warn("mail that was read may be returned again", "mailbox", id, "error", err)
	}
	return err
}

func sizeOf(d mailbox.Drained) int {
	n := 0
	for _, m := range d.Messages {
		n += len(m.Body)
	}
	return n
}

// mostTold bounds the width of a name in front of an agent.
const mostTold = 600

// bodiesText returns the bodies, each under the name of its file.
func bodiesText(d mailbox.Drained) string {
	if len(d.Messages) == 0 && len(d.Unreadable) == 0 {
		return "no unread mail"
	}
	var b strings.Builder
	for _, m := range d.Messages {
		fmt.Fprintf(&b, "%s\n%s\n\n", story.OneLine(m.File, mostTold), m.Body)
	}
	for _, bad := range d.Unreadable {
		fmt.Fprintf(&b, "unreadable: %s\n", story.OneLine(bad, mostTold))
	}
	if d.Left > 0 {
		fmt.Fprintf(&b, "%d more are unread: read again\n", d.Left)
	}
	return b.String()
}
