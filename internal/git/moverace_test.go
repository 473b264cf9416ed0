package git_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/need"
)

// race is a branch that many move at once.
type race struct {
	repo git.Repo
	name string
	tree git.ID // of each commit

	mu    sync.Mutex
	moves []git.RefMove // those that were made
}

func (r *race) byGit(ctx context.Context, args ...string) bool {
	_, err := r.repo.Run(ctx, args...)
	return err == nil
}

func (r *race) updateRef(ctx context.Context, m git.RefMove) bool {
	return r.byGit(ctx, "update-ref", "--no-deref", "-m", m.Message, m.Name, string(m.New), string(m.Old))
}

// at returns the value of the branch as git tells it.
func (r *race) at(ctx context.Context) git.ID {
	out, err := r.repo.Run(ctx, "rev-parse", "-q", "--verify", r.name)
	if err != nil {
		return r.tree.Zero()
	}
	return git.ID(strings.TrimSpace(string(out)))
}

// write moves the branch to a commit that nothing else moves it to, from wherever it is.
func (r *race) write(ctx context.Context, title string, move func(git.RefMove) bool) error {
	const who = "a <a@b> 1700000000 +0000"
	pack := git.NewPack(r.tree)
	m := git.RefMove{Name: r.name, Message: "ratchet"}
	m.New = pack.Add(git.Commit, fmt.Appendf(nil, "tree %s\nauthor %s\ncommitter %s\n\n%s\n", r.tree, who, who, title))
	if err := r.repo.Store(ctx, pack); err != nil {
		return err
	}
	for moved := false; !moved; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m.Old = r.at(ctx)
		moved = move(m)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moves = append(r.moves, m)
	return nil
}

// Of all moves that several make at once, with and without a git, while gits pack all references and collect garbage,
// none is lost.
func TestNoMoveIsLost(t *testing.T) {
	need.Suite(t, need.CI)
	const writers, moves, packings = 4, 25, 3
	repo := newRepo(t, "-b", "other")
	r := &race{repo: repo, name: "refs/heads/ratchet/x", tree: git.ID(run(t, repo, "write-tree"))}
	first := git.ID(run(t, repo, "commit-tree", "-m", "first", string(r.tree)))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var packed, collected atomic.Int32
	var writing, packing sync.WaitGroup
	for i := range writers {
		move := func(m git.RefMove) bool { return moveRef(t, repo, m) }
		if i == 0 {
			move = func(m git.RefMove) bool { return r.updateRef(ctx, m) }
		}
		writing.Go(func() {
			for n := 0; n < moves || packed.Load() < packings || collected.Load() < packings; n++ {
				if err := r.write(ctx, fmt.Sprint(i, n), move); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	// Each packing has a reference more than the last. Git takes a new packed-refs for the one that it has read if both
	// have the same size, second and inode, and would lose moves itself.
	written := make(chan struct{})
	pack := func(done *atomic.Int32, args ...string) {
		for n := 0; ; n++ {
			select {
			case <-written:
				return
			default:
			}
			more := git.RefMove{Name: fmt.Sprintf("refs/heads/more/%s-%d", args[0], n), Old: first.Zero(), New: first, Message: "ratchet"}
			if r.updateRef(ctx, more) && r.byGit(ctx, args...) {
				done.Add(1)
			}
		}
	}
	packing.Go(func() { pack(&packed, "pack-refs", "--all", "--prune") })
	packing.Go(func() { pack(&collected, "gc", "--quiet") })
	writing.Wait()
	close(written)
	packing.Wait()
	t.Logf("%d moves; references packed %d times, garbage collected %d times", len(r.moves), packed.Load(), collected.Load())
	r.verify(t)
	run(t, repo, "fsck", "--strict")
}

// verify fails unless the moves make one chain, and the log tells it.
func (r *race) verify(t *testing.T) {
	t.Helper()
	next := map[git.ID]git.ID{}
	for _, m := range r.moves {
		if next[m.Old] != "" {
			t.Errorf("the branch was moved from %s to %s and to %s: one move is lost", m.Old, next[m.Old], m.New)
		}
		next[m.Old] = m.New
	}
	text, err := os.ReadFile(filepath.Join(r.repo.GitDir, "logs", r.name))
	if err != nil {
		t.Fatal(err)
	}
	at := r.tree.Zero()
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] != string(at) || fields[1] != string(next[at]) {
			t.Fatalf("the log moves the branch from %s to %s; it moved from %s to %s", fields[0], fields[1], at, next[at])
		}
		at = next[at]
	}
	if n := strings.Count(string(text), "\n"); n != len(r.moves) || at != r.at(t.Context()) {
		t.Errorf("%d moves, %d in the log, to %s; the branch is at %s", len(r.moves), n, at, r.at(t.Context()))
	}
}
