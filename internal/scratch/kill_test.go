package scratch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// The test binary is its own worker: with this variable it does one job and ends.
const jobVariable = "RATCHET_TEST_JOB"

type job struct {
	Spec   scratch.Spec
	Commit run.Commit
}

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		var j job
		err := json.Unmarshal([]byte(text), &j)
		if err == nil {
			err = j.work(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work is what a worker does with a checkout, from the beginning: it makes it
// unless it is made, works in it, and prints the changes before it removes it.
func (j job) work(ctx context.Context) error {
	s, err := scratch.Open(j.Spec)
	if err != nil {
		return err
	}
	if c, ok := s.Made(); !ok || c != j.Commit {
		if err := s.Make(ctx, j.Commit); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(s.WorkDir(), "new"), []byte("work\n"), 0o600); err != nil {
		return err
	}
	diff, err := s.Changes(ctx, patch.Limits{})
	if err != nil {
		return err
	}
	fmt.Printf("%s", diff)
	return s.Remove(ctx)
}

// process is the test binary doing the job.
func (j job) process(t testing.TB, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	text, err := json.Marshal(j)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$")
	cmd.Env = append(os.Environ(), append(env, jobVariable+"="+string(text))...)
	cmd.Stderr = os.Stderr
	return cmd
}

// finish does the job in peace.
func (j job) finish(t *testing.T) {
	t.Helper()
	out, err := j.process(t).Output()
	if err != nil || strings.Count(string(out), "diff --git") != 1 || !strings.HasSuffix(string(out), "@@ -0,0 +1 @@\n+work\n") {
		t.Errorf("after the kills: %v\n%s", err, out)
	}
	if _, err := os.Stat(j.Spec.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the checkout is still there: %v", err)
	}
}

// wantWhole fails unless a checkout that claims to be made is.
func (j job) wantWhole(t *testing.T) {
	t.Helper()
	s := open(t, j.Spec)
	if _, ok := s.Made(); !ok {
		return
	}
	got := gittest.Tree(t, s.WorkDir())
	delete(got, "new")
	for name, want := range sample {
		if got[name] != want {
			t.Errorf("made, but %s is %q", name, got[name])
		}
	}
	if len(got) != len(sample) {
		t.Errorf("made, but of %d files, want %d", len(got), len(sample))
	}
}

var points = []string{
	"scratch.before-clear", "scratch.mid-clear", "scratch.after-clear", "scratch.after-files",
	"scratch.before-mark", "scratch.after-mark", "scratch.mid-changes", "scratch.before-remove", "scratch.mid-remove",
}

func TestKilledAtEveryPoint(t *testing.T) {
	need.Suite(t, need.CI)
	log := filepath.Join(t.TempDir(), "points")
	t.Run("points", func(t *testing.T) {
		for _, point := range points {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				r := userRepo(t, sample)
				j := job{beside(r), head(t, r)}
				before := state(t, r.Dir)
				for i := range 2 {
					cmd := j.process(t, "RATCHET_FAILPOINTS="+point+"=kill", "RATCHET_FAILPOINT_LOG="+log)
					again := i > 0 && point == "scratch.after-mark" // made: it is not made again
					if err := cmd.Run(); killed(err) == again {
						t.Fatalf("time %d: %v, want killed", i+1, err)
					}
					if !again {
						j.wantWhole(t)
					}
				}
				j.finish(t)
				if state(t, r.Dir) != before {
					t.Error("the user's repository has changed")
				}
			})
		}
	})
	text, err := os.ReadFile(log)
	must(t, err)
	reached := strings.Fields(string(text))
	for _, point := range points {
		if !slices.Contains(reached, point) {
			t.Errorf("%s was never reached", point)
		}
	}
	for _, point := range reached {
		if !slices.Contains(points, point) {
			t.Errorf("%s is not in the list of points", point)
		}
	}
}

func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// Kills at any moment, with the orphaned git still at work when the next worker comes.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	need.Suite(t, need.Nightly)
	r := userRepo(t, sample)
	j := job{beside(r), head(t, r)}
	before := state(t, r.Dir)
	kills := 0
	for i := range 30 {
		cmd := j.process(t)
		must(t, cmd.Start())
		// The moments are spread over the length of the job; that some miss is no harm.
		timer := time.AfterFunc(time.Duration(3+2*i)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		if killed(cmd.Wait()) {
			kills++
		}
		timer.Stop()
		j.wantWhole(t)
		if i%3 == 2 {
			j.finish(t)
		}
	}
	t.Logf("%d workers killed", kills)
	if state(t, r.Dir) != before {
		t.Error("the user's repository has changed")
	}
}

// The git that a killed worker left at work keeps the next one out until it has
// ended.
func TestOrphanedGitIsWaitedFor(t *testing.T) {
	r := userRepo(t, sample)
	j := job{beside(r), head(t, r)}
	bin := t.TempDir()
	real := need.Program(t, "git")
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in read-tree) : >'%[1]s/started'; while [ ! -e '%[1]s/go' ]; do sleep 0.01; done;; esac\nexec '%[2]s' \"$@\"\n", bin, real)
	must(t, proctest.WriteProgram(filepath.Join(bin, "git"), script))
	cmd := j.process(t, "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Stderr = nil // the orphan would hold a pipe
	must(t, cmd.Start())
	for ctx := t.Context(); ; {
		if _, err := os.Stat(filepath.Join(bin, "started")); err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("git was never started")
		}
		time.Sleep(time.Millisecond)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	s := open(t, j.Spec)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Make(ctx, j.Commit); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("make beside the orphan: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(bin, "go"), nil, 0o644))
	j.finish(t)
}

// A deadline kills git itself, wherever it is: its locks and half-written files stay.
func TestGitKilledAtAnyMoment(t *testing.T) {
	need.Suite(t, need.Nightly)
	t.Parallel()
	r := userRepo(t, sample)
	s, commit := open(t, beside(r)), head(t, r)
	cut := 0
	for i := range 25 {
		_, before := s.Made() // by a try that had more time
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		if err := s.Make(ctx, commit); err != nil {
			cut++
			if _, ok := s.Made(); ok && !before {
				t.Errorf("made, though %v", err)
			}
		}
		_, _ = s.Changes(ctx, patch.Limits{})
		cancel()
	}
	t.Logf("%d cut short", cut)
	must(t, s.Make(t.Context(), commit))
	gittest.WantTree(t, s.WorkDir(), sample)
	if diff := changes(t, s); diff != "" {
		t.Errorf("changes:\n%s", diff)
	}
}

// Calls from several places come one after the other.
func TestCallsAtOnce(t *testing.T) {
	r := userRepo(t, sample)
	commit := head(t, r)
	errs := make(chan error)
	for range 4 {
		s := open(t, beside(r))
		go func() {
			err := s.Make(t.Context(), commit)
			if err == nil {
				_, err = s.Changes(t.Context(), patch.Limits{})
			}
			if errors.Is(err, scratch.ErrNotMade) { // another has removed it
				err = nil
			}
			errs <- errors.Join(err, s.Remove(t.Context()))
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestWaitingForTheLockEndsWithTheContext(t *testing.T) {
	r, s := made(t)
	f, err := os.Open(filepath.Join(beside(r).Dir, "lock"))
	must(t, err)
	defer f.Close()
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := s.Changes(ctx, patch.Limits{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("changes: %v", err)
	}
	if err := s.Make(ctx, head(t, r)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("make: %v", err)
	}
	if err := s.Remove(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("remove: %v", err)
	}
}
