package rundir_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// As a program the test binary records a whole run in the runs directory
// given, or takes a lock in it and keeps it, or keeps inOrder.
const (
	asRecorder = "record"
	asHolder   = "hold"
	asKeeper   = "keep"
)

func TestMain(m *testing.M) {
	if len(os.Args) != 3 || !slices.Contains([]string{asRecorder, asHolder, asKeeper}, os.Args[1]) {
		os.Exit(m.Run())
	}
	if err := play(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(as, runsDir string) error {
	store, err := rundir.Open(context.Background(), runsDir)
	if err != nil {
		return err
	}
	dir := store.Run(told.Input.RunID)
	switch as {
	case asKeeper:
		_, err := dir.KeepInOrder(inOrder...)
		return err
	case asRecorder:
		for i := range steps {
			if _, err := dir.Record(upTo(i)); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := dir.Take(context.Background(), "a lock", nil); err != nil {
		return err
	}
	fmt.Println("held")
	for { // until it is killed; select {} would end a program without cgo as a deadlock
		time.Sleep(math.MaxInt64)
	}
}

// child runs this binary as a program; it is killed at the end of the test.
func child(t *testing.T, as, runsDir string) (cmd *exec.Cmd, said *bufio.Scanner) {
	t.Helper()
	cmd = exec.Command(os.Args[0], as, runsDir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out)
}

// told is a run that has ended, and steps its record, one event a step.
var told, steps = tell()

func tell() (*run.Snapshot, []rundir.Entry) {
	s := run.New(run.Input{
		RunID: "told", Goal: "make it work", Policy: run.Always, Checks: []string{"true"}, NoBaseline: true,
		Repository: run.Repository{Path: "/repo", Base: "b0"},
		Providers:  run.Providers{Planner: "replay:x", Developer: "replay:x", Fixer: "replay:x"},
	})
	var steps []rundir.Entry
	add := func(p run.Payload) {
		e := s.Event(noon.Add(time.Duration(s.Seq)*time.Second), p)
		if err := s.Apply(e); err != nil {
			panic(err)
		}
		steps = append(steps, rundir.Entry{Events: []run.Event{e}, State: s.State, Standing: rundir.StandingOf(s)})
	}
	add(run.RunCreated{Input: s.Input, Branch: s.Input.RunID.Branch(), Format: run.Format})
	add(run.PhaseStarted{Role: run.Planner})
	add(run.PhaseCompleted{Result: run.Planned, Artifact: &run.Ref{Name: "plan/iter-0001.md"}})
	add(run.PhaseStarted{Role: run.Developer})
	add(run.PhaseCompleted{Result: run.Asked, Question: &run.Question{Question: "which name?", Reason: "two fit", NeededInput: []string{"a name"}}})
	add(run.PhaseStarted{})
	add(s.NewQuestion())
	add(run.QuestionAnswered{QuestionID: s.State.PendingQuestionID, Text: "blue", By: "kim"})
	add(run.PhaseCompleted{Result: run.Answered})
	add(run.PhaseStarted{Role: run.Developer})
	add(run.PatchProduced{Proposal: run.Proposal{Patch: run.Ref{Digest: "d1"}, Base: "b0", Stat: run.Stat{Files: 1}}})
	add(s.NewApproval())
	add(run.ApprovalGranted{ApprovalID: s.State.PendingApprovalID, By: "kim"})
	add(run.PatchApplyFailed{Patch: "d1", Error: run.Problem{Code: "CONFLICT", Message: "branch moved"}})
	add(run.PhaseFailed{Error: s.Problem})
	add(run.PhaseStarted{Role: run.Fixer})
	add(run.PatchProduced{Proposal: run.Proposal{Patch: run.Ref{Digest: "d2"}, Base: "b0", Stat: run.Stat{Files: 1}}})
	add(s.NewApproval())
	add(run.ApprovalGranted{ApprovalID: s.State.PendingApprovalID})
	add(run.PatchApplied{Patch: "d2", Base: "b0", Commit: "c1", After: run.Stat{Files: 1}})
	add(run.PhaseCompleted{Result: run.Patched})
	add(run.PhaseStarted{Role: run.Evaluator})
	add(run.EvaluationPassed{})
	add(run.PhaseCompleted{Result: run.Pass})
	add(run.RunCompleted{Branch: s.Input.RunID.Branch(), Head: s.Head, Commits: s.Commits})
	return s, steps
}

// between are the steps from number i to number j as one entry.
func between(i, j int) rundir.Entry {
	e := steps[j]
	e.Events = nil
	for _, s := range steps[i : j+1] {
		e.Events = slices.Concat(e.Events, s.Events)
	}
	return e
}

// upTo is the step with the three before it, as a call that repeats some.
func upTo(j int) rundir.Entry { return between(max(0, j-3), j) }

func whole() rundir.Entry { return between(0, len(steps)-1) }

// lines are the bytes that the log must have, event by event.
func lines() [][]byte {
	var all [][]byte
	for _, s := range steps {
		b, err := json.Marshal(s.Events[0])
		if err != nil {
			panic(err)
		}
		all = append(all, append(b, '\n'))
	}
	return all
}
