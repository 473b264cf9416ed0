package runs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

// addNamed adds an open run with a name.
func (e *engine) addNamed(t *testing.T, id, name string) {
	p, err := converter.GetDefaultDataConverter().ToPayload(name)
	if err != nil {
		t.Fatal(err)
	}
	e.add(t, "run-"+id, run.Running, enums.WORKFLOW_EXECUTION_STATUS_RUNNING).SearchAttributes.IndexedFields[attribute.NameName] = p
}

func TestFindByName(t *testing.T) {
	e, dir := &engine{late: map[string]bool{"run-new": true, "run-late-twin": true}}, t.TempDir()
	for id, name := range map[string]string{
		"theirs": "shop#1", "ours": "shop#2", "twin-of-us": "shop#3", "twin-of-them": "shop#3", "new": "shop#4",
		"early-twin": "shop#6", "late-twin": "shop#6", "other": "slug#2", "only": "slug#9",
	} {
		e.addNamed(t, id, name)
	}
	for name, id := range map[run.Name]run.ID{
		"shop#2": "ours", "shop#3": "twin-of-us", "shop#4": "new", "shop#5": "forgotten", "shop#6": "late-twin", "slug#2": "other", "slug#9": "only",
		"shop#1": "never-started",
	} {
		if err := rundir.KeepName(dir, name, id); err != nil {
			t.Fatal(err)
		}
	}
	here := func(context.Context) string { return "shop" }
	for _, tt := range []struct {
		name, arg string
		here      func(context.Context) string
		want      run.ID
		says      []string // of the error; none: no run has it
	}{
		{name: "a run of another host, whose number a start that failed claimed here", arg: "shop#1", want: "theirs"},
		{name: "a run of this host", arg: "shop/2", want: "ours"},
		{name: "a run that is not listed yet", arg: "shop#4", want: "new"},
		{name: "a run that the engine has forgotten", arg: "shop#5", want: "forgotten"},
		{name: "a name that two hosts gave", arg: "shop#3", says: []string{"2 runs match shop#3: name one of them", "twin-of-us", "twin-of-them"}},
		{name: "a name that two hosts gave, one not listed yet", arg: "shop#6", says: []string{"2 runs match shop#6", "early-twin", "late-twin"}},
		{name: "nobody's", arg: "shop#7"},
		{name: "a number of the repository here", arg: "2", here: here, want: "ours"},
		{name: "a number of two repositories of this host", arg: "2", says: []string{"2 runs match 2: name one of them", "shop#2", "slug#2"}},
		{name: "a number of two hosts in the repository here", arg: "3", here: here, says: []string{"name one of them", "twin-of-us", "twin-of-them"}},
		{name: "a number that only another repository has", arg: "9", here: here, want: "only"},
		{name: "nobody's number", arg: "8", here: here},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := runs.New(e, "queue")
			c.RunsDir, c.Here = dir, tt.here
			got, err := c.Find(t.Context(), tt.arg)
			if tt.want != "" {
				if err != nil || got != tt.want {
					t.Errorf("got %q, %v, want %s", got, err, tt.want)
				}
				return
			}
			if _, missing := errors.AsType[*runs.NotFoundError](err); missing != (tt.says == nil) {
				t.Fatalf("got %q, %v, want an error that says %q", got, err, tt.says)
			}
			for _, want := range tt.says {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %q, want a line with %q", err, want)
				}
			}
		})
	}
}

// TestNoTwoRunsOfAHostHaveAName starts runs at once, which one another, a branch, a file of this host and a run of another
// host have forestalled.
func TestNoTwoRunsOfAHostHaveAName(t *testing.T) {
	repo, dir := t.TempDir(), t.TempDir()
	gittest.Run(t, repo, "init", "-q", "-b", "main")
	gittest.Run(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	base, label := run.Commit(gittest.Run(t, repo, "rev-parse", "HEAD")), run.Label(repo)
	gittest.Run(t, repo, "branch", "ratchet/3-x")
	if err := rundir.KeepName(dir, run.NewName(label, 4), "gone"); err != nil {
		t.Fatal(err)
	}
	e := &engine{}
	e.addNamed(t, "theirs", string(run.NewName(label, 7)))
	e.addNamed(t, "resumed", string(run.NewName(label, 2)))
	const count = 8
	ids := map[run.ID]bool{}
	var starts sync.WaitGroup
	for n := range count {
		starts.Go(func() {
			in := run.Input{RunID: run.ID(fmt.Sprintf("r%d", n)), Goal: "x", Repository: run.Repository{Path: repo, Base: base}}
			if err := runs.New(e, "queue").NameRun(t.Context(), &in, dir, ""); err != nil {
				t.Errorf("%s: %v", in.RunID, err)
			}
		})
	}
	starts.Wait()
	for n := 8; n < 8+count; n++ {
		name := run.NewName(label, n)
		id, ok := rundir.RunNamed(dir, name)
		if branch := fmt.Sprintf("ratchet/%d-x", n); !ok || ids[id] || gittest.Run(t, repo, "for-each-ref", "refs/heads/"+branch) == "" {
			t.Errorf("%s is the name of %q, which has another or no branch %s", name, id, branch)
		}
		ids[id] = true
	}
}

// A start that has no number to give says so.
func TestNumbersAreUsedUp(t *testing.T) {
	repo := t.TempDir()
	gittest.Run(t, repo, "init", "-q", "-b", "main")
	gittest.Run(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	gittest.Run(t, repo, "branch", fmt.Sprintf("ratchet/%d-x", run.MaxNumber))
	in := run.Input{RunID: "r1", Goal: "x", Repository: run.Repository{Path: repo, Base: run.Commit(gittest.Run(t, repo, "rev-parse", "HEAD"))}}
	if err := runs.New(&engine{}, "queue").NameRun(t.Context(), &in, t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "no number is left") {
		t.Errorf("got %s, %v, want an error that says that no number is left", in.Name, err)
	}
}
