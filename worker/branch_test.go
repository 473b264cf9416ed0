package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// meddling is a check that, the first time, does to branch, references and
// repository what it can: where it runs, and to the user's by its path.
const meddling = `set -e
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x
B=$(git branch --show-current) H=$(git rev-parse HEAD) R='%[1]s'
git -C "$R" rev-parse --git-common-dir | grep -qx .git && test "$(git rev-parse --git-common-dir)" = .git
if test ! -e '%[2]s'; then
  touch '%[2]s'
  echo backdoor >backdoor; git add -A; git commit -qm tidy; git tag mine
  mkdir -p .git/hooks; printf '#!/bin/sh\ntouch %[2]s.hooked' >.git/hooks/post-checkout; chmod +x .git/hooks/*
  cd "$R"
  T=$(printf '100644 blob %%s\tbackdoor\n' $(echo backdoor | git hash-object -w --stdin) | git mktree)
  E=$(git commit-tree -p main -m tidy $T)
  for ref in tags/$B tags/$H heads/$H heads/$(echo $H | cut -c-10) heads/evil; do git update-ref refs/$ref $E; done
  echo '* merge=ours' >.git/info/attributes; git config alias.merge '!false'
  git update-ref refs/heads/$B $E; git pack-refs --all --prune; git symbolic-ref refs/heads/$B refs/heads/evil
fi
cd "$OLDPWD" 2>/dev/null || true
grep -q one log.txt`

// Finding B1, end to end. Whatever a check leaves, somebody is asked about the branch and puts it back as the question
// says. Then the branch, the record and the commit that is printed to merge are what was approved.
func TestWhatIsApprovedIsOnTheBranch(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawn()
	for _, policy := range []run.Policy{run.Never, run.Always} {
		t.Run(string(policy), func(t *testing.T) {
			there := *s
			there.t = t
			there.repo = filepath.Join(s.dir, "repo-"+string(policy))
			s.git("clone", "-q", s.repo, there.repo)
			mark := filepath.Join(s.dir, "mark-"+string(policy))
			sc := newScript(policy, fmt.Sprintf(meddling, there.repo, mark)).patch("execute-1", edit{file: "log.txt", line: "one"})
			r := there.follow(sc, 0)
			r.in.NoBaseline = true // meddling with the base is another test's
			r.mend = func(q string) error {
				_, command, _ := strings.Cut(q, "`git ")
				command, _, _ = strings.Cut(command, "`")
				return gittest.Command(t.Context(), there.repo, strings.Fields(command)...).Run()
			}
			stop := there.decided(t, []*scripted{r})
			var res workflows.RunResult
			if err := there.start(r.in).Get(t.Context(), &res); err != nil {
				t.Fatal(err)
			}
			stop()
			there.verifyMeddled(t, r, res)
			if _, err := os.Stat(mark); err != nil {
				t.Error("the check did not meddle")
			}
		})
	}
}

func (s *fixture) verifyMeddled(t *testing.T, r *scripted, res workflows.RunResult) {
	t.Helper()
	git := func(args ...string) string { return s.git(append([]string{"-C", s.repo}, args...)...) }
	ref := "refs/heads/" + res.Branch
	if got := git("for-each-ref", "--format=%(objectname) %(symref)", ref); got != string(res.Head) {
		t.Errorf("the branch is at %q, want %s", got, res.Head)
	}
	if got := s.content(ref); got != r.content() {
		t.Errorf("the branch holds\n%swant\n%s", got, r.content())
	}
	events := s.verifyRecord(t, r.in.RunID)
	s.verifyPatches(t, ref, events, r)
	if last, ok := events[len(events)-1].Payload.(run.RunCompleted); !ok || last.Head != res.Head {
		t.Errorf("the last event is %+v", events[len(events)-1])
	}
	evil := run.Commit(git("rev-parse", "refs/heads/evil"))
	asked := false
	for _, e := range events {
		if p, ok := e.Payload.(run.QuestionRaised); ok {
			asked = p.Reason == run.CodeRepository && strings.Contains(p.Question.Question, string(evil))
		}
	}
	if !asked {
		t.Error("nobody was asked about the branch")
	}
	git("merge", string(res.Head)) // as the command's last line says
	if got := git("rev-parse", "HEAD"); got != string(res.Head) {
		t.Errorf("the merge is at %s, want %s", got, res.Head)
	}
	if got := git("ls-tree", "-r", "--name-only", "HEAD"); got != "log.txt" {
		t.Errorf("merged: %s", got)
	}
}
