package clean

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/starter/internal/artifacts"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runrecords"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
)

const cleanedRun run.ID = "0198c5e2-7d1f-7c3a-9b51-2f6d0c9e4a77"

// overIn returns the record of a run that is over in a repository, where its branch has a commit of its own.
func overIn(t *testing.T, c *factory.Factory, path string) runrecords.Record {
	t.Helper()
	in := run.Input{RunID: cleanedRun, Name: "shop#1", Repository: run.Repository{Path: path, Base: run.Commit(strings.TrimSpace(clitest.Git(t, path, "rev-parse", "HEAD")))}}
	r := runrecords.Record{Dir: filepath.Join(c.RunsDir, "workflows", string(in.RunID)), Input: in, Branch: "ratchet/1-mend-it", Events: []run.Event{{Payload: run.RunCompleted{}}}}
	clitest.Must(t, os.MkdirAll(r.Dir, 0o700))
	commit := clitest.Git(t, path, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit-tree", "-p", "HEAD", "-m", "mended", "HEAD^{tree}")
	clitest.Git(t, path, "branch", r.Branch, strings.TrimSpace(commit))
	return r
}

// linkedTo returns a work tree that is linked to a repository.
func linkedTo(t *testing.T, repo string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "linked")
	clitest.Git(t, repo, "worktree", "add", "-q", "--detach", dir)
	return dir
}

// TestABranchThatCannotBeLookedAtKeepsItsRecord has a run whose repository is gone from its path, or is none any more.
func TestABranchThatCannotBeLookedAtKeepsItsRecord(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, repo, linked string){
		"a linked work tree that was removed":   func(t *testing.T, repo, linked string) { clitest.Git(t, repo, "worktree", "remove", linked) },
		"a directory that is no repository now": func(t *testing.T, _, linked string) { clitest.Must(t, os.Remove(filepath.Join(linked, ".git"))) },
	} {
		t.Run(name, func(t *testing.T) {
			var out captured.Output
			c := factory.New(console.Console{Out: &out, Now: time.Now}, nil)
			c.RunsDir = t.TempDir()
			repo := clitest.Repository(t)
			linked := linkedTo(t, repo)
			r := overIn(t, c, linked)
			lose(t, repo, linked)
			f := cleanFlags{records: true, unmerged: true, yes: true}
			records := []runrecords.Record{r}
			found := leftBy(t.Context(), c, f, r, time.Time{}, runrecords.FindLanded(t.Context(), c, records))
			if len(found) != 2 {
				t.Fatalf("%+v", found)
			}
			if b := found[0]; b.Kind != "branch" || b.Why != "away" || b.Path != r.Branch || !b.Kept || b.Stays != "its repository is not at "+linked+", or cannot be read" {
				t.Errorf("%+v", b)
			}
			if l := found[1]; l.Kind != "record" || !l.Kept || !strings.Contains(l.Stays, "know of its branch") {
				t.Errorf("%+v", l)
			}
			printClean(c, found, f)
			if got := out.String(); !strings.Contains(got, "stays: its repository is not at ") || !strings.Contains(got, "0 things were to go: 0 B; 2 things stay\n") {
				t.Error(got)
			}
		})
	}
}

// TestABranchOfAnotherWorkTreeIsNotUnknown lists the branches of a repository that records know by two work trees.
func TestABranchOfAnotherWorkTreeIsNotUnknown(t *testing.T) {
	for name, away := range map[string]bool{"that is there": false, "that was removed": true} {
		t.Run(name, func(t *testing.T) {
			c := factory.New(console.Console{}, nil)
			c.RunsDir = t.TempDir()
			repo := clitest.Repository(t)
			linked := linkedTo(t, repo)
			records := []runrecords.Record{overIn(t, c, linked)}
			other := records[0]
			other.Input.Repository.Path, other.Branch = repo, "ratchet/2-other"
			records = append(records, other)
			clitest.Git(t, repo, "branch", "ratchet/77-stranger")
			if away {
				clitest.Git(t, repo, "worktree", "remove", linked)
			}
			found := unknownBranches(t.Context(), runrecords.FindLanded(t.Context(), c, records), records)
			if len(found) != 1 || found[0].Path != "ratchet/77-stranger" || found[0].Why != "unknown" {
				t.Errorf("%+v", found)
			}
		})
	}
}

// TestWhatAnUnknownBranchSaysRemovesIt runs the command that clean names, from elsewhere.
func TestWhatAnUnknownBranchSaysRemovesIt(t *testing.T) {
	c := factory.New(console.Console{}, nil)
	c.RunsDir = t.TempDir()
	repo := filepath.Join(t.TempDir(), "kim's shop")
	clitest.Must(t, os.Rename(clitest.Repository(t), repo))
	clitest.Git(t, repo, "branch", "ratchet/77-stranger")
	records := []runrecords.Record{{Input: run.Input{Repository: run.Repository{Path: repo}}, Branch: "ratchet/1-mend-it"}}
	found := unknownBranches(t.Context(), runrecords.FindLanded(t.Context(), c, records), records)
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	_, command, _ := strings.Cut(found[0].Stays, "`")
	command, _, _ = strings.Cut(command, "`")
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", found[0].Stays, err, out)
	}
	if left := clitest.Git(t, repo, "branch", "--list", "ratchet/*"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// TestARemovedLinkedWorkTreeIsMadeAgain runs the command that the refusal of a missing repository names.
func TestARemovedLinkedWorkTreeIsMadeAgain(t *testing.T) {
	for name, remove := range map[string]func(t *testing.T, repo, linked string){
		"one that git has removed":   func(t *testing.T, repo, linked string) { clitest.Git(t, repo, "worktree", "remove", linked) },
		"one that git lists for all": func(t *testing.T, _, linked string) { clitest.Must(t, os.RemoveAll(linked)) },
	} {
		t.Run(name, func(t *testing.T) {
			repo := clitest.Repository(t)
			linked := linkedTo(t, repo)
			remove(t, repo, linked)
			r := runref.Found{ID: cleanedRun}
			err := runref.CheckRepository(r, linked)
			if err == nil {
				t.Fatal("no error")
			}
			command := strings.Split(err.Error(), "`")[1]
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Dir = repo
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			if err := runref.CheckRepository(r, linked); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTheDiffOfARunWhoseRepositoryIsGone says which directory is missing.
func TestTheDiffOfARunWhoseRepositoryIsGone(t *testing.T) {
	c := factory.New(console.Console{}, nil)
	c.RunsDir = t.TempDir()
	repo := clitest.Repository(t)
	of := overIn(t, c, repo)
	facts := rundir.Facts{Repository: of.Input.Repository, Branch: of.Branch}
	facts.Head = run.Commit(strings.TrimSpace(clitest.Git(t, repo, "rev-parse", of.Branch)))
	r := runref.Found{ID: cleanedRun}
	if _, err := artifacts.BranchDiff(t.Context(), &factory.Factory{}, r, facts); err != nil {
		t.Fatal(err)
	}
	clitest.Must(t, os.RemoveAll(repo))
	if _, err := artifacts.BranchDiff(t.Context(), &factory.Factory{}, r, facts); err == nil || !strings.Contains(err.Error(), "is missing at "+repo+": move it back") {
		t.Errorf("error %v", err)
	}
}
