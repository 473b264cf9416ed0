package forge_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	flow "github.com/ratchet-dev/ratchet/workflows/forge"
)

// fixture is a user's repository whose main is pushed, and a completed run in it.
type fixture struct {
	t      *testing.T
	server *forgetest.Server
	repo   string
	head   string
	config activities.Config
	target activities.Target
}

const id run.ID = "run-1"

var repositories gittest.Template // shop is the user's, and pushed is what the server has of it

func newFixture(t *testing.T, kind forge.Kind) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{t: t, server: forgetest.New(t, kind), repo: filepath.Join(dir, "shop"), target: activities.Target{RunID: id}}
	repositories.Copy(t, dir, func(dir string) {
		f := &fixture{t: t, repo: filepath.Join(dir, "shop")}
		gittest.Run(t, dir, "init", "-q", "-b", "main", f.repo)
		f.git("commit", "-q", "--allow-empty", "-m", "first")
		if err := os.CopyFS(filepath.Join(dir, "pushed", "objects"), os.DirFS(filepath.Join(f.repo, ".git", "objects"))); err != nil {
			t.Fatal(err)
		}
		f.commitOn("ratchet/run-1", "patch")
	})
	head := func(branch string) string {
		b, err := os.ReadFile(filepath.Join(f.repo, ".git", "refs", "heads", branch))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	base, runs := head("main"), t.TempDir()
	f.head = head("ratchet/run-1")
	if err := errors.Join(
		os.CopyFS(f.server.Dir, os.DirFS(filepath.Join(dir, "pushed"))),
		os.WriteFile(filepath.Join(f.server.Dir, "refs", "heads", "main"), []byte(base+"\n"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	f.git("remote", "add", "origin", f.server.Remote())
	f.config = activities.Config{
		RunsDir: runs, Servers: []forge.Server{f.server.Forge()}, Redact: redact.New(nil, redact.Secret{Name: "FORGE_TOKEN", Value: forgetest.Token}).String,
		Link: func(id run.ID) string { return "https://ratchet.example.com/runs/" + string(id) },
	}
	f.record(base)
	return f
}

func (f *fixture) git(args ...string) string {
	f.t.Helper()
	return gittest.Run(f.t, f.repo, args...)
}

// commitOn makes a commit on a branch without checking it out, and returns it.
func (f *fixture) commitOn(branch, message string) string {
	f.t.Helper()
	parent := "main"
	if _, err := gittest.Command(f.t.Context(), f.repo, "rev-parse", "--verify", "-q", branch).Output(); err == nil {
		parent = branch
	}
	commit := f.git("commit-tree", "-p", parent, "-m", message, parent+"^{tree}")
	f.git("update-ref", "refs/heads/"+branch, commit)
	return commit
}

// record writes the record of a run that has completed with one commit.
func (f *fixture) record(base string) {
	f.t.Helper()
	f.recordRun(run.Input{
		RunID: id, Goal: "Trim titles\n\nof all pages", Repository: run.Repository{Path: f.repo, Base: run.Commit(base)}, NoBaseline: true,
		Providers: run.Providers{Planner: "p", Developer: "claude", Fixer: "p"}, Checks: []string{"go test ./..."}, Policy: run.Always,
	}, f.head)
}

// recordRun writes the record of a run that has completed with the commit head.
func (f *fixture) recordRun(in run.Input, head string) {
	f.t.Helper()
	base, s := in.Repository.Base, run.New(in)
	var events []run.Event
	add := func(p run.Payload) {
		e := s.Event(time.Unix(int64(len(events)+1), 0), p)
		if err := s.Apply(e); err != nil {
			f.t.Fatal(err)
		}
		events = append(events, e)
	}
	store, err := rundir.Open(f.t.Context(), f.config.RunsDir)
	if err != nil {
		f.t.Fatal(err)
	}
	dir := store.Run(in.RunID)
	report, err := dir.Keep("report.json", []byte(`{"checks":[{"command":"go test ./...","status":"pass","sandbox":"bwrap 0.8.0"}]}`))
	if err != nil {
		f.t.Fatal(err)
	}
	add(run.RunCreated{Input: in, Format: run.Format})
	add(run.PhaseStarted{Role: run.Planner, Provider: "p"})
	add(run.PhaseCompleted{Result: run.Planned})
	add(run.PhaseStarted{Role: run.Developer, Provider: "claude"})
	add(run.PatchProduced{Proposal: run.Proposal{Base: base, Summary: "trim", Patch: run.Ref{Digest: run.DigestOf([]byte("patch"))}}})
	add(s.NewApproval())
	add(run.ApprovalGranted{ApprovalID: s.Approval.ApprovalID, By: "kim"})
	add(run.PatchApplied{Patch: run.DigestOf([]byte("patch")), Base: base, Commit: run.Commit(head)})
	add(run.PhaseCompleted{Result: s.Outcome})
	add(run.PhaseStarted{Role: run.Evaluator})
	add(run.EvaluationPassed{Evaluation: run.Evaluation{Report: report}})
	add(run.PhaseCompleted{Result: s.Outcome})
	add(run.RunCompleted{})
	_, onDisk, err := dir.BeginRecord(rundir.Entry{Events: events, State: s.State, Standing: rundir.StandingOf(s)})
	if err == nil {
		err = onDisk()
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// open runs the workflow in the SDK's environment, where retries take no time.
func (f *fixture) open() (flow.Result, error) {
	f.t.Helper()
	e := temporaltest.Environment()
	flow.Register(e, activities.New(f.config))
	e.ExecuteWorkflow(flow.PullRequest, f.target)
	var out flow.Result
	err := e.GetWorkflowResult(&out)
	return out, err
}

func TestMain(m *testing.M) {
	gittest.Isolate()
	os.Exit(m.Run())
}

func TestPullRequestOfACompletedRun(t *testing.T) {
	for _, kind := range []forge.Kind{forge.GitHub, forge.Gitea} {
		t.Run(string(kind), func(t *testing.T) {
			f := newFixture(t, kind)
			out, err := f.open()
			if err != nil {
				t.Fatal(err)
			}
			if !out.Created || out.Draft || out.Number != 1 || out.Base != "main" || out.Unpushed != 0 {
				t.Errorf("got %+v, want a new pull request onto main that is ready", out)
			}
			if got := f.server.Branch("ratchet/run-1"); got != f.head {
				t.Errorf("the server's branch is at %q, want %q", got, f.head)
			}
			p := f.server.Pulls()[0]
			for _, want := range []string{"Trim titles", "approved by `kim`", f.head[:12], string(run.DigestOf([]byte("patch")))[:16], "in the sandbox `bwrap 0.8.0`", "https://ratchet.example.com/runs/run-1"} {
				if !strings.Contains(p.Body, want) {
					t.Errorf("the text has no %q:\n%s", want, p.Body)
				}
			}
			if p.Title != "Trim titles" {
				t.Errorf("got title %q, want the first line of the goal", p.Title)
			}
			want := forge.Status{State: forge.Success, Context: "ratchet", Description: "Run completed: 1 commit, approved by kim; 1 of 1 check passed in a sandbox", TargetURL: "https://ratchet.example.com/runs/run-1"}
			if got := f.server.Statuses(f.head); len(got) != 1 || got[0] != want {
				t.Errorf("got statuses %+v, want %+v", got, want)
			}
			calls := len(f.server.Calls())
			if calls > 6 {
				t.Errorf("got %d calls for the first pull request, want 6 at most: %v", calls, f.server.Calls())
			}
			// What people write around the text stays, and nothing is done twice.
			f.server.Change(1, func(p *forgetest.Pull) { p.Title, p.Body = "Better title", "Dear team,\n"+p.Body+"\nthanks" })
			if out, err = f.open(); err != nil || out.Created || !out.Unchanged {
				t.Fatalf("again: got %+v, %v; want the same", out, err)
			}
			p = f.server.Pulls()[0]
			if p.Title != "Better title" || !strings.HasPrefix(p.Body, "Dear team,\n<!--") || !strings.HasSuffix(p.Body, "-->\nthanks") {
				t.Errorf("got title %q and text %q, want what the person wrote", p.Title, p.Body)
			}
			if n, m := len(f.server.Pulls()), len(f.server.Statuses(f.head)); n != 1 || m != 1 {
				t.Errorf("got %d pull requests and %d statuses, want 1 and 1", n, m)
			}
		})
	}
}

// Whatever answer is lost, or is an error that passes, the end is the same and nothing is there twice.
func TestFaultsOnTheWay(t *testing.T) {
	for _, call := range []string{"GET", "GET pulls", "POST pulls", "GET commits", "POST statuses"} {
		f := newFixture(t, forge.GitHub)
		f.server.Fail(call, forgetest.Fault{Code: 502}, forgetest.Fault{Lose: true}, forgetest.Fault{Code: 429, Header: map[string][]string{"Retry-After": {"9"}}})
		if _, err := f.open(); err != nil {
			t.Errorf("%s: %v", call, err)
		}
		if n, m := len(f.server.Pulls()), len(f.server.Statuses(f.head)); n != 1 || m != 1 || f.server.Branch("ratchet/run-1") != f.head {
			t.Errorf("%s: got %d pull requests and %d statuses, want 1 and 1", call, n, m)
		}
	}
}

// A person's commit on the server's branch stays.
func TestAForeignCommitStays(t *testing.T) {
	f := newFixture(t, forge.GitHub)
	foreign := f.commitOn("theirs", "by a person")
	f.git("push", "-q", f.server.Dir, "theirs:refs/heads/ratchet/run-1")
	f.git("branch", "-D", "theirs")
	if _, err := f.open(); err == nil || !strings.Contains(err.Error(), "has commits of others") {
		t.Errorf("got %v, want a refusal", err)
	}
	if got := f.server.Branch("ratchet/run-1"); got != foreign {
		t.Errorf("the branch is at %q, want the person's commit %q", got, foreign)
	}
	// An earlier commit of the run is one to go on from.
	g := newFixture(t, forge.GitHub)
	g.git("push", "-q", g.server.Dir, "main:refs/heads/ratchet/run-1")
	if _, err := g.open(); err != nil || g.server.Branch("ratchet/run-1") != g.head {
		t.Errorf("got %v and the branch at %q, want it at %q", err, g.server.Branch("ratchet/run-1"), g.head)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for want, change := range map[string]func(*fixture){
		"may not push":                          func(f *fixture) { f.server.Forbid() },
		"is archived":                           func(f *fixture) { f.server.Archive() },
		"no remote upstream":                    func(f *fixture) { f.target.Remote = "upstream" },
		"no branch release":                     func(f *fixture) { f.target.Base = "release" },
		"no token for git.example":              func(f *fixture) { f.git("remote", "set-url", "origin", "git@git.example:acme/shop.git") },
		"does not name a repository OWNER/NAME": func(f *fixture) { f.git("remote", "set-url", "origin", f.server.Dir) },
		"not on this worker's disk":             func(f *fixture) { f.target.RunID = "another" },
		"does not know":                         func(f *fixture) { f.git("remote", "set-url", "origin", f.server.URL+"/acme/other.git") },
		"refuses the worker's token": func(f *fixture) {
			f.config.Servers[0].Token = "a-wrong-token-0123456789"
		},
		"is closed": func(f *fixture) {
			if _, err := f.open(); err != nil {
				f.t.Fatal(err)
			}
			f.server.Change(1, func(p *forgetest.Pull) { p.State = "closed" })
		},
	} {
		t.Run(want, func(t *testing.T) {
			f := newFixture(t, forge.GitHub)
			change(f)
			_, err := f.open()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v, want %q", err, want)
			}
			if temporal.IsTimeoutError(err) || strings.Contains(err.Error(), "token-0123456789") {
				t.Errorf("got %v, want an end at the first attempt, without the token", err)
			}
		})
	}
}

// The repository's own configuration leads the token nowhere: neither another URL for the server's, nor a proxy, nor a
// program.
func TestConfigurationOfTheRepository(t *testing.T) {
	f := newFixture(t, forge.GitHub)
	thief := forgetest.New(t, forge.GitHub)
	mark := filepath.Join(t.TempDir(), "mark")
	f.git("config", "url."+thief.URL+"/.insteadOf", f.server.URL+"/")
	f.git("config", "http.proxy", thief.URL)
	f.git("config", "core.askPass", "touch "+mark)
	f.git("config", "credential.helper", "!touch "+mark)
	hook := filepath.Join(f.repo, ".git", "hooks", "pre-push")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := proctest.WriteProgram(hook, "#!/bin/sh\ntouch "+mark+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository was run")
	}
	if n := len(thief.Calls()); n != 0 || thief.Branch("ratchet/run-1") != "" {
		t.Errorf("the thief got %d calls: %v", n, thief.Calls())
	}
	b, err := os.ReadFile(filepath.Join(f.repo, ".git", "config"))
	if err != nil || strings.Contains(string(b), forgetest.Token) {
		t.Errorf("the configuration holds the token (%v):\n%s", err, b)
	}
}

// Commits of the user's that the server's base does not have are counted.
func TestUnpushedCommits(t *testing.T) {
	f := newFixture(t, forge.GitHub)
	f.git("push", "-q", "-f", f.server.Dir, f.git("commit-tree", "-m", "root", "main^{tree}")+":refs/heads/main")
	f.git("fetch", "-q", f.server.Dir, "main")
	out, err := f.open()
	if err != nil || out.Unpushed != 1 {
		t.Errorf("got %+v, %v; want 1 commit that is not pushed", out, err)
	}
}
