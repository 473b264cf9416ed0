package agenttest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// FakeKind is the kind of Fake.
const FakeKind agent.Kind = "fake"

// Fake is an agent in memory: an adapter whose sessions have no process, and
// whose model is a fakemodel. NewFake makes one. Its tools are
//
//	write {"path":P,"content":C}   change a file of its directory, after asking
//	run {"command":C}              run nothing, after asking: see Ran
//	read {"path":P}                read a file of it, without asking
//
// With FullAccess, and for Options.Tools, it does not ask; with ReadOnly it refuses
// write and run. Sessions can be resumed within the same Fake. A token costs a
// millionth of a dollar, and the window has the 200,000 tokens that agent.LimitsOf
// assumes.
type Fake struct {
	Model *fakemodel.Model
	// Refuse, unless nil, is called before each start. Its error is the error of the
	// start.
	Refuse func(agent.Options) error
	// Took, unless nil, is called for each delivery that was taken, before that is answered.
	Took func(agent.Delivery)
	// Foreign lets sessions be resumed that another Fake began, of which this one knows no message.
	Foreign bool

	mu     sync.Mutex
	past   map[string]*past
	living []*fakeSession
	starts []agent.Options
	ran    []string
}

// past is the stored part of a session.
type past struct {
	mu       sync.Mutex
	messages []fakemodel.Message
	turns    []agent.ThreadTurn
}

// NewFake returns an agent without sessions.
func NewFake(model *fakemodel.Model) *Fake { return &Fake{Model: model, past: map[string]*past{}} }

// Starts returns the options of every start that was not refused.
func (f *Fake) Starts() []agent.Options {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.starts)
}

// Ran returns the commands that the tool "run" was allowed to run.
func (f *Fake) Ran() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ran)
}

// Living returns the number of sessions that were not stopped and did not crash.
func (f *Fake) Living() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.living)
}

// Crash ends every living session as if its process had been killed.
func (f *Fake) Crash() {
	f.mu.Lock()
	living := f.living
	f.living = nil
	f.mu.Unlock()
	for _, s := range living {
		s.endSession()
		s.queue.Close(agent.Exit{Code: -1, Signal: "killed"})
	}
}

// Kind implements agent.Adapter.
func (f *Fake) Kind() agent.Kind { return FakeKind }

// Manifest implements agent.Adapter.
func (f *Fake) Manifest(context.Context) agent.Manifest {
	return agent.Manifest{
		Kind: FakeKind, Label: "Fake", Installed: true, Version: "1", Status: agent.Supported, ModelsSource: "static",
		Models: []agent.Model{{Code: "fake-model", ContextWindow: fakeWindow, Default: true}}, Modes: []agent.Mode{},
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: true, DenyReason: true, Resume: true, Interrupt: true, Cost: true,
			ContextUsage: "native", Sandbox: "soft",
		},
	}
}

// Start implements agent.Adapter.
func (f *Fake) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := f.checkOptions(o); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := o.Resume
	if id == "" {
		id = uuid.NewString()
	}
	if f.past[id] == nil && (o.Resume == "" || f.Foreign) {
		f.past[id] = &past{}
	}
	if f.past[id] == nil {
		return nil, agent.ErrNoSession
	}
	s := newFakeSession(f, id, o)
	f.starts = append(f.starts, o)
	f.living = append(f.living, s)
	s.queue.Put(agent.Started{SessionID: id, Resumed: o.Resume != ""})
	return s, nil
}

func (f *Fake) checkOptions(o agent.Options) error {
	if f.Refuse != nil {
		if err := f.Refuse(o); err != nil {
			return err
		}
	}
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		return fmt.Errorf("working directory %q: not a directory", o.Dir)
	}
	switch o.Sandbox {
	case agent.ReadOnly, agent.WorkspaceWrite, agent.FullAccess:
		return nil
	default:
		return fmt.Errorf("unknown sandbox %q", o.Sandbox)
	}
}

func (f *Fake) forgetSession(s *fakeSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.living = slices.DeleteFunc(f.living, func(other *fakeSession) bool { return other == s })
}
