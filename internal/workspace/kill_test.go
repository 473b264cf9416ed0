package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// The test binary is its own worker: with this variable it does one job and ends.
const jobVariable = "RATCHET_TEST_JOB"

func TestMain(m *testing.M) {
	if job := os.Getenv(jobVariable); job != "" {
		if err := work(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// job is what the test binary is to do: a run's work.
type job struct{ Spec workspace.Spec }

func work(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := finish(ctx, j.Spec)
	fmt.Println(c)
	return err
}

// finish is what a worker does with a workspace in a run, from the beginning.
func finish(ctx context.Context, spec workspace.Spec) (run.Commit, error) {
	w, err := workspace.Open(ctx, spec)
	if err != nil {
		return "", err
	}
	defer w.Close()
	if err := w.Prepare(ctx); err != nil {
		return "", err
	}
	c, err := w.Commit(ctx, commitOf(spec.Base, edited()))
	if err != nil {
		return "", err
	}
	err = os.WriteFile(filepath.Join(w.Dir(), "rubbish"), nil, 0o600)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // another worker has removed it already
		return "", err
	}
	if err := w.Sync(ctx, c); err != nil {
		return "", err
	}
	if err := w.Clear(ctx); err != nil {
		return "", err
	}
	if err := w.Sync(ctx, c); err != nil {
		return "", err
	}
	return c, w.Remove(ctx)
}

// worker is the test binary doing the job of spec.
func worker(t testing.TB, spec workspace.Spec, env ...string) *exec.Cmd {
	t.Helper()
	return job{Spec: spec}.process(t, env...)
}

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

var points = []string{
	"workspace.before-create-branch", "workspace.after-create-branch",
	"workspace.before-sync", "workspace.mid-sync", "workspace.before-repository", "workspace.mid-repository", "workspace.after-sync",
	"workspace.before-objects", "workspace.after-objects",
	"workspace.before-update-ref", "workspace.after-update-ref",
	"workspace.before-clear", "workspace.after-clear", "workspace.before-remove", "workspace.mid-erase", "workspace.after-remove",
}

// A worker that is killed at any point, and then once more at the next time it gets there,
// leaves what the next one finishes: the same commit, once.
func TestKilledAtEveryPoint(t *testing.T) {
	need.Suite(t, need.CI)
	log := filepath.Join(t.TempDir(), "points")
	t.Run("points", func(t *testing.T) {
		for _, point := range points {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				r := userRepo(t, sample)
				spec := specOf(t, r)
				before := userState(t, r)
				for _, action := range []string{"kill", "kill@2"} {
					cmd := worker(t, spec, "RATCHET_FAILPOINTS="+point+"="+action, "RATCHET_FAILPOINT_LOG="+log)
					err := cmd.Run()
					if action == "kill" && !killed(err) {
						t.Fatalf("%s: %v, want killed", action, err)
					}
					verifyHead(t, spec)
				}
				if out, err := worker(t, spec).Output(); err != nil || strings.TrimSpace(string(out)) != goldenSHA1 {
					t.Errorf("after the kills: %q, %v; want commit %s", out, err, goldenSHA1)
				}
				w := open(t, spec)
				log, err := w.Log(t.Context(), spec.Base, goldenSHA1)
				if err != nil || len(log) != 1 {
					t.Errorf("log %v, %v; want one commit", log, err)
				}
				settle(t, w, goldenSHA1)
				gittest.WantTree(t, w.Dir(), editedTree)
				must(t, w.Remove(t.Context()))
				if userState(t, r) != before {
					t.Error("the user's files have changed")
				}
				runGit(t, r, "fsck", "--strict")
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

// verifyHead fails unless the branch is where it was or where the commit puts it.
func verifyHead(t testing.TB, spec workspace.Spec) {
	t.Helper()
	head, err := open(t, spec).Head(t.Context())
	switch {
	case head == "" && err == nil:
	case err != nil || head != spec.Base && head != goldenSHA1:
		t.Errorf("head %s, %v; want %s or %s", head, err, spec.Base, goldenSHA1)
	}
}

// Kills at any moment, not only at our points, with the orphaned git still at work
// when the next worker comes.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	need.Suite(t, need.Nightly)
	r := userRepo(t, sample)
	base := specOf(t, r)
	before := userState(t, r)
	kills := 0
	for i := range 36 {
		spec := base
		spec.RunID += run.ID(fmt.Sprintf("-%d", i/3))
		spec.Dir += fmt.Sprintf("-%d", i/3)
		cmd := worker(t, spec)
		must(t, cmd.Start())
		// The moments are spread over the length of the job; that some miss is no harm.
		timer := time.AfterFunc(time.Duration(3+i%30)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		if killed(cmd.Wait()) {
			kills++
		}
		timer.Stop()
		verifyHead(t, spec)
		if i%3 != 2 {
			continue
		}
		if out, err := worker(t, spec).Output(); err != nil || strings.TrimSpace(string(out)) != goldenSHA1 {
			t.Errorf("after the kills: %q, %v; want commit %s", out, err, goldenSHA1)
		}
	}
	t.Logf("%d workers killed", kills)
	if userState(t, r) != before {
		t.Error("the user's files have changed")
	}
	if got := runGit(t, r, "worktree", "list"); strings.Count(got, "\n") != 0 {
		t.Errorf("work trees left:\n%s", got)
	}
}

// A deadline kills git itself, wherever it is: its locks and half-written files stay.
func TestGitKilledAtAnyMoment(t *testing.T) {
	need.Suite(t, need.Nightly)
	t.Parallel()
	r := userRepo(t, sample)
	base := specOf(t, r)
	before := userState(t, r)
	cut := 0
	for i := range 40 {
		spec := base
		spec.RunID += run.ID(fmt.Sprintf("-%d", i/4))
		spec.Dir += fmt.Sprintf("-%d", i/4)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(2+2*i)*time.Millisecond)
		if _, err := finish(ctx, spec); err != nil {
			cut++
		}
		cancel()
		verifyHead(t, spec)
		if i%4 != 3 {
			continue
		}
		if c, err := finish(t.Context(), spec); err != nil || c != goldenSHA1 {
			t.Errorf("after the kills: %s, %v; want commit %s", c, err, goldenSHA1)
		}
	}
	t.Logf("%d cut short", cut)
	if userState(t, r) != before {
		t.Error("the user's files have changed")
	}
	runGit(t, r, "fsck", "--strict")
	if got := runGit(t, r, "worktree", "list"); strings.Count(got, "\n") != 0 {
		t.Errorf("work trees left:\n%s", got)
	}
}

// Processes that do the same run at once get in each other's way no more than goroutines do.
func TestConcurrentWorkers(t *testing.T) {
	r := userRepo(t, sample)
	spec := specOf(t, r)
	var cmds []*exec.Cmd
	outs := make([]strings.Builder, 4)
	for i := range outs {
		cmd := worker(t, spec)
		cmd.Stdout = &outs[i]
		must(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil || strings.TrimSpace(outs[i].String()) != goldenSHA1 {
			t.Errorf("worker %d: %q, %v; want commit %s", i, outs[i].String(), err, goldenSHA1)
		}
	}
}
