package clean

import (
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runrecords"
)

// TestAForgedRecordNamesNoBranchOfTheUsers has a record say that a branch of the user's is a run's.
func TestAForgedRecordNamesNoBranchOfTheUsers(t *testing.T) {
	repo := clitest.Repository(t)
	in := run.Input{RunID: "0198c5e2-7d1f-7c3a-9b51-2f6d0c9e4a77", Name: "shop#1", Repository: run.Repository{Path: repo, Base: run.Commit(strings.TrimSpace(clitest.Git(t, repo, "rev-parse", "HEAD")))}}
	c := factory.New(console.Console{}, nil)
	c.RunsDir = t.TempDir()
	for branch, want := range map[string]int{"release": 0, "feature/release": 0, "ratchet/1-mend-it": 1} {
		clitest.Git(t, repo, "branch", branch)
		r := runrecords.Record{Dir: c.RunsDir, Input: in, Branch: branch, Events: []run.Event{{Payload: run.RunFailed{}}}}
		n := len(branchOf(t.Context(), c, cleanFlags{}, r, time.Time{}, runrecords.FindLanded(t.Context(), c, []runrecords.Record{r})))
		if n != want {
			t.Errorf("%s: %d branches", branch, n)
		}
	}
}
