package editor

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

// asker asks the person at the editor for what a run waits for, by permission requests.
type asker struct{ *session }

// choice is an option of a permission request.
type choice[D any] struct {
	name    string
	kind    sdk.PermissionOptionKind
	decides D
	// later is set if the option decides nothing yet.
	later bool
}

// Approve asks for a decision on a patch or a tool.
func (a asker) Approve(ctx context.Context, p run.PendingApproval) (run.Decision, error) {
	call, choices := a.patchCall(p), patchChoices(p)
	if p.Permission != nil {
		call, choices = a.permissionCall(p), toolChoices(p)
	}
	picked, err := ask(ctx, a.session, call, choices)
	if err != nil {
		return run.Decision{}, err
	}
	if picked.later {
		a.refusing = p.ApprovalID
		return run.Decision{}, follow.ErrUnanswered
	}
	picked.decides.By = a.UserName()
	return picked.decides, nil
}

func patchChoices(p run.PendingApproval) []choice[run.Decision] {
	refuse := "Send back, with a reason in your next message"
	if p.Next.RejectEnds {
		refuse = "Refuse, with a reason in your next message: the run ends"
	}
	list := []choice[run.Decision]{{name: "Apply", kind: sdk.PermissionOptionKindAllowOnce, decides: run.Decision{ApprovalID: p.ApprovalID, Decision: run.Approve}}}
	for _, other := range p.Choices {
		list = append(list, choice[run.Decision]{
			name: fmt.Sprintf("Apply attempt %d instead: %s, %s", other.Candidate, story.OneLine(other.Provider, 40), other.Stat),
			kind: sdk.PermissionOptionKindAllowOnce, decides: run.Decision{ApprovalID: other.ApprovalID, Decision: run.Approve},
		})
	}
	return append(list,
		choice[run.Decision]{name: refuse, kind: sdk.PermissionOptionKindRejectOnce, later: true},
		choice[run.Decision]{name: "Reject and end the run", kind: sdk.PermissionOptionKindRejectAlways, decides: run.Decision{ApprovalID: p.ApprovalID, Decision: run.Reject, Final: true}})
}

func toolChoices(p run.PendingApproval) []choice[run.Decision] {
	decision := func(v run.Verdict) run.Decision { return run.Decision{ApprovalID: p.ApprovalID, Decision: v} }
	session, end := decision(run.Approve), decision(run.Reject)
	session.Session, end.Final = true, true
	return []choice[run.Decision]{
		{name: "Allow once", kind: sdk.PermissionOptionKindAllowOnce, decides: decision(run.Approve)},
		{name: "Allow for the agent's session", kind: sdk.PermissionOptionKindAllowAlways, decides: session},
		{name: "Refuse, the agent continues", kind: sdk.PermissionOptionKindRejectOnce, decides: decision(run.Reject)},
		{name: "Refuse and end the run", kind: sdk.PermissionOptionKindRejectAlways, decides: end},
	}
}

// patchCall returns the tool call of a patch, with what a person should know besides.
func (a asker) patchCall(p run.PendingApproval) sdk.ToolCallUpdate {
	content, at := a.drawPatch(p.Patch, p.Excerpt)
	return sdk.ToolCallUpdate{
		ToolCallId: a.patch, Title: sdk.Ptr(fmt.Sprintf("%s (%s)", story.OneLine(p.Summary, 200), p.Stat)), Kind: sdk.Ptr(sdk.ToolKindEdit),
		Status: sdk.Ptr(sdk.ToolCallStatusPending), Content: append(content, facts(p)...), Locations: at,
	}
}

func (a asker) permissionCall(p run.PendingApproval) sdk.ToolCallUpdate {
	return sdk.ToolCallUpdate{
		ToolCallId: toolCallID(p.ApprovalID), Title: sdk.Ptr(story.OneLine(p.Summary, 200)), Kind: sdk.Ptr(kindOf(p.Permission.Tool)),
		Status: sdk.Ptr(sdk.ToolCallStatusPending), Content: append(a.drawPermission(*p.Permission), facts(p)...),
	}
}

