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
// reading.
type workspaces struct {
	dir func(run.ID) string

	mu   sync.Mutex
	open map[run.ID]*held
}

type held struct {
	*workspace.Workspace
	id    run.ID
	repo  run.Repository
	named string // Header.Branch
	users int
	end   *time.Timer // set while there are no users
}

// use returns the workspace of a run, and opens it if it is not open. Release gives it back.
func (s *workspaces) use(ctx context.Context, p Header) (w *workspace.Workspace, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.open[p.RunID]
	if h != nil && (h.repo != p.Repository || h.named != p.Branch) {
		return nil, nil, errors.New("the run is about another repository or branch")
	}
	if h == nil {
		w, err := workspace.Open(ctx, workspace.Spec{
			Repo: p.Repository.Path, Prefix: p.Repository.Prefix, RunID: p.RunID,
			Base: p.Repository.Base, Branch: p.Branch, Name: p.Name, Dir: s.dir(p.RunID),
		})
		if err != nil {
			return nil, nil, err
		}
		h = &held{Workspace: w, id: p.RunID, repo: p.Repository, named: p.Branch}
		s.open[p.RunID] = h
	}
	h.users++
	if h.end != nil {
		h.end.Stop()
		h.end = nil
	}
	return h.Workspace, sync.OnceFunc(func() { s.release(h, idle) }), nil
}

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
	defer s.mu.Unlock()
	h.users--
	if h.users > 0 {
		return
	}
	if after == 0 {
		s.close(h)
		return
	}
	h.end = time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if h.users == 0 {
			s.close(h)
		}
	})
}

// close is called with the lock held.
func (s *workspaces) close(h *held) {
	if s.open[h.id] == h {
		delete(s.open, h.id)
		_ = h.Close() // it only read
	}
}
