package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// shop is a repository whose directory is called shop.
func shop(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "shop")
	clitest.Must(t, os.Rename(clitest.Repository(t), dir))
	return dir
}

// testShortNames starts runs at once and reaches each by its name.
func testShortNames(b bench) {
	b.repo = shop(b.T)
	const count = 6
	var starts sync.WaitGroup
	for range count {
		starts.Go(func() { b.start("--approve", "always") })
	}
	starts.Wait()
	ids := map[run.ID]bool{}
	for n := 1; n <= count; n++ {
		name := run.NewName("shop", n)
		b.await(string(name), run.AwaitingApproval)
		st := b.status(string(name))
		ids[st.RunID] = true
		if st.Pending.Name != name || b.branch(string(name)) != "ratchet/"+strings.TrimPrefix(string(name), "shop#")+"-make-it-good" {
			b.Errorf("%s is %s on %s", name, st.Pending.Name, b.branch(string(name)))
		}
	}
	if len(ids) != count {
		b.Errorf("%d runs have %d names", len(ids), count)
	}
	for _, word := range []string{"shop/3", "shop#3", string(b.status("shop#3").RunID)} {
		if out := b.expect(0, "status", word).out; !strings.HasPrefix(out, "run") || !strings.Contains(out, "shop#3") {
			b.Errorf("%s: %s", word, out)
		}
	}
	for _, word := range []string{"shop#99", "99", "other#3", "shop#0"} {
		if got := b.expect(1, "status", word); !strings.Contains(got.err, "no run") {
			b.Errorf("%s: %s", word, got.err)
		}
	}
	if got := b.expect(1, "status", "3"); !strings.Contains(got.err, "name one of them") || !strings.Contains(got.err, "shop#3") {
		b.Errorf("a number of two repositories: %s", got.err)
	}
	eventually.Holds(b.T, "the list shows that all wait", func() bool { return len(b.waiting("shop#")) == count })
	if got := b.expect(2, "approve"); !strings.Contains(got.err, "runs wait: say which") || !strings.Contains(got.out, "shop#6") {
		b.Errorf("approve of many: %s%s", got.out, got.err)
	}
	if got := starter(b.Context(), "", "__complete", "--runs-dir", b.runsDir, "approve", ""); !strings.Contains(got.out, "shop#2") {
		b.Errorf("completion: %s", got.out)
	}
	for n := 1; n <= count; n++ {
		b.expect(0, "cancel", string(run.NewName("shop", n)))
	}
	testNameOnAnotherHost(b)
	testOnlyOneWaits(b)
	testLostClaim(b)
}

// testNameOnAnotherHost finds a run as a host does that has none of its files.
func testNameOnAnotherHost(b bench) {
	t, err := temporalclient.Dial(b.Context(), temporalclient.Options{RunsDir: b.runsDir})
	clitest.Must(b.T, err)
	defer t.Close()
	if id, err := runs.New(t, temporalclient.TaskQueue).Find(b.Context(), "shop#2"); err != nil || id != b.status("shop#2").RunID {
		b.Errorf("another host finds %q, %v, want %s", id, err, b.status("shop#2").RunID)
	}
}

// testOnlyOneWaits names no run while one waits.
func testOnlyOneWaits(b bench) {
	eventually.Holds(b.T, "no run waits", func() bool {
		for _, l := range b.waiting("") { // of other parts of the test, or of a list that is late
			b.starter("cancel", string(l.ID))
		}
		return len(b.waiting("")) == 0
	})
	if got := b.expect(2, "approve"); !strings.Contains(got.err, "no run waits") {
		b.Errorf("approve of none: %s", got.err)
	}
	id := b.start()
	eventually.Holds(b.T, "the list shows that the run waits", func() bool { return len(b.waiting("shop#7")) == 1 })
	if out := b.expect(0, "diff").out; !strings.Contains(out, "+better") {
		b.Errorf("diff: %s", out)
	}
	if out := b.expect(0, "status", "--json").out; !strings.Contains(out, id) {
		b.Errorf("status: %s", out)
	}
	if out := b.expect(0, "reject", "--final").out; !strings.Contains(out, "shop#7") || !strings.Contains(out, "rejected") {
		b.Errorf("reject: %s", out)
	}
}

func (b bench) listed() (list []runs.Listed) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.expect(0, "list", "--json").out), &list); err != nil {
		b.Fatal(err)
	}
	return list
}

// waiting returns the runs that wait by the list, which may be late, and whose names begin so.
func (b bench) waiting(name string) []runs.Listed {
	b.Helper()
	return slices.DeleteFunc(b.listed(), func(l runs.Listed) bool { return !l.Status.Waiting() || !strings.HasPrefix(string(l.Name), name) })
}

// testLostClaim claims a name for a run that is never started, as a starter that is killed does. It leaves a
// gap. So does a branch that somebody else has made.
func testLostClaim(b bench) {
	clitest.Must(b.T, rundir.KeepName(b.runsDir, "shop#8", "never-started"))
	clitest.Git(b.T, b.repo, "branch", "ratchet/9-make-it-good")
	id := b.start()
	b.await(id, run.AwaitingApproval)
	if name := b.status(id).Pending.Name; name != "shop#10" {
		b.Errorf("after a lost claim and a branch it is %s", name)
	}
	if got := b.expect(1, "status", "shop#8"); !strings.Contains(got.err, "no run") {
		b.Errorf("the lost claim: %s", got.err)
	}
	b.expect(0, "cancel", id)
	all := strings.Fields(clitest.Git(b.T, b.repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/ratchet/"))
	if slices.Contains(all, "ratchet/8-make-it-good") || !slices.Contains(all, "ratchet/10-make-it-good") {
		b.Errorf("branches %v", all)
	}
}
