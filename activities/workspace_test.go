package activities_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

func (s *fixture) applying(p *run.Proposal) activities.ApplyInput {
	return activities.ApplyInput{
		Header: s.place(), Iteration: 1, Patch: p.Patch, Raw: p.Raw, Base: p.Base, Message: p.Summary,
		Time: noon,
	}
}

var noon = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (s *fixture) tip() string { return s.git("rev-parse", "ratchet/r1") }

func TestApplyingAgainFindsTheCommit(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	in := s.applying(s.propose(patching(appending)).Proposal)
	first := must[activities.ApplyResult](s, s.acts.Apply, in)
	second := must[activities.ApplyResult](s, s.acts.Apply, in)
	if first.Refusal != nil || !reflect.DeepEqual(first, second) || first.Stat != (run.Stat{Files: 1, Added: 1}) {
		t.Fatalf("%+v\n%+v", first, second)
	}
	if s.tip() != string(first.Commit) || s.git("rev-list", "--count", "main..ratchet/r1") != "1" {
		t.Errorf("tip %s", s.tip())
	}
	if got := s.git("show", "ratchet/r1:log.txt"); got != "one\ntwo" {
		t.Errorf("log.txt is %q", got)
	}
	message := s.git("log", "-1", "--format=%B", "ratchet/r1")
	for _, want := range []string{"append a line\n", "Ratchet-Run: r1", "Ratchet-Iteration: 1", "Ratchet-Patch: " + string(in.Patch.Digest)} {
		if !strings.Contains(message, want) {
			t.Errorf("no %q in %q", want, message)
		}
	}
	if s.git("status", "--porcelain") != "" || s.git("rev-parse", "HEAD") != string(s.base) {
		t.Error("the user's checkout changed")
	}
}

