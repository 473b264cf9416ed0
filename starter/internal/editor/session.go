package editor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/artifacts"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// session is a session of the editor. Its id is that of its first run; the ids of the runs that continue it are made from
// that (nextID), so that a session is found again without a record of its own.
type session struct {
	*server
	id  run.ID
	cwd string // of a session whose run has not begun

	running sync.Mutex // held by a turn
	mu      sync.Mutex
	cancel  context.CancelFunc // of the turn; nil: there is none

	// The rest is the turn's.
	run       run.ID // the last run; empty: none has begun
	name      run.Name
	follower  *follow.Follower
	formatter *story.Formatter
	input     run.Input
	loaded    bool // past events are shown
	plan      []string
	patch     sdk.ToolCallId  // the call that shows the last patch
	tools     map[string]bool // the approvals that are about a tool
	calls     int             // tool calls shown
	prose     int64           // bytes shown of the call that runs
	refusing  string          // the approval whose refusal awaits a reason, in the next prompt
	offered   bool            // the commands were offered
}

// nextID returns the id of the run that continues a run in the same session.
func nextID(id run.ID) run.ID {
	return run.ID(uuid.NewSHA1(uuid.NameSpaceURL, []byte("ratchet-editor:"+id)).String())
}

// stop ends the turn; the run continues.
func (s *session) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// The commands of a session.
const (
	watchCommand  = "watch"
	cancelCommand = "cancel"
	mergeCommand  = "merge"
)

// turn serves a prompt: it sends the text where it fits, and follows the run until it is over or waits for the next prompt.
func (s *session) turn(ctx context.Context, text string) (sdk.StopReason, error) {
	if !s.running.TryLock() {
		return "", &sdk.RequestError{Code: sdk.NewInvalidRequest(nil).Code, Message: "a turn of this session is running: cancel it first; the run continues"}
	}
	defer s.running.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	err := s.serve(ctx, text)
	if ctx.Err() != nil {
		s.sayLeft()
		return sdk.StopReasonCancelled, nil
	}
	return sdk.StopReasonEndTurn, err
}

// sayLeft says how to continue after a turn that was canceled.
func (s *session) sayLeft() {
	if s.run == "" {
		return
	}
	s.say("The run continues without this turn. `/watch` follows it again, any other message is left as a note for the agent, `/cancel` ends the run. In a terminal: `%s`.",
		s.Hint("watch %s", s.shownName()))
}

func (s *session) shownName() string { return s.name.Shown(s.run) }

func (s *session) serve(ctx context.Context, text string) error {
	client, done, err := s.Dial(ctx, func(line string) { s.say("%s", line) })
	if err != nil {
		return err
	}
	defer done()
	s.offerCommands()
	command, isCommand := strings.CutPrefix(text, "/")
	isCommand = isCommand && (command == watchCommand || command == cancelCommand || command == mergeCommand)
	if s.run == "" {
		if isCommand {
			s.say("There is no run yet: write the goal, such as `make the failing test pass`.")
			return nil
		}
		if err := s.Start(ctx, s.id, s.cwd, text); err != nil {
			return err
		}
		s.begin(client, s.id)
		return s.follow(ctx, client)
	}
	e, err := client.Describe(ctx, s.run)
	if err != nil {
		return err
	}
	if !e.Open {
		return s.serveOver(ctx, client, command, isCommand, text)
	}
	switch {
	case command == cancelCommand && isCommand:
		err = client.Cancel(ctx, s.run)
	case command == mergeCommand && isCommand:
		s.say("The run has not completed: there is nothing to merge yet.")
	case !isCommand:
		err = s.send(ctx, client, text)
	}
	if refused, ok := errors.AsType[*runs.RefusedError](err); ok {
		s.say("Not taken: %s", story.OneLine(refused.Reason, 400))
		err = nil
	}
	if err != nil {
		return err
	}
	return s.follow(ctx, client)
}

// serveOver serves a prompt to a run that is over.
func (s *session) serveOver(ctx context.Context, client Client, command string, isCommand bool, text string) error {
	switch {
	case isCommand && command == mergeCommand:
		said, err := s.Merge(ctx, s.run)
		if err != nil {
			return err
		}
		s.say("%s", said)
		return nil
	case isCommand:
		s.say("Run %s is over. Write what to change: a new run continues from its last commit.", s.shownName())
		return nil
	}
	next := nextID(s.run)
	if err := s.Continue(ctx, s.run, next, text); err != nil {
		return err
	}
	s.begin(client, next)
	return s.follow(ctx, client)
}

// send sends a text where it fits: to the question that the run asks, as the reason of a refusal, or as a note.
func (s *session) send(ctx context.Context, client Client, text string) error {
	p, err := client.Pending(ctx, s.run)
	if err != nil {
		return err
	}
	refusing := s.refusing
	s.refusing = ""
	switch {
	case p.Approval != nil && p.Approval.ApprovalID == refusing:
		if text == withoutReason {
			text = ""
		}
		return client.Decide(ctx, s.run, run.Decision{ApprovalID: refusing, Decision: run.Reject, Reason: text, By: s.UserName()})
	case p.Question != nil:
		return client.Reply(ctx, s.run, run.Reply{QuestionID: p.Question.QuestionID, Text: text, By: s.UserName()})
	}
	if err := client.Note(ctx, s.run, run.Note{Text: text, By: s.UserName()}); err != nil {
		return err
	}
	s.say("Noted for the agent's next prompt.")
	return nil
}

