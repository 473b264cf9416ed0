// Package session implements the activities of standing sessions: the process of an agent, which one
// activity owns, and the messages to it. Each activity may run twice, unless its doc says otherwise.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// Opening describes the adapter to make for a session.
type Opening struct {
	Spec    string
	Dir     string // in which a program named by a relative path is looked for
	Sandbox run.Sandbox
}

// Config configures the activities. Runs, Open, Redact, LookupEnv and Queue are required.
type Config struct {
	Runs *rundir.Store
	// Open makes an adapter. The error says why none of its programs may start here.
	Open   func(Opening) (agent.Adapter, error)
	Redact *redact.Redactor
	// LookupEnv finds a variable of the worker.
	LookupEnv func(string) (string, bool)
	// Queue is the task queue that this worker alone serves.
	Queue string
	// Most bounds the agents that live at once; zero means DefaultMost. Idle is how long an agent without
	// a turn lives; zero means DefaultIdle.
	Most int
	Idle time.Duration
	// Quiet bounds the silence of an agent in a turn in which none of its tools runs; zero means
	// DefaultQuiet.
	Quiet time.Duration
	// Host lets other sessions reach those that live; nil: none can.
	Host Host
	// Kit finds what an agent's programs need in the box; nil: nothing.
	Kit func(ctx context.Context, repo run.Repository, slot rundir.Slot, want run.Sandbox) (kit agent.Kit, release func(), err error)
	// Tools serves the agents that may start runs; nil: a session with such an agent does not start.
	Tools RunTools
}

// The defaults (docs/contracts/agent.md, 8).
const (
	DefaultMost  = 8
	DefaultIdle  = time.Hour
	DefaultQuiet = 5 * time.Minute
)

// The limits of one process.
const (
	startLimit = 2 * time.Minute
	stopLimit  = 10 * time.Second // for an orderly stop
	// holdLimit bounds the wait for a worker that is just giving the session up.
	holdLimit = 15 * time.Second
	// peerLimit bounds how long a session's events wait until other sessions know it: a stopped worker may hold the lock
	// of the registry.
	peerLimit = 5 * time.Second
)

// Activities holds the activities of sessions. New makes one.
type Activities struct {
	Config // complete

	mu     sync.Mutex
	places *sync.Cond // a process ended
	living map[session.ID]*agentProcess
}

// New refuses an incomplete configuration.
func New(c Config) (*Activities, error) {
	if c.Runs == nil || c.Open == nil || c.Redact == nil || c.LookupEnv == nil || c.Queue == "" {
		return nil, errors.New("sessions: the configuration is incomplete")
	}
	c.Most, c.Idle, c.Quiet = cmp.Or(c.Most, DefaultMost), cmp.Or(c.Idle, DefaultIdle), cmp.Or(c.Quiet, DefaultQuiet)
	a := &Activities{Config: c, living: map[session.ID]*agentProcess{}}
	a.places = sync.NewCond(&a.mu)
	return a, nil
}

// Owner holds the activities that reach an agent process. The worker that owns the process serves
// them alone, on its own task queue. None of them may be retried: see ownerActivity of
// workflows/session.
type Owner struct{ a *Activities }

// NewOwner returns the activities of the owner of the processes that a starts.
func NewOwner(a *Activities) *Owner { return &Owner{a} }

// findProcess returns the process while its agent takes input.
func (a *Activities) findProcess(id session.ID, epoch int) (*agentProcess, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.living[id]
	if s == nil || s.epoch != epoch || s.leaving {
		return nil, fmt.Errorf("agent process %d of session %s has ended", epoch, id)
	}
	return s, nil
}

// openCheckout opens the session's checkout.
func openCheckout(slot rundir.Slot, repo run.Repository) (*scratch.Scratch, error) {
	return scratch.Open(scratch.Spec{Repo: repo.Path, Prefix: repo.Prefix, Dir: filepath.Join(slot.Path(), "checkout")})
}

// signalWorkflow signals the workflow of the activity, and tries until ctx ends: the engine may be away.
func signalWorkflow(ctx context.Context, name string, what any) error {
	info := activity.GetInfo(ctx).WorkflowExecution
	for pause := signalPause; ; pause = min(2*pause, time.Second) {
		err := activity.GetClient(ctx).SignalWorkflow(ctx, info.ID, info.RunID, name, what)
		if err == nil || ctx.Err() != nil || isOver(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

const signalPause = 50 * time.Millisecond
