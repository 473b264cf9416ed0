package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/workflows"
)

// verify fails unless the run, which has ended, is what its script says:
// nothing lost, nothing twice, nothing left. A worker must be there to answer
// queries. Kills is how many workers died: no call is made more often than
// once and once more for each of them.
func (s *fixture) verify(t *testing.T, r *scripted, kills int) {
	t.Helper()
	id := r.in.RunID
	var res workflows.RunResult
	ended := s.patiently(t.Context(), func() error { return s.client.GetWorkflow(t.Context(), id.WorkflowID(), "").Get(t.Context(), &res) })
	if ended != nil {
		t.Errorf("run %s: %v", id, ended)
		return
	}
	if res.Status != run.Completed || res.Commits != r.patches {
		t.Errorf("run %s: %s with %d commits, want completed with %d", id, res.Status, res.Commits, r.patches)
	}
	if got := s.content(res.Branch); got != r.content() {
		t.Errorf("run %s: the branch holds\n%swant\n%s", id, got, r.content())
	}
	events := s.verifyRecord(t, id)
	s.verifyPatches(t, res.Branch, events, r)
	count, repaid, err := r.calls()
	if err != nil || len(repaid) > 0 {
		t.Errorf("run %s: paid again for stored answers: %v, %v", id, repaid, err)
	}
	for name := range r.script.answers {
		if n := count[name]; n < 1 || n > 1+kills {
			t.Errorf("run %s: %d calls for %s with %d kills", id, n, name, kills)
		}
	}
	for _, left := range []string{s.runs.Workspace(id), s.runs.Scratch(id)} {
		if _, err := os.Lstat(left); !os.IsNotExist(err) {
			t.Errorf("run %s: %s is left: %v", id, left, err)
		}
	}
}

// verifyAppended fails if a line of a log that was there before, whole, is not
// there any more as it was: what was recorded, the engine had kept.
func (s *fixture) verifyAppended(t *testing.T, runs []*scripted, logs map[run.ID][]byte) {
	t.Helper()
	for _, r := range runs {
		id := r.in.RunID
		b, err := os.ReadFile(filepath.Join(s.runs.Run(id).Path(), "events.ndjson"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		b = b[:bytes.LastIndexByte(b, '\n')+1]
		if !bytes.HasPrefix(b, logs[id]) {
			t.Errorf("run %s: the log was\n%sand is\n%s", id, logs[id], b)
		}
		logs[id] = b
	}
}

// verifyRecord compares the record on disk with the workflow, event by event,
// and returns the events.
func (s *fixture) verifyRecord(t *testing.T, id run.ID) []run.Event {
	t.Helper()
	dir := s.runs.Run(id)
	events, err := dir.Events()
	if err != nil {
		t.Errorf("run %s: %v", id, err)
		return nil
	}
	snapshot, err := run.Fold(events)
	if err != nil {
		t.Errorf("run %s: the record does not fold: %v", id, err)
		return nil
	}
	state, err := dir.State()
	if err != nil || asJSON(t, state) != asJSON(t, snapshot.State) {
		t.Errorf("run %s: state.json is %s, %v; the events make %s", id, asJSON(t, state), err, asJSON(t, snapshot.State))
	}
	if foreign := dir.Foreign(); len(foreign) > 0 {
		t.Errorf("run %s: %v were set aside, and nobody but workers wrote", id, foreign)
	}
	var known workflows.EventsResult
	err = s.patiently(t.Context(), func() (err error) {
		known, err = query[workflows.EventsResult](s, id, workflows.EventsQuery)
		return err
	})
	if err != nil {
		t.Errorf("run %s: %v", id, err)
		return events
	}
	want := events[min(known.First-1, len(events)):]
	if len(known.Events) != len(want) {
		t.Errorf("run %s: %d events in the workflow, %d on disk", id, len(known.Events), len(want))
		return events
	}
	for i, e := range known.Events {
		if got := asJSON(t, want[i]); got != asJSON(t, e) {
			t.Errorf("run %s: the record says\n%s\nthe workflow\n%s", id, got, asJSON(t, e))
			break
		}
	}
	return events
}

// verifyPatches holds the applied patches against the branch: the same, in the
// same order, each once, and each let through before.
func (s *fixture) verifyPatches(t *testing.T, branch string, events []run.Event, r *scripted) {
	t.Helper()
	var applied []string
	granted := map[run.Digest]bool{}
	var asked run.Digest
	for _, e := range events {
		switch p := e.Payload.(type) {
		case run.ApprovalRequested:
			asked = p.Patch
		case run.ApprovalGranted:
			granted[asked] = true
		case run.PatchApplied:
			applied = append(applied, fmt.Sprintf("%s %s", p.Commit, p.Patch))
			if r.policy == run.Always && !granted[p.Patch] {
				t.Errorf("run %s: patch %s applied without an approval", r.in.RunID, p.Patch)
			}
		}
	}
	log := s.git("-C", s.repo, "log", "--reverse", "--format=%H %(trailers:key=Ratchet-Patch,valueonly,separator=%x2C)", string(s.base)+".."+branch)
	if got := strings.FieldsFunc(log, func(r rune) bool { return r == '\n' }); !slices.Equal(got, applied) || len(applied) != r.patches {
		t.Errorf("run %s: on the branch\n%s\nin the events\n%s", r.in.RunID, log, strings.Join(applied, "\n"))
	}
}

// verifyFixture fails unless the repository is whole, the user's checkout is as
// it was, and no worktree and no process of a run is left.
func (s *fixture) verifyFixture(t *testing.T) {
	t.Helper()
	if got := s.git("-C", s.repo, "status", "--porcelain"); got != "" {
		t.Errorf("the user's checkout changed: %s", got)
	}
	if got := s.git("-C", s.repo, "worktree", "list"); strings.Contains(got, "\n") {
		t.Errorf("worktrees are left:\n%s", got)
	}
	s.git("-C", s.repo, "fsck", "--strict")
	if left, err := filepath.Glob(filepath.Join(s.runsDir, "workspaces", "[^.]*")); err != nil || len(left) > 0 {
		t.Errorf("workspaces are left: %v, %v", left, err)
	}
	var left []string
	eventually.Holds(t, "the end of all processes of the runs", func() bool {
		left = s.processes("")
		return len(left) == 0
	})
}

// content is what the files of a branch hold, as script.content says it.
func (s *fixture) content(branch string) string {
	var b strings.Builder
	for name := range strings.FieldsSeq(s.git("-C", s.repo, "ls-tree", "-r", "--name-only", branch)) {
		fmt.Fprintf(&b, "%s: %q\n", name, s.git("-C", s.repo, "show", branch+":"+name))
	}
	return b.String()
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