// Finding H6: a file becomes a directory in one patch, and a directory a file.
func TestAFileBecomesADirectoryAndBack(t *testing.T) {
	for name, tt := range map[string]struct{ diff, want string }{
		"moved below its own name": {"diff --git a/log.txt b/log.txt/old.txt\nrename from log.txt\nrename to log.txt/old.txt\n", "dir/x.txt log.txt/old.txt"},
		"a directory for a file":   {"--- /dev/null\n+++ b/log.txt/new.txt\n@@ -0,0 +1 @@\n+x\n--- a/log.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "dir/x.txt log.txt/new.txt"},
		"a file for a directory":   {"--- /dev/null\n+++ b/dir\n@@ -0,0 +1 @@\n+x\n--- a/dir/x.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "dir log.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			if err := os.Mkdir(filepath.Join(s.repo, "dir"), 0o755); err != nil {
				t.Fatal(err)
			}
			s.write("dir/x.txt", "one\n")
			s.git("add", ".")
			s.git("commit", "-q", "-m", "a directory")
			s.base = run.Commit(s.git("rev-parse", "HEAD"))
			s.prepare()
			proposed := s.propose(patching(tt.diff))
			if proposed.Refusal != nil || proposed.Violation != nil {
				t.Fatalf("%+v %+v", proposed.Refusal, proposed.Violation)
			}
			if out := must[activities.ApplyResult](s, s.acts.Apply, s.applying(proposed.Proposal)); out.Refusal != nil {
				t.Fatalf("%+v", out.Refusal)
			}
			if got := strings.Join(strings.Fields(s.git("ls-tree", "-r", "--name-only", "ratchet/r1")), " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestOnlyThePatchOfTheDigestIsApplied(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, string, *activities.ApplyInput){
		"one byte is another": func(t *testing.T, file string, _ *activities.ApplyInput) { rewrite(t, file, "+two", "+twO") },
		"a line more":         func(t *testing.T, file string, _ *activities.ApplyInput) { rewrite(t, file, "+two\n", "+two\n\n") },
		"it is gone": func(t *testing.T, file string, _ *activities.ApplyInput) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		},
		"the digest is another's": func(_ *testing.T, _ string, in *activities.ApplyInput) { in.Patch.Digest = run.DigestOf(nil) },
		"no digest at all":        func(_ *testing.T, _ string, in *activities.ApplyInput) { in.Patch.Digest = "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			in := s.applying(s.propose(patching(appending)).Proposal)
			spoil(t, filepath.Join(s.dir().Path(), "artifacts", in.Patch.Name), &in)
			in.Raw = run.Ref{}
			if err := os.RemoveAll(filepath.Join(s.dir().Path(), "artifacts", "by-digest")); err != nil {
				t.Fatal(err)
			}
			out := must[activities.ApplyResult](s, s.acts.Apply, in)
			if out.Refusal == nil || out.Refusal.Code != activities.ArtifactError || s.tip() != string(s.base) {
				t.Errorf("%+v, tip %s", out, s.tip())
			}
		})
	}
}

func pipe(t testing.TB, file string) {
	t.Helper()
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
}

func rewrite(t testing.TB, file, from, to string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(b), from, to, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestPrepareAndCleanUpMayBeRepeated(t *testing.T) {
	s := newFixture(t)
	for range 2 {
		s.prepare()
	}
	worktree, scratch := s.runs.Workspace("r1"), s.runs.Scratch("r1")
	must[activities.Judgement](s, s.acts.Check, s.checking("true"))
	if b, err := os.ReadFile(filepath.Join(worktree, "log.txt")); err != nil || string(b) != "one\n" {
		t.Errorf("the worktree has %q, %v", b, err)
	}
	locked := filepath.Join(scratch, "go", "mod") // as go leaves its module cache
	if err := os.MkdirAll(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(locked, "x"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		must[any](s, s.acts.CleanUp, s.place())
		for _, dir := range []string{worktree, scratch} {
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", dir, err)
			}
		}
	}
	if s.tip() != string(s.base) {
		t.Error("the branch is gone")
	}
}

func TestActivitiesRecordFirst(t *testing.T) {
	for name, act := range map[string]func(*fixture, activities.Header){
		"Record":  func(s *fixture, p activities.Header) { must[any](s, s.acts.Record, p) },
		"CleanUp": func(s *fixture, p activities.Header) { must[any](s, s.acts.CleanUp, p) },
		"Propose": func(s *fixture, _ activities.Header) { s.propose("x") },
		"Check": func(s *fixture, p activities.Header) {
			s.prepare()
			must[any](s, s.acts.Check, activities.CheckInput{Header: p, Iteration: 1, Commit: s.base, Commands: []string{"true"}, Timeout: time.Minute})
		},
		"Apply": func(s *fixture, p activities.Header) {
			must[any](s, s.acts.Apply, activities.ApplyInput{Header: p, Base: s.base, Patch: run.Ref{Name: "none"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			p := s.place()
			p.Entry = s.upTo(run.Execute)
			for range 2 {
				act(s, p)
				if events, err := s.dir().Events(); err != nil || len(events) != len(p.Entry.Events) {
					t.Errorf("%d events of %d, %v", len(events), len(p.Entry.Events), err)
				}
			}
		})
	}
}

func TestARecordThatIsBehindSaysWhereItEnds(t *testing.T) {
	s := newFixture(t)
	whole, rest := s.place(), s.place()
	whole.Entry = s.upTo(run.Evaluate)
	rest.Entry = whole.Entry
	rest.Entry.Events = whole.Entry.Events[4:]
	whole.Entry.Events = whole.Entry.Events[:2]
	must[any](s, s.acts.Record, whole)
	_, err := do[any](s, s.acts.Record, rest)
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if last := 0; !ok || app.Type() != activities.BehindError || !app.NonRetryable() || app.Details(&last) != nil || last != 2 {
		t.Errorf("error %v", err)
	}
}

// The workflow acts on this error, so each activity that records returns it as it is: joined with another error or
// wrapped, it would be one of another type, which is tried again for ever.
func TestEachActivitySaysThatTheRecordIsBehind(t *testing.T) {
	for name, act := range map[string]func(*fixture, activities.Header) error{
		"Record": func(s *fixture, p activities.Header) error { return fail(s, s.acts.Record, p) },
		"Plan": func(s *fixture, p activities.Header) error {
			c := s.call(run.Plan)
			c.Header = p
			return fail(s, s.acts.Plan, c)
		},
		"Propose": func(s *fixture, p activities.Header) error {
			c := s.call(run.Execute)
			c.Header = p
			return fail(s, s.acts.Propose, c)
		},
		"Judge": func(s *fixture, p activities.Header) error {
			report := s.check("true").Report
			c := s.call(run.Evaluate)
			c.Header = p
			return fail(s, s.acts.Judge, activities.JudgeInput{Call: c, Report: report})
		},
		"Check": func(s *fixture, p activities.Header) error {
			return fail(s, s.acts.Check, activities.CheckInput{Header: p, Iteration: 1, Commit: s.base, Commands: []string{"true"}, Timeout: time.Minute})
		},
		"Try": func(s *fixture, p activities.Header) error {
			return fail(s, s.acts.Try, activities.TryInput{CheckInput: activities.CheckInput{Header: p, Iteration: 1, Commit: s.base, Timeout: time.Minute}})
		},
		"TakePart": func(s *fixture, p activities.Header) error {
			c := s.call(run.Execute)
			c.Header = p
			return fail(s, s.acts.TakePart, activities.PartInput{Call: c})
		},
		"KeepEdit": func(s *fixture, p activities.Header) error {
			c := s.call(run.Execute)
			c.Header = p
			return fail(s, s.acts.KeepEdit, activities.EditInput{Call: c})
		},
		"Apply": func(s *fixture, p activities.Header) error {
			return fail(s, s.acts.Apply, activities.ApplyInput{Header: p, Base: s.base, Patch: run.Ref{Name: "none"}})
		},
		"CheckBranch": func(s *fixture, p activities.Header) error {
			return fail(s, s.acts.CheckBranch, activities.BranchInput{Header: p, Head: s.base})
		},
		"CleanUp": func(s *fixture, p activities.Header) error { return fail(s, s.acts.CleanUp, p) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			p := s.place()
			p.Entry = s.upTo(run.Execute)
			p.Entry.Events = p.Entry.Events[2:]
			err := act(s, p)
			if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok || app.Type() != activities.BehindError || !app.NonRetryable() {
				t.Errorf("%v", err)
			}
		})
	}
}

// fail returns the error of an activity as a workflow has it.
func fail(s *fixture, activity, in any) error {
	_, err := do[any](s, activity, in)
	return err
}

// A run is over although its files cannot be removed. Here a file stands where the directory of its agents would be.
func TestCleanUpLeavesBehindWhatItCannotRemove(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	p := s.place()
	check(t, os.WriteFile(filepath.Join(s.runs.Dir(), "agents"), nil, 0o600))
	env := temporaltest.Environment()
	env.RegisterActivity(s.acts.CleanUp)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute}) // tried without end
		return workflow.ExecuteActivity(ctx, s.acts.CleanUp, p).Get(ctx, nil)
	})
	if app, ok := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError()); !ok || app.Type() != activities.LeftBehindError {
		t.Errorf("%v, want a %s", env.GetWorkflowError(), activities.LeftBehindError)
	}
}
