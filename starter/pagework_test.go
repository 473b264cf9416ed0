package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/command/up"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

// testPageCommands finishes work by the buttons of the review page: a start by the settings, a merge that conflicts, its
// retry on the branch that moved on, and a merge.
func testPageCommands(b bench) {
	config := b.TempDir()
	clitest.Must(b.T, os.MkdirAll(filepath.Join(config, "ratchet"), 0o700))
	clitest.Write(b.T, filepath.Join(config, "ratchet", "config.toml"), "provider = 'replay:"+b.answers+"'\ncheck = ["+"\""+passes+"\"]\napprove = 'never'\nsandbox = 'off'\n")
	clitest.Git(b.T, b.repo, "switch", "-q", "main")
	c := newFactory(console.Console{Environ: append(os.Environ(), "XDG_CONFIG_HOME="+config), Now: time.Now})
	c.RunsDir, c.Queue = b.runsDir, temporalclient.TaskQueue
	page, disk := up.PageCommands{Factory: c}, review.NewDisk(b.runsDir)
	if _, err := page.Start(b.Context(), review.NewRun{Repository: b.repo, Goal: "Make it good", Provider: "command:/bin/sh"}); err == nil || !strings.Contains(err.Error(), "a person names it") {
		b.Errorf("a program as provider: %v", err)
	}
	id, err := page.Start(b.Context(), review.NewRun{Repository: b.repo, Goal: "--help make it good"})
	clitest.Must(b.T, err)
	b.await(string(id), run.Completed)
	in := b.input(string(id))
	if in.Goal != "--help make it good" || len(in.Checks) != 1 || in.Checks[0] != passes {
		b.Errorf("the run began with goal %q and checks %q", in.Goal, in.Checks)
	}
	standing := func() merge.Standing {
		b.Helper()
		s, err := disk.Standing(b.Context(), rundir.Facts{RunID: id, Repository: in.Repository})
		clitest.Must(b.T, err)
		return s
	}
	if s := standing(); s.Into != "main" || s.Branch != "" {
		b.Errorf("before a merge it stands at %+v", s)
	}
	base := strings.TrimSpace(clitest.Git(b.T, b.repo, "rev-parse", "HEAD"))
	clitest.Write(b.T, filepath.Join(b.repo, "state.txt"), "mine\n")
	clitest.Git(b.T, b.repo, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-qam", "mine")
	err = page.Merge(b.Context(), id, "main", "kim")
	if conflict, ok := errors.AsType[*merge.ConflictError](err); !ok || strings.Join(conflict.Paths, " ") != "state.txt" {
		b.Errorf("a merge into a branch that moved on: %v", err)
	}
	again, err := page.Retry(b.Context(), id, "main")
	clitest.Must(b.T, err)
	if got, want := string(b.input(string(again)).Repository.Base), strings.TrimSpace(clitest.Git(b.T, b.repo, "rev-parse", "HEAD")); got != want {
		b.Errorf("the retry begins at %s, want %s", got, want)
	}
	b.starter("cancel", string(again))
	clitest.Git(b.T, b.repo, "reset", "-q", "--hard", base)
	clitest.Must(b.T, page.Merge(b.Context(), id, "main", "kim"))
	if s := standing(); s.Branch != "main" || time.Since(s.At) > time.Hour {
		b.Errorf("after the merge it stands at %+v", s)
	}
	list := []runs.Listed{{ID: id, Status: run.Completed, Repository: in.Repository.Path}}
	if disk.MarkMerged(b.Context(), list); !list[0].Merged {
		b.Error("the queue does not know that it is merged")
	}
	if log := clitest.Git(b.T, b.repo, "log", "-1", "--format=%B"); !strings.Contains(log, "Merged-by: kim (user ") {
		b.Errorf("the commit says\n%s", log)
	}
	clitest.Must(b.T, page.Undo(b.Context(), id, "main", "kim"))
	if s := standing(); s.Branch != "" || s.Undone != "main" {
		b.Errorf("after the undo it stands at %+v", s)
	}
	clitest.Must(b.T, page.Merge(b.Context(), id, "main", "kim"))
}
