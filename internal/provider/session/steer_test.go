package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// patientAgent is an agent whose turn lasts until the test lets it end.
type patientAgent struct {
	*agenttest.Fake
	opened  chan struct{} // closed when the call has been told that the turn runs
	end     chan struct{}
	refuses bool              // every delivery
	took    func(text string) // is called before each delivery
}

func (p patientAgent) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, err := p.Fake.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	patient := patientSession{s.(agent.Watched), p, make(chan agent.Event)}
	go patient.tell()
	return patient, nil
}

// patientSession makes its tool calls, and tells of the end of its turn, once the test lets the turn end.
type patientSession struct {
	agent.Watched
	agent  patientAgent
	events chan agent.Event
}

func (s patientSession) Events() <-chan agent.Event { return s.events }

func (s patientSession) tell() {
	defer close(s.events)
	for e := range s.Watched.Events() {
		switch e.(type) {
		case agent.TurnClosed, agent.Turn:
			<-s.agent.end
		}
		s.events <- e
		if _, ok := e.(agent.TurnOpened); ok {
			close(s.agent.opened)
		}
	}
}

func (s patientSession) Decide(_ context.Context, d agent.PermissionDecision) error {
	go func() {
		<-s.agent.end
		_ = s.Watched.Decide(context.Background(), d)
	}()
	return nil
}

func (s patientSession) Deliver(ctx context.Context, d agent.Delivery) (string, error) {
	s.agent.took(d.Text)
	if s.agent.refuses {
		return "", &agent.Refused{Class: delivery.Benign, Cause: agent.ErrNoTurn}
	}
	return s.Watched.Deliver(ctx, d)
}

// callNoted makes a call of a patient agent. The lists of notes come while its turn lasts, which ends when all of them
// were looked at. It returns the messages that the agent was given.
func (b *bench) callNoted(a patientAgent, lists ...[]string) (resp provider.Response, passed []string, err error) {
	b.Helper()
	a.Fake, a.opened, a.end = b.fake, make(chan struct{}), make(chan struct{})
	a.took = func(text string) {
		passed = append(passed, text)
		if want := fmt.Sprintf(`"passed":%d`, len(passed)); !strings.Contains(string(b.site.note), want) {
			b.Errorf("a note is given before the disk says %s: %s", want, b.site.note)
		}
	}
	req := b.request(write("a.txt", "A") + "[[say:done]]")
	req.Work.Notes = func(context.Context) <-chan []run.Note {
		given := make(chan []run.Note)
		go func() {
			defer close(a.end)
			for i, texts := range append(lists, lists[len(lists)-1]) { // the last is taken when the others were looked at
				if i > 0 {
					<-a.opened
				}
				list := []run.Note{}
				for _, text := range texts {
					list = append(list, run.Note{Text: text, By: "kim"})
				}
				select {
				case given <- list:
				case <-b.Context().Done():
				}
			}
		}()
		return given
	}
	p := session.New(session.Config{Adapter: a, Pool: b.pool})
	resp, err = p.Generate(b.Context(), req, func(p provider.Progress) {
		if !p.Steers {
			b.Error("the progress does not say that the agent takes notes")
		}
	})
	return resp, passed, err
}

// heard counts how often the model has a text before it.
func (b *bench) heard(text string) (n int) {
	all := b.fake.Model.Requests()
	for _, m := range all[len(all)-1].Messages {
		if m.Role == fakemodel.User {
			n += strings.Count(strings.Join(m.Texts, ""), text)
		}
	}
	return n
}

func TestANoteReachesTheTurnUnderWayOnce(t *testing.T) {
	b := newBench(t)
	resp, passed, err := b.callNoted(patientAgent{}, []string{"use a table"}, []string{"use a table", "and a map"})
	if err != nil || resp.RawText != "done" || string(resp.Changes) != "a.txt=A\n" {
		t.Fatalf("%q with %q, %v", resp.RawText, resp.Changes, err)
	}
	if len(passed) != 2 || b.heard("use a table") != 1 || b.heard("and a map") != 1 || b.heard("End with the answer that the task asks for.") != 2 {
		t.Errorf("passed %q", passed)
	}
	if !slices.Contains(b.site.logged, "note read ") {
		t.Errorf("logged %q", b.site.logged)
	}

	// The worker dies before it keeps the answer. The next one resumes the session, and passes nothing again.
	b.site.edit(t, func(note map[string]any) { delete(note, "answer"); note["open"] = true })
	if _, passed, err = b.callNoted(patientAgent{}, []string{"use a table", "and a map"}); err != nil || len(passed) > 0 {
		t.Errorf("after a crash %q was passed, %v", passed, err)
	}

	// The session is lost. The one that takes its place has heard nothing.
	b.site.edit(t, func(note map[string]any) { delete(note, "answer"); note["open"], note["session"] = true, "unknown" })
	if _, passed, err = b.callNoted(patientAgent{}, []string{"use a table", "and a map"}); err != nil || len(passed) != 2 {
		t.Errorf("to a new session %q was passed, %v", passed, err)
	}
}

func TestANoteThatTheAgentRefusesIsNotPassedAgain(t *testing.T) {
	b := newBench(t)
	resp, passed, err := b.callNoted(patientAgent{refuses: true}, []string{"use a table"}, []string{"use a table"})
	if err != nil || resp.RawText != "done" || len(passed) != 1 || b.heard("use a table") > 0 {
		t.Fatalf("%q, %q, %v", resp.RawText, passed, err)
	}
	refused := func(line string) bool { return strings.HasPrefix(line, "note perhaps not passed") }
	if n := len(slices.DeleteFunc(b.site.logged, func(line string) bool { return !refused(line) })); n != 1 {
		t.Errorf("refused %d times", n)
	}
}

// unproved is an agent that does not prove that it takes messages into a turn.
type unproved struct{ *agenttest.Fake }

func (u unproved) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, err := u.Fake.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return unprovedSession{s.(agent.Watched)}, nil
}

type unprovedSession struct{ agent.Watched }

func (s unprovedSession) Capabilities() delivery.Capabilities {
	c := s.Watched.Capabilities()
	c.Steer.KeepsAnswers = false
	return c
}

func TestAnAgentIsSteeredOnlyWithAProof(t *testing.T) {
	b := newBench(t)
	req := b.request(write("a.txt", "A") + "[[say:done]]")
	req.Work.Notes = func(context.Context) <-chan []run.Note {
		t.Error("the notes are watched")
		return nil
	}
	p := session.New(session.Config{Adapter: unproved{b.fake}, Pool: b.pool})
	_, err := p.Generate(t.Context(), req, func(p provider.Progress) {
		if p.Steers {
			t.Error("the progress says that the agent takes notes")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
