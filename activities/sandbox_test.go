package activities_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestOnlyWhatBothSayStartsOutsideOfTheBox(t *testing.T) {
	missing := errors.New("bwrap is not installed: apt install bubblewrap")
	for _, tc := range []struct {
		name   string
		run    run.Sandbox
		worker activities.Sandbox
		why    string // part of the refusal; empty: it starts
	}{
		{"both require the box and it holds", run.SandboxRequired, activities.Sandbox{Policy: run.SandboxRequired, Box: new(box.Box)}, ""},
		{"a run without a policy, and a box that holds", "", activities.Sandbox{Box: new(box.Box)}, ""},
		{"both say off", run.SandboxOff, activities.Sandbox{Policy: run.SandboxOff}, ""},
		{"both require the box and there is none", run.SandboxRequired, activities.Sandbox{Missing: missing}, "apt install bubblewrap"},
		{"a run without a policy, and no box", "", activities.Sandbox{Missing: missing}, "apt install bubblewrap"},
		{"the zero worker", "", activities.Sandbox{}, "it has not been tested"},
		{"the run alone says off, without a box", run.SandboxOff, activities.Sandbox{Missing: missing}, "--sandbox off"},
		{"the run alone says off, with a box", run.SandboxOff, activities.Sandbox{Box: new(box.Box)}, "--sandbox off"},
		{"the worker alone says off", run.SandboxRequired, activities.Sandbox{Policy: run.SandboxOff}, "start the worker with --sandbox required"},
		{"the worker alone says off, a run without a policy", "", activities.Sandbox{Policy: run.SandboxOff}, "start the worker with --sandbox required"},
		{"a word that is no policy", "none", activities.Sandbox{Policy: "none", Missing: missing}, "apt install"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, err := tc.worker.Admit(tc.run)
			if tc.why == "" {
				check(t, err)
				if outside := tc.run.Off() && tc.worker.Policy.Off(); (in == nil) != outside {
					t.Errorf("it starts in %v", in)
				}
			} else if refused, ok := errors.AsType[*activities.NotBoxed](err); !ok || !strings.Contains(refused.Reason, tc.why) {
				t.Errorf("refused with %v, not for %q", err, tc.why)
			}
		})
	}
}

// TestNothingIsExecutedForARunThatIsRefused counts by a file what was executed.
func TestNothingIsExecutedForARunThatIsRefused(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	executed := filepath.Join(t.TempDir(), "executed")
	in := activities.CheckInput{Header: s.place(), Iteration: 1, Commit: s.base, Commands: []string{"touch '" + executed + "'"}, Timeout: time.Minute}
	try := activities.TryInput{CheckInput: in, Candidate: 1, Number: 1}
	try.Patch, _ = s.dir().Keep("execute/iter-0001.try-1.patch", []byte("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n one\n+two\n"))
	in.Sandbox, try.Sandbox = run.SandboxRequired, ""
	for name, attempt := range map[string]func() error{
		"the checks of the branch":   func() error { _, err := do[activities.Judgement](s, s.acts.Check, in); return err },
		"the checks of a contestant": func() error { _, err := do[activities.Judgement](s, s.acts.Try, try); return err },
	} {
		err := attempt()
		app, ok := errors.AsType[*temporal.ApplicationError](err)
		if !ok || app.Type() != activities.SandboxError || !app.NonRetryable() {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(executed); err == nil {
			t.Errorf("%s were executed", name)
		}
	}
	in.Commands = nil
	if j := must[activities.Judgement](s, s.acts.Check, in); j.Verdict != run.Pass {
		t.Errorf("a run without checks, which executes nothing: %+v", j)
	}
	try.Sandbox = run.SandboxOff
	must[activities.Judgement](s, s.acts.Try, try)
	if _, err := os.Stat(executed); err != nil {
		t.Errorf("without the box nothing is executed either: %v", err)
	}
}
