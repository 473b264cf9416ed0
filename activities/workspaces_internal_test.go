package activities

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// smallRepository is a repository of one commit.
func smallRepository(t *testing.T) run.Repository {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) string { return gittest.Run(t, dir, args...) }
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	return run.Repository{Path: dir, Base: run.Commit(git("rev-parse", "HEAD"))}
}

func spacesIn(t *testing.T, open func(context.Context, workspace.Spec) (*workspace.Workspace, error)) *workspaces {
	dir := t.TempDir()
	s := &workspaces{dir: func(id run.ID) string { return filepath.Join(dir, string(id)) }, openAt: open, open: map[run.ID]*held{}}
	t.Cleanup(func() {
		for id := range s.open {
			s.drop(id)
		}
	})
	return s
}

const (
	slowRun  run.ID = "00000000-0000-4000-8000-000000000001"
	otherRun run.ID = "00000000-0000-4000-8000-000000000002"
)

// The repository of one run does not answer. The other run has its workspace meanwhile, and an activity of the slow run
// that is canceled does not wait.
func TestARunWaitsForItsOwnRepositoryOnly(t *testing.T) {
	repo, answers := smallRepository(t), make(chan struct{})
	begun := make(chan struct{})
	s := spacesIn(t, func(ctx context.Context, spec workspace.Spec) (*workspace.Workspace, error) {
		if spec.RunID == slowRun {
			close(begun)
			<-answers
		}
		return workspace.Open(ctx, spec)
	})
	first, second := make(chan error, 1), make(chan error, 1)
	take := func(got chan<- error) {
		_, release, err := s.use(t.Context(), Header{RunID: slowRun, Repository: repo})
		if err == nil {
			release()
		}
		got <- err
	}
	go take(first)
	<-begun
	go take(second) // would close begun a second time if it opened the repository, too
	_, release, err := s.use(t.Context(), Header{RunID: otherRun, Repository: repo})
	if err != nil {
		t.Fatal(err)
	}
	release()
	s.drop(otherRun)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.use(canceled, Header{RunID: slowRun, Repository: repo}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled activity got %v", err)
	}
	close(answers)
	for _, got := range []chan error{first, second} {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
}

// The activity that opens the workspace is canceled, or panics. The one that waits opens it then, and uses it.
func TestAWorkspaceThatFailedIsOpenedAgain(t *testing.T) {
	repo := smallRepository(t)
	var opens atomic.Int32
	begun, waits := make(chan struct{}), make(chan struct{})
	s := spacesIn(t, func(ctx context.Context, spec workspace.Spec) (*workspace.Workspace, error) {
		if opens.Add(1) == 1 {
			close(begun)
			<-waits
			panic("not today")
		}
		return workspace.Open(ctx, spec)
	})
	p := Header{RunID: slowRun, Repository: repo}
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		_, _, _ = s.use(t.Context(), p)
	}()
	<-begun
	got := make(chan error, 1)
	go func() {
		_, release, err := s.use(t.Context(), p)
		if err == nil {
			release()
		}
		got <- err
	}()
	eventually.Holds(t, "another activity waits for the workspace", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.open[slowRun].users == 2
	})
	close(waits)
	if v := <-panicked; v != "not today" {
		t.Errorf("the panic was lost: %v", v)
	}
	if err := <-got; err != nil || opens.Load() != 2 {
		t.Errorf("opened %d times: %v", opens.Load(), err)
	}
}