// facts returns what a person should know before deciding, and what each decision leads to.
func facts(p run.PendingApproval) []sdk.ToolCallContent {
	var lines []string
	for _, f := range review.Facts(p) {
		lines = append(lines, fmt.Sprintf("%s: %s", f.Kind, story.OneLine(f.Text, 300)))
	}
	for _, w := range p.Next.Ways() {
		lines = append(lines, w.Do+" → "+w.Leads)
	}
	if len(lines) == 0 {
		return nil
	}
	return []sdk.ToolCallContent{textContent(strings.Join(lines, "  \n"))}
}

// Answer asks a question that has answers to choose from. Any other is answered by the next prompt.
func (a asker) Answer(ctx context.Context, q run.PendingQuestion) (run.Reply, error) {
	choices := answersOf(q)
	if len(choices) == 0 {
		return run.Reply{}, follow.ErrUnanswered
	}
	text := append([]string{q.Question.Question}, q.NeededInput...)
	for i := range text {
		text[i] = story.OneLine(text[i], 600)
	}
	picked, err := ask(ctx, a.session, sdk.ToolCallUpdate{
		ToolCallId: sdk.ToolCallId("question-" + q.QuestionID), Title: sdk.Ptr(story.OneLine(q.Question.Question, 200)), Kind: sdk.Ptr(sdk.ToolKindOther),
		Status: sdk.Ptr(sdk.ToolCallStatusPending), Content: []sdk.ToolCallContent{textContent(strings.Join(text, "  \n"))},
	}, choices)
	if err != nil {
		return run.Reply{}, err
	}
	a.closeCall(sdk.ToolCallId("question-"+q.QuestionID), sdk.ToolCallStatusCompleted)
	if picked.later {
		return run.Reply{}, follow.ErrUnanswered
	}
	picked.decides.By = a.UserName()
	return picked.decides, nil
}

// answersOf returns the answers of a question that are fixed words, and one to write another; nil if it has none.
func answersOf(q run.PendingQuestion) (list []choice[run.Reply]) {
	for _, w := range q.Next.Ways() {
		reply := run.Reply{QuestionID: q.QuestionID}
		word, isAnswer := strings.CutPrefix(w.Do, "answer ")
		switch {
		case w.Do == "retry":
			reply.Retry, word = true, "retry"
		case !isAnswer || strings.Contains(word, "..."):
			continue
		default:
			reply.Text = word
		}
		kind := sdk.PermissionOptionKindAllowOnce
		if word == "stop" {
			kind = sdk.PermissionOptionKindRejectAlways
		}
		list = append(list, choice[run.Reply]{name: strings.ToUpper(word[:1]) + word[1:] + ": " + w.Leads, kind: kind, decides: reply})
	}
	if len(list) > 0 {
		list = append(list, choice[run.Reply]{name: "Answer in your next message", kind: sdk.PermissionOptionKindRejectOnce, later: true})
	}
	return list
}

// ask makes a permission request and returns the option that was picked. Its error is that of the context, also where the
// editor says that the turn was canceled.
func ask[D any](ctx context.Context, s *session, call sdk.ToolCallUpdate, choices []choice[D]) (picked choice[D], err error) {
	r := sdk.RequestPermissionRequest{SessionId: sdk.SessionId(s.id), ToolCall: call}
	for i, c := range choices {
		r.Options = append(r.Options, sdk.PermissionOption{OptionId: optionID(i), Name: c.name, Kind: c.kind})
	}
	answer, err := sdk.SendRequest[sdk.RequestPermissionResponse](s.conn, ctx, sdk.ClientMethodSessionRequestPermission, r)
	switch {
	case ctx.Err() != nil:
		return picked, context.Cause(ctx)
	case err != nil:
		return picked, fmt.Errorf("the editor does not ask for a permission: %w", err)
	case answer.Outcome.Selected == nil:
		s.stop()
		return picked, context.Canceled
	}
	for i, c := range choices {
		if answer.Outcome.Selected.OptionId == optionID(i) {
			return c, nil
		}
	}
	return picked, fmt.Errorf("the editor picked option %q, which it was not offered", story.OneLine(string(answer.Outcome.Selected.OptionId), 40))
}

func optionID(i int) sdk.PermissionOptionId {
	return sdk.PermissionOptionId(fmt.Sprintf("option-%d", i+1))
}
