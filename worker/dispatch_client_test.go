package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestRealClientsAreResumed has saved sessions of the real Claude Code and Codex
// take turns that dispatches own: never one that somebody has open, never two at
// a time, and again after the worker was killed in the middle of one.
func TestRealClientsAreResumed(t *testing.T) {
	need.Suite(t, need.Nightly)
	for name, backend := range map[string]dispatch.Backend{"claude": dispatch.ClaudeCode, "codex": dispatch.Codex} {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(realAgents, func(a realAgent) bool { return a.name == name })
			s := newAgentFixture(t, realAgents[i])
			s.env = append(s.env, host.ResumeVariable+"="+string(backend))
			open, id := s.talk()
			to := s.enlist(backend, id)
			w := s.spawn(s.env...)

			s.owned(to, "[[say:never]]", string(dispatch.OwnedLiveNoAutosend), "")
			if err := open.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.owned(to, "[[say:at your service]]", string(dispatch.Completed), "at your service")
			requests := s.model.Requests() // of which the last is that of this turn
			if last := requests[len(requests)-1].Text(); !strings.Contains(last, "good morning") {
				t.Errorf("it has forgotten what it was told before: %.300s", last)
			}

			// It does what needs no person, and nothing else.
			ledger, file := filepath.Join(s.dir, "ledger"), filepath.Join(s.repo, "sum.go")
			calls := strings.Join(s.agent.edit(file, "a - b", "a + b"), "") + s.agent.shell("printf x >> "+ledger)
			s.owned(to, calls+"[[say:edited]]", string(dispatch.Completed), "edited")
			if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "a + b") {
				t.Errorf("it could not edit: %s, %v", b, err)
			}
			if b, err := os.ReadFile(ledger); err == nil {
				t.Errorf("it ran a command that nobody allowed: %s", b)
			}

			lost := make(chan told, 1)
			go func() { lost <- s.own(to, "[[hang:1]][[say:lost]]") }()
			eventually.Holds(t, "the turn", func() bool { return heardOf(s.model, "[[say:lost]]") })
			s.owned(to, "[[say:never]]", string(dispatch.TargetLocked), "")
			w.kill()
			s.spawn(s.env...)
			if got := <-lost; got.word() != string(dispatch.Unknown) || got.Outcome.RetrySafe() {
				t.Errorf("%s", got)
			}
			s.owned(to, "[[say:here again]]", string(dispatch.Completed), "here again")
		})
	}
}

// talk has the agent itself begin a session, which stays open.
func (s *agentFixture) talk() (open agent.Session, id string) {
	s.t.Helper()
	open, err := s.adapter.Start(s.t.Context(), agent.Options{Dir: s.repo, Sandbox: agent.WorkspaceWrite})
	if err == nil {
		err = open.Send(s.t.Context(), "good morning [[say:hello]]")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for e := range open.Events() {
		if turn, over := e.(agent.Turn); over {
			if turn.Status != agent.Completed {
				s.t.Fatalf("%+v", turn)
			}
			break
		}
	}
	return open, open.ID()
}

// enlist makes a citizen of a session.
func (s *agentFixture) enlist(b dispatch.Backend, id string) dispatch.GardenID {
	s.t.Helper()
	dirs, err := citizen.FindDirs(func(name string) (string, bool) {
		for _, entry := range s.env {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	})
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := (&citizen.Store{Dir: dirs.Sessions}).Register(s.t.Context(), citizen.Birth{Backend: b, NativeSessionID: id, CWD: s.repo})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.GardenID
}

func (s *agentFixture) own(to dispatch.GardenID, message string) told {
	l := dispatch.Message{ID: uuid.NewString(), Request: dispatch.Request{Target: to, Intent: dispatch.OwnedOutcome, Message: message},
		Sender: dispatch.Sender{SessionID: "test", AgentID: "test", CWD: s.repo, Timestamp: "2026-01-02T03:04:05.000Z"}}
	res, err := s.post(s.t.Context(), l)
	return told{l, res, err}
}

// owned is own, which must end so.
func (s *agentFixture) owned(to dispatch.GardenID, message, want, answer string) {
	s.t.Helper()
	if got := s.own(to, message); got.word() != want || got.Outcome != nil && got.Outcome.Answer != answer {
		s.t.Errorf("%s", got)
	}
}
