package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/command/resume"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// testRetry goes on from a run that has failed: with its commit, with what was said in it, and with other limits.
// The merge of the second run brings the commits of both.
func testRetry(b bench) {
	b.repo = filepath.Join(b.TempDir(), "depot")
	clitest.Git(b.T, clitest.Repository(b.T), "clone", "-q", ".", b.repo)
	clitest.Git(b.T, b.repo, "switch", "-q", "main")
	id := b.start("--max-fix", "0")
	b.await(id, run.AwaitingApproval)
	if got := b.expect(1, "retry", id); !strings.Contains(got.err, "it is not over: answer it") {
		b.Errorf("a run that waits: %s", got.err)
	}
	b.expect(0, "note", id, "say it in capitals", "--by", "kim")
	b.expect(0, "approve", id, "--by", "kim")
	b.await(id, run.Failed)
	failed := b.status(id)
	if failed.LastError == nil || failed.LastError.Code == "" {
		b.Fatalf("%+v", failed)
	}
	next := strings.TrimSpace(b.expect(0, "retry", "depot#1", "--max-fix", "3", "--note", "one more word", "--detach").out)
	b.await(next, run.AwaitingApproval)
	story := b.starter("watch", next).out
	if !strings.Contains(story, "continues") || !strings.Contains(story, "depot#1") || b.status(next).MaxFixIterations != 3 {
		b.Errorf("the story of the second run:\n%s", story)
	}
	for range 5 {
		if b.status(next).Status == run.AwaitingApproval {
			b.starter("approve", next, "--by", "lee")
		}
		if b.starter("watch", next).code != exit.Approval {
			break
		}
	}
	b.await(next, run.Completed)
	created := b.expect(0, "events", next, "--json").out
	created, _, _ = strings.Cut(created, "\n")
	for _, want := range []string{`"say it in capitals"`, `"one more word"`, `"runId":"` + id + `"`, `"max-fix":"flag"`} {
		if !strings.Contains(created, want) {
			b.Errorf("it does not carry %s:\n%s", want, created)
		}
	}
	if b.input(id).CacheReadOnly || b.input(next).CacheReadOnly {
		b.Error("what the checks of a person's run build is not kept")
	}
	testFromBase(b, id, next)
	b.expect(0, "merge", next)
	approved := clitest.Git(b.T, b.repo, "log", "--format=%(trailers:key=Approved-by,valueonly,separator=%x2C) %(trailers:key=Ratchet-Run,valueonly,separator=%x2C)")
	user := " (user " + newFactory(console.Console{}).UserName() + ") "
	if !strings.Contains(approved, "kim"+user+id) || !strings.Contains(approved, "lee"+user+next) {
		b.Errorf("the log has\n%s", approved)
	}
	if clitest.Git(b.T, b.repo, "show", "main:state.txt") != "good\n" {
		b.Error("main does not have it")
	}
}

// input returns the input that a run began with.
func (b bench) input(id string) (in run.Input) {
	b.Helper()
	line, _, _ := strings.Cut(b.expect(0, "events", id, "--json").out, "\n")
	var e struct{ Payload run.Input }
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		b.Fatal(err)
	}
	return e.Payload
}

// A run that an agent has started, with checks of its own or with those of the repository, keeps nothing for other runs.
// Neither does one that continues it, or that is rebuilt from its record.
func TestAnAgentsRunKeepsNothingForOthers(t *testing.T) {
	need.Sandbox(t)
	h := newAgentHost(t)
	t.Cleanup(h.starts(run.SandboxRequired))
	settings := filepath.Join(h.home, ".config", "ratchet", "config.toml")
	clitest.Must(t, os.MkdirAll(filepath.Dir(settings), 0o700))
	clitest.Write(t, settings, "check = ['true']\nprovider = 'replay:"+answers(t)+"'\n")
	b, agent := bench{T: t, runsDir: h.runsDir}, h.connect("--allow-starts")
	for name, checks := range map[string][]string{"its own checks": {"true"}, "the checks of the settings": nil} {
		arguments := map[string]any{"goal": "Make it good", "repository": clitest.Repository(t)}
		if checks != nil {
			arguments["checks"] = checks
		}
		var started struct{ RunID string }
		agent.get("ratchet_run_start", arguments, &started)
		id := started.RunID
		for _, next := range []string{"retry", ""} {
			b.await(id, run.AwaitingApproval)
			c := newFactory(console.Console{Out: io.Discard, Err: io.Discard, Environ: h.environ(), Now: time.Now})
			c.RunsDir = h.runsDir
			rebuilt, err := resume.Rebuild(t.Context(), c, filepath.Join(h.runsDir, "workflows", id), true)
			clitest.Must(t, err)
			if !b.input(id).CacheReadOnly || !rebuilt.Input.CacheReadOnly {
				t.Errorf("%s: run %s keeps what its checks build; rebuilt, it does: %v", name, id, !rebuilt.Input.CacheReadOnly)
			}
			b.expect(0, "cancel", id)
			b.await(id, run.Canceled)
			if next != "" {
				id = strings.TrimSpace(b.expect(0, next, id, "--detach").out)
			}
		}
	}
}

// testFromBase starts again where the second run began: at the last commit of the first. Its merge must bring the
// commits of the first.
func testFromBase(b bench, first, second string) {
	third := strings.TrimSpace(b.expect(0, "retry", second, "--from-base", "--detach").out)
	b.await(third, run.AwaitingApproval)
	in := b.input(third)
	if in.Repository.Base != b.input(second).Repository.Base || in.Before.Base != b.input(first).Repository.Base || in.Before.Base == in.Repository.Base {
		b.Errorf("it begins at %s, and a merge brings what is after %s", in.Repository.Base, in.Before.Base)
	}
	b.expect(0, "cancel", third)
}

// testRetryOnto does a run again on a branch that has moved on so that the run's commit conflicts with it. The prompt has
// the patch of the run before, and the merge brings the new commit alone.
func testRetryOnto(b bench) {
	b.repo = filepath.Join(b.TempDir(), "depot")
	clitest.Git(b.T, clitest.Repository(b.T), "clone", "-q", ".", b.repo)
	clitest.Git(b.T, b.repo, "switch", "-q", "main")
	id := b.start("--approve", "never")
	b.await(id, run.Completed)
	if err := os.WriteFile(filepath.Join(b.repo, "other.txt"), []byte("moved on\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	clitest.Git(b.T, b.repo, "add", ".")
	clitest.Git(b.T, b.repo, "commit", "-q", "-m", "move on")
	main := strings.TrimSpace(clitest.Git(b.T, b.repo, "rev-parse", "main"))
	if got := b.expect(1, "retry", id, "--onto", "nowhere"); !strings.Contains(got.err, "--onto nowhere") {
		b.Errorf("a branch that is not there: got %q", got.err)
	}
	next := strings.TrimSpace(b.expect(0, "retry", id, "--onto", "main", "--detach").out)
	in := b.input(next)
	if string(in.Repository.Base) != main || in.Before == nil || string(in.Before.Base) != main {
		b.Errorf("got base %s and %+v, want %s for both", in.Repository.Base, in.Before, main)
	}
	if n := len(in.Before.Guidance); n == 0 || !strings.Contains(in.Before.Guidance[n-1].Text, "state.txt") {
		b.Errorf("got guidance %+v, want the patch of the run before", in.Before.Guidance)
	}
	b.expect(0, "cancel", next)
}
