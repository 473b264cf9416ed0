package page

import (
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// shownPast is the number of ended messages on the page of a session.
const shownPast = 8

var sessionHeadlines = map[session.State]string{
	session.Starting: "The agent starts", session.Idle: "Waits for a message", session.Working: "The agent works", session.Asking: "Waits for you",
	session.Asleep: "Asleep until its next message", session.Dead: "The agent's process ended", session.Lost: "The agent's worker is gone",
	session.Foreign: "Another process has the agent's session", session.Unable: "The agent does not start", session.Retired: "Retired",
}

// OfSession returns the Markdown that the Web UI shows for a session: its state and,
// where it waits for a person, how to resolve the wait.
func OfSession(s *session.Snapshot) string {
	var m markdown
	m.printf("## %s\n\n", sessionHeadlines[s.State])
	if s.Reason != "" {
		m.block(s.Reason, shownProblem)
	}
	pending := s.Pending()
	for _, a := range pending.Asks {
		addSessionAsk(&m, s, a)
	}
	if q := s.Question; q != nil {
		m.prose(q.Question.Question, run.MaxTextBytes)
		m.list("**Needed** ", q.NeededInput)
		addLines(&m, "answer", q.ID+" your answer")
		addCommands(&m, []string{fmt.Sprintf("starter session decide %s AMOUNT", s.Input.ID)})
	}
	m.refusedSignals("session", s.RefusedSignals)
	addTalk(&m, s)
	addSessionFacts(&m, s)
	return m.String()
}

// addSessionAsk adds a tool call that waits, with the form to decide it.
func addSessionAsk(m *markdown, s *session.Snapshot, a session.PendingAsk) {
	m.printf("The agent %s wants to use the tool %s and waits.\n\n", inlineCode(s.Input.Provider), inlineCode(a.Permission.Tool))
	if s.Input.Sandbox.Off() {
		m.printf("**Sandbox off:** the agent's programs can do everything that the worker's user can.\n\n")
	}
	var why []string
	if a.Permission.Reason != "" {
		why = []string{a.Permission.Reason}
	}
	addCall(m, a.Permission.Title, why, a.Excerpt, a.Permission.Input)
	addCallLines(m, a.ApprovalID)
	addCommands(m, a.Commands)
}

// addTalk adds the messages that wait, the one in progress, and the last ended ones.
func addTalk(m *markdown, s *session.Snapshot) {
	for _, w := range slices.Backward(s.Queue) {
		m.printf("- waits: %s\n", escapeMarkup(clipRunes(w.Text, 120)))
	}
	if t := s.Turn; t != nil && !t.Delivery {
		m.printf("- %s, **in progress**: %s\n", FormatTime(t.Since), escapeMarkup(clipRunes(t.Text, 120)))
	}
	for _, p := range slices.Backward(s.Past[max(0, len(s.Past)-shownPast):]) {
		m.printf("- %s, **%s**: %s\n", FormatTime(p.At), escapeMarkup(string(p.Outcome)), escapeMarkup(clipRunes(p.Line(), 160)))
	}
	m.printf("\n")
}

func addSessionFacts(m *markdown, s *session.Snapshot) {
	m.printf("- agent %s, checkout of %s\n", inlineCode(s.Input.Provider), inlineCode(s.Input.Repository.Path))
	m.printf("- %d tokens used", s.Usage.TotalTokens)
	if s.Usage.Cost > 0 {
		m.printf(", %v", s.Usage.Cost)
	}
	m.printf("\n\nTo send a message: **More Actions → Update**, `say`, with a new id:\n\n")
	m.fence("json", `{"id": "a new id", "text": "your message"}`)
}
