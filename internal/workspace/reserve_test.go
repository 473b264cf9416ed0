package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/workspace"
)

func TestOneOfManyReservesABranch(t *testing.T) {
	r := userRepo(t, sample)
	base := specOf(t, r).Base
	var got atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch err := workspace.Reserve(t.Context(), r.Dir, "ratchet/14-mend-it", base); {
			case err == nil:
				got.Add(1)
			case !errors.Is(err, workspace.ErrBranchTaken):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got.Load() != 1 {
		t.Errorf("%d have it", got.Load())
	}
	for branch, want := range map[string]int{"ratchet/20-x": 20, "ratchet/7-y": 20, "ratchet/30": 20, "agents/40-x": 20, "ratchet/031-x": 20} {
		runGit(t, r, "branch", branch)
		if n, err := workspace.LastNumber(t.Context(), r.Dir); err != nil || branch == "ratchet/20-x" && n != want || n > 20 {
			t.Errorf("%s: %d, %v", branch, n, err)
		}
	}
}

// A git on a busy machine may hold its lock on the branch for longer than git waits by itself, 100 ms.
func TestAReservationWaitsForAnotherGit(t *testing.T) {
	r := userRepo(t, sample)
	lock := filepath.Join(r.Dir, ".git", "refs", "heads", "x.lock")
	must(t, os.WriteFile(lock, nil, 0o600))
	time.AfterFunc(time.Second, func() { _ = os.Remove(lock) })
	must(t, workspace.Reserve(t.Context(), r.Dir, "x", specOf(t, r).Base))
}

func TestAReservedBranchThatMovedIsKept(t *testing.T) {
	r := userRepo(t, sample)
	base := specOf(t, r).Base
	must(t, workspace.Reserve(t.Context(), r.Dir, "ratchet/1-x", base))
	must(t, workspace.Unreserve(t.Context(), r.Dir, "ratchet/1-x", base))
	if got := runGit(t, r, "for-each-ref", "refs/heads/ratchet/"); got != "" {
		t.Errorf("it is left: %s", got)
	}
	must(t, workspace.Reserve(t.Context(), r.Dir, "ratchet/1-x", base))
	runGit(t, r, "switch", "-q", "ratchet/1-x")
	runGit(t, r, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "mine")
	if err := workspace.Unreserve(t.Context(), r.Dir, "ratchet/1-x", base); err == nil {
		t.Error("a branch with a commit was removed")
	}
}

// Two engines can give a number to runs of one repository. A run takes no branch with commits that it has
// not made, although the name fits.
func TestABranchOfANumberIsNotAnotherRuns(t *testing.T) {
	r := userRepo(t, sample)
	spec := specOf(t, r)
	spec.Name, spec.Branch = "slug#1", "ratchet/1-mend-it"
	runGit(t, r, "switch", "-q", "-c", spec.Branch)
	commit := func(trailer string) {
		runGit(t, r, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "work\n\nRatchet-Run: "+trailer)
	}
	commit("ffffffff-another")
	runGit(t, r, "switch", "-q", "main")
	before := refs(t, r)
	w := open(t, spec)
	if err := w.Prepare(t.Context()); !errors.Is(err, workspace.ErrForeign) || !strings.Contains(err.Error(), "did not make") {
		t.Errorf("error %v, want ErrForeign", err)
	}
	if after := refs(t, r); after != before {
		t.Errorf("references were\n%s\nand are\n%s", before, after)
	}
	runGit(t, r, "switch", "-q", spec.Branch)
	commit(string(runID))
	runGit(t, r, "switch", "-q", "main")
	must(t, w.Prepare(t.Context()))
}