// begin makes the session show a run from its first event on.
func (s *session) begin(client Client, id run.ID) {
	s.run, s.name, s.input, s.plan, s.prose, s.refusing = id, "", run.Input{}, nil, 0, ""
	s.formatter = &story.Formatter{Report: artifacts.Reports(s.Factory, id)}
	s.follower = follow.Elsewhere(s.Factory, terminal.NewScreen(lineWriter{s}, terminal.Options{}), client, id, s.showEvent, s.showTool)
	s.follower.Look = s.showProse
}

// follow follows the run, asks for what it waits for, and says how it ended or how to continue it.
func (s *session) follow(ctx context.Context, client Client) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	s.loaded, s.refusing = true, ""
	s.follower.Watched, s.follower.Decider, s.follower.Changes = client, asker{s}, client.Changes(following, s.run)
	status, err := s.follower.Follow(ctx)
	switch {
	case err != nil:
		return err
	case status == run.Completed:
		s.say("`/merge` merges it into your branch, as `%s` does. Write what to change, and a new run continues from its last commit.", s.Hint("merge %s", s.shownName()))
	case status.Terminal():
		s.say("Write what to change, and a new run continues from its last commit.")
	case status == run.AwaitingApproval && s.refusing != "":
		s.say("Why not? Your next message goes to the agent as the reason; `%s` gives none.", withoutReason)
	case status == run.AwaitingApproval:
		s.say("The run waits for your approval: `/watch` asks again.")
	case status == run.AwaitingInput:
		s.say("Your next message is the answer.")
	}
	return nil
}

// replay shows everything that has happened in a session of earlier, and how to continue it.
func (s *session) replay(ctx context.Context, client Client) error {
	s.running.Lock()
	defer s.running.Unlock()
	for id := s.id; ; id = nextID(s.run) {
		e, err := client.Describe(ctx, id)
		if _, unknown := errors.AsType[*runs.NotFoundError](err); unknown {
			break
		}
		if err != nil {
			return err
		}
		s.begin(client, id)
		s.loaded = false
		if err := s.follower.CatchUp(ctx); err != nil {
			return err
		}
		if s.name = e.Name; e.Open {
			s.say("Run %s is %s. `/watch` follows it, and asks for what it waits for.", s.shownName(), e.Status)
			return nil
		}
	}
	s.say("Run %s is over. `/merge` merges it if it completed. Write what to change, and a new run continues from its last commit.", s.shownName())
	return nil
}

// offerCommands sends the commands of a session to the editor, once.
func (s *session) offerCommands() {
	if s.offered {
		return
	}
	s.offered = true
	s.update(sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{AvailableCommands: []sdk.AvailableCommand{
		{Name: watchCommand, Description: "Follow the run, and be asked for what it waits for"},
		{Name: cancelCommand, Description: "End the run"},
		{Name: mergeCommand, Description: "Merge the completed run into your branch"},
	}}})
}

// textOf returns the text of a prompt. What the editor attaches follows the person's words.
func textOf(blocks []sdk.ContentBlock) (string, error) {
	var said, attached strings.Builder
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			said.WriteString(b.Text.Text)
		case b.ResourceLink != nil:
			said.WriteString(placeOf(b.ResourceLink.Uri))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			said.WriteString(placeOf(r.Uri))
			fmt.Fprintf(&attached, "\n\n%s:\n\n%s", placeOf(r.Uri), r.Text)
		default:
			return "", invalid("the prompt has an image, a sound or another attachment that is not text: leave it out, and describe it")
		}
	}
	text := strings.TrimSpace(said.String())
	switch {
	case text == "":
		return "", invalid("the prompt is empty: write the goal of the run, an answer or a note")
	case !utf8.ValidString(text):
		return "", invalid("the prompt is not UTF-8 text")
	}
	return text + attached.String(), nil
}

// placeOf names a resource for a model: a file by its path.
func placeOf(uri string) string {
	if path, ok := strings.CutPrefix(uri, "file://"); ok {
		return filepath.FromSlash(path)
	}
	return uri
}

// withoutReason is the message that refuses a patch without a reason, as in a terminal.
const withoutReason = "-"

// say sends a message of our own.
func (s *session) say(format string, args ...any) {
	s.update(sdk.UpdateAgentMessageText(display.Text([]byte(fmt.Sprintf(format, args...))) + "\n\n"))
}

// update sends an update. It may come after the end of the turn's context; a connection that has ended loses it.
func (s *session) update(u sdk.SessionUpdate) {
	_ = s.conn.SendNotification(context.Background(), sdk.ClientMethodSessionUpdate, sdk.SessionNotification{SessionId: sdk.SessionId(s.id), Update: u})
}

// lineWriter sends the lines that a follower prints besides the events.
type lineWriter struct{ s *session }

func (w lineWriter) Write(p []byte) (int, error) {
	if text := strings.TrimSpace(string(p)); text != "" {
		w.s.say("%s", text)
	}
	return len(p), nil
}
