// Package agenttest holds the suite that every adapter to agents must pass, the
// reading of a session's events in tests, and Fake, an agent in memory.
package agenttest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// Subject is an adapter under test. Its manifest says which capabilities it has;
// the cases for the others are skipped.
type Subject struct {
	// New makes an adapter, and the options of a first start: with a Dir and, if the
	// agent keeps anything, a home that nothing else uses; a Sandbox in which Touch
	// asks; and an agent that talks to model.
	New func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options)
	// Touch is a prompt whose one tool call asks for a permission and then
	// creates the file.
	Touch func(path string) string
	// Real says that the agent is the vendor's own program, which takes seconds of CPU time for each case. Its cases run
	// one after the other, in CI those in smoke alone.
	Real bool
}

// smoke names the cases of a real client in CI.
var smoke = []string{
	"the manifest says what is there", "a turn", "another process goes on with a session", "an allowed call is made",
	"a denied call is not made", "an interrupt in the stream", "a stop in a turn", "a process that is killed",
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	adapter, _ := s.New(t, fakemodel.Start(t))
	can := InstalledManifest(t, adapter).Capabilities
	cases := slices.Concat(basics, permissions, interrupts, endings)
	if s.Real && !need.Has(need.Nightly) {
		cases = slices.DeleteFunc(cases, func(c testCase) bool { return !slices.Contains(smoke, c.name) })
		if len(cases) != len(smoke) {
			t.Fatalf("the suite has %d of the cases %q", len(cases), smoke)
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if !s.Real {
				t.Parallel()
			}
			if c.needs != nil && !c.needs(can) {
				t.Skip("the manifest says that it cannot")
			}
			c.test(newBench(t, s, can))
		})
	}
}

// InstalledManifest returns the manifest of an adapter whose agent must be there.
// An agent that starts for the first time may need longer than one manifest lasts.
func InstalledManifest(t *testing.T, a agent.Adapter) agent.Manifest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	for {
		m := a.Manifest(ctx)
		if m.Installed && m.Unavailable == "" {
			return m
		}
		if ctx.Err() != nil {
			t.Fatalf("not installed: %s", m.Unavailable)
		}
	}
}

// testCase is one case of the suite.
type testCase struct {
	name  string
	needs func(agent.Capabilities) bool // nil: nothing
	test  func(*bench)
}

func canAsk(c agent.Capabilities) bool       { return c.Permissions }
func canResume(c agent.Capabilities) bool    { return c.Resume }
func canInterrupt(c agent.Capabilities) bool { return c.Interrupt }

// bench is the environment of one case.
type bench struct {
	*testing.T
	Subject
	can     agent.Capabilities
	model   *fakemodel.Server
	adapter agent.Adapter
	options agent.Options
	mark    string
}

// markName is a variable that only the processes of one case carry.
const markName = "RATCHET_AGENTTEST"

func newBench(t *testing.T, s Subject, can agent.Capabilities) *bench {
	b := &bench{T: t, Subject: s, can: can, model: fakemodel.Start(t), mark: markName + "=" + uuid.NewString()}
	b.adapter, b.options = s.New(t, b.model)
	b.options.Env = append(slices.Clone(b.options.Env), b.mark)
	if b.options.Log == nil {
		b.options.Log = t.Output()
	}
	t.Cleanup(b.endMarked)
	return b
}

// startSession begins a session that is stopped when the case ends.
func (b *bench) startSession(o agent.Options) (agent.Session, *Log) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), Patience)
	defer cancel()
	s, err := b.adapter.Start(ctx, o)
	if err != nil {
		b.Fatalf("start: %v", err)
	}
	b.Cleanup(func() { b.stopSession(s) })
	if s.PID() != 0 && canFindProcesses() && len(b.findMarked()) == 0 {
		b.Error("the agent's process has not got the variables of the options")
	}
	return s, Watch(b, s)
}

// stopSession stops a session and checks that no process of it is left.
func (b *bench) stopSession(s agent.Session) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		b.Errorf("stop: %v", err)
	}
	if left := b.findMarked(); len(left) > 0 {
		b.Errorf("after the stop these are left: %v", left)
	}
}

// resumeOptions returns the options of a start that resumes s.
func (b *bench) resumeOptions(s agent.Session) agent.Options {
	b.Helper()
	o := b.options
	if o.Resume = s.ID(); o.Resume == "" {
		b.Fatal("the session has no id")
	}
	return o
}

// checkWorks checks that the session takes another turn.
func (b *bench) checkWorks(l *Log) {
	b.Helper()
	const answer = "as good as new"
	turn, _ := l.Turn("once more " + fakemodel.Say(answer))
	if turn.Status != agent.Completed || turn.Text != answer {
		b.Fatalf("the next turn was %s with %q, error %v:%s", turn.Status, turn.Text, turn.Err, l)
	}
}

// waitForRequest waits until the model has got a request with the text.
func (b *bench) waitForRequest(l *Log, text string) {
	b.Helper()
	l.Poll("request to the model", func() bool { return b.modelHeard(text) })
}

func (b *bench) modelHeard(text string) bool {
	return slices.ContainsFunc(b.model.Requests(), func(q fakemodel.Request) bool {
		return len(q.Tools) > 0 && strings.Contains(q.Text(), text)
	})
}
