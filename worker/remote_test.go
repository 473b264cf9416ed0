package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// newOrigin returns a repository on a server with the file of the fixture's.
func (s *fixture) newOrigin() *gittest.Origin {
	s.t.Helper()
	o := gittest.NewOrigin(s.t)
	tree := o.Tree("100644 blob " + o.Blob("") + "\tlog.txt\n")
	o.Git("update-ref", "refs/heads/main", o.Git("commit-tree", "-m", "first", tree))
	return o
}

// fetched has a worker fetch the URL, and returns the repository of a run on it.
func (s *fixture) fetched(id, url string) run.Repository {
	s.t.Helper()
	var acts *activities.Activities
	fetch, err := s.client.ExecuteActivity(s.t.Context(), runs.MirrorOptions(id, s.queue), acts.Mirror, activities.MirrorInput{URL: url})
	var at activities.MirrorResult
	if err == nil {
		err = fetch.Get(s.t.Context(), &at)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return run.Repository{Path: at.Path, Base: at.Commit, URL: url}
}

// verifyRemote compares the branch on the server with the run's result: its one commit is there, and nothing else.
func (s *fixture) verifyRemote(o *gittest.Origin, r *scripted) {
	s.t.Helper()
	branch := r.in.RunID.Branch()
	want := gittest.Run(s.t, r.in.Repository.Path, "rev-parse", branch)
	if got := o.Git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads/ratchet/", "refs/fetched"); got != branch+" "+want {
		s.t.Errorf("%s: the server has %q, want %s at %s", r.in.RunID, got, branch, want)
	}
	if got := o.Git("rev-list", "--count", "main.."+branch); got != "1" {
		s.t.Errorf("%s: %s commits on the server, want 1", r.in.RunID, got)
	}
	if got := o.Git("show", branch+":log.txt"); got != "one" {
		s.t.Errorf("%s: log.txt has %q", r.in.RunID, got)
	}
	if calls, repaid, err := r.calls(); err != nil || len(repaid) > 0 || calls["execute-1"] != 1 {
		s.t.Errorf("%s: calls %v, paid again %v, %v", r.in.RunID, calls, repaid, err)
	}
}

// TestKilledAtEveryPointOfARemote kills the worker at each effect on a mirror and on the server of a run with a URL.
func TestKilledAtEveryPointOfARemote(t *testing.T) {
	need.Suite(t, need.CI)
	s := newFixture(t)
	points := slices.DeleteFunc(failpoints(t), func(point string) bool { return !strings.HasPrefix(point, "mirror.") })
	if len(points) < 4 {
		t.Fatalf("got failpoints %v, want those of a fetch and a push", points)
	}
	for _, point := range points {
		o, there := s.newOrigin(), s.at(point)
		const allow = "GIT_ALLOW_PROTOCOL=file"
		doomed := there.launch(allow, "RATCHET_FAILPOINTS="+point+"=kill")
		next := make(chan *workerProcess, 1)
		go func() {
			<-doomed.done
			next <- there.launch(allow)
		}()
		r := there.follow(newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
		r.in.Repository = there.fetched("mirror-"+there.queue, o.FileURL())
		there.finish(t.Context(), r)
		if doomed.cmd.ProcessState == nil || doomed.cmd.ProcessState.Exited() {
			t.Fatalf("%s: the worker was not killed: %s", point, doomed.out)
		}
		(<-next).kill()
		there.verifyRemote(o, r)
		if half, err := filepath.Glob(filepath.Join(s.runsDir, "mirrors", "*.new")); err != nil || len(half) > 0 {
			t.Errorf("%s: %v is left, %v", point, half, err)
		}
		gittest.Run(t, r.in.Repository.Path, "fsck", "--strict")
	}
}

// TestAServerThatRefusesIsAskedAbout has a server that takes no branch of the run's name. The person changes that, and the
// patch is pushed without another call.
func TestAServerThatRefusesIsAskedAbout(t *testing.T) {
	s := newFixture(t)
	o := s.newOrigin()
	url := o.Serve(t)
	o.UseHelper(t)
	hook := filepath.Join(o.Dir, "hooks", "update")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	s.put(hook, "#!/bin/sh\necho only feature/ here >&2\nexit 1\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	s.spawn()
	r := s.follow(newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
	r.in.Repository = s.fetched("mirror-"+s.queue, url)
	wr := s.start(r.in)
	q := s.question(r, "")
	if text := q.Question.Question; !strings.Contains(text, "refuses the branch") || !strings.Contains(text, "only feature/ here") || !strings.Contains(text, url) {
		t.Errorf("asked %q, want what the server says", text)
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	s.reply(r, q, "the branch is allowed now")
	if err := wr.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.verifyRemote(o, r)
}

// TestAMirrorInTheSandbox has a check that reads the history, whose objects the work tree borrows from the mirror.
func TestAMirrorInTheSandbox(t *testing.T) {
	need.Sandbox(t)
	s := newFixture(t)
	s.sandbox = run.SandboxRequired
	o := s.newOrigin()
	s.spawn("GIT_ALLOW_PROTOCOL=file")
	sc := newScript(run.Never, "git cat-file -e HEAD^{tree} && grep one log.txt").patch("execute-1", edit{file: "log.txt", line: "one"})
	in := s.input(s.replay(sc.answers))
	in.Checks, in.Repository = []string{sc.check}, s.fetched("mirror-"+s.queue, o.FileURL())
	var out workflows.RunResult
	if err := s.start(in).Get(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if got := o.Git("rev-parse", out.Branch); got != string(out.Head) || out.Commits != 1 {
		t.Errorf("got %+v and the server's branch at %s, want one commit there", out, got)
	}
}
