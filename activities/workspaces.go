package activities

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// idle is the time that an unused workspace stays open for the run's next activity.
const idle = 3 * time.Second

// workspaces keeps the workspaces of active runs open between their activities. Each workspace
// reads objects through a git process of its own. Starting this process costs as much as all the
// reading. No run waits for the repository of another, which may be slow to open and to close.
type workspaces struct {
	dir    func(run.ID) string
	openAt func(context.Context, workspace.Spec) (*workspace.Workspace, error)

	mu   sync.Mutex
	open map[run.ID]*held
}

// held is the workspace of a run, or the opening of it.
type held struct {
	*workspace.Workspace
	opened chan struct{} // closed when Workspace or err is set
	err    error

	id    run.ID
	repo  run.Repository
	named string // Header.Branch
	users int
	end   *time.Timer // set while there are no users
}

// use returns the workspace of a run, and opens it if it is not open. Release gives it back.
func (s *workspaces) use(ctx context.Context, p Header) (w *workspace.Workspace, release func(), err error) {
	for {
		h, opens, err := s.join(p)
		switch {
		case err != nil:
			return nil, nil, err
		case opens:
			if err := s.begin(ctx, h, p); err != nil {
				return nil, nil, err
			}
		default:
			select {
			case <-h.opened:
			case <-ctx.Done():
				s.release(h, idle)
				return nil, nil, ctx.Err()
			}
		}
		if h.err == nil {
			return h.Workspace, sync.OnceFunc(func() { s.release(h, idle) }), nil
		}
		// The activity that opened it has failed, perhaps because its own time was up.
	}
}

// join counts one more user of the run's workspace. It reports whether the caller is the one to open it.
func (s *workspaces) join(p Header) (h *held, opens bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h = s.open[p.RunID]; h == nil {
		h = &held{id: p.RunID, repo: p.Repository, named: p.Branch, users: 1, opened: make(chan struct{})}
		s.open[p.RunID] = h
		return h, true, nil
	}
	if h.repo != p.Repository || h.named != p.Branch {
		return nil, false, errors.New("the run is about another repository or branch")
	}
	h.users++
	if h.end != nil {
		h.end.Stop()
		h.end = nil
	}
	return h, false, nil
}

// begin opens the workspace. One that cannot be opened is not held.
func (s *workspaces) begin(ctx context.Context, h *held, p Header) error {
	h.err = errUnopened
	defer func() {
		if h.err != nil {
			s.mu.Lock()
			delete(s.open, h.id)
			s.mu.Unlock()
		}
		close(h.opened)
	}()
	h.Workspace, h.err = s.openAt(ctx, workspace.Spec{
		Repo: p.Repository.Path, Prefix: p.Repository.Prefix, RunID: p.RunID,
		Base: p.Repository.Base, Branch: p.Branch, Name: p.Name, Dir: s.dir(p.RunID),
	})
	return h.err
}

// errUnopened is the error of an opening that panicked.
var errUnopened = errors.New("the workspace could not be opened")

// drop closes the workspace once its users are gone, at once if there are none.
func (s *workspaces) drop(id run.ID) {
	s.mu.Lock()
	h := s.open[id]
	if h != nil {
		h.users++
	}
	s.mu.Unlock()
	if h != nil {
		s.release(h, 0)
	}
}

func (s *workspaces) release(h *held, after time.Duration) {
	s.mu.Lock()
	h.users--
	unused := h.users == 0
	if unused && after > 0 {
		h.end = time.AfterFunc(after, func() { s.closeUnused(h) })
	}
	s.mu.Unlock()
	if unused && after == 0 {
		s.closeUnused(h)
	}
}

// closeUnused closes the workspace unless it is in use again.
func (s *workspaces) closeUnused(h *held) {
	s.mu.Lock()
	closes := h.users == 0 && s.open[h.id] == h
	if closes {
		delete(s.open, h.id)
	}
	s.mu.Unlock()
	if closes {
		_ = h.Close() // it only read
	}
}
