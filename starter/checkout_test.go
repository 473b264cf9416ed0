package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// TestARepositorysRunsDirectoryIsNotUsed has the files of an engine, and the record of a run that would go on with
// commands of its author's, in the checkout of a repository. Their modes are what this user's own would have.
func TestARepositorysRunsDirectoryIsNotUsed(t *testing.T) {
	repo := clitest.Repository(t)
	dir := filepath.Join(repo, ".runs")
	victim := filepath.Join(t.TempDir(), "victim")
	id := run.ID("0198c5e2-7d1f-7c3a-9b51-2f6d0c9e4a77")
	file, err := json.Marshal(engine.File{Address: "127.0.0.1:1", API: "https://127.0.0.1:1", RunsDir: dir})
	clitest.Must(t, err)
	clitest.Must(t, os.MkdirAll(filepath.Join(dir, "workflows", string(id)), 0o700))
	clitest.Must(t, os.WriteFile(filepath.Join(dir, engine.FileName), file, 0o600))
	_, err = engine.MakeKey(dir)
	clitest.Must(t, err)
	clitest.Must(t, os.WriteFile(filepath.Join(dir, "workflows", string(id), "events.ndjson"), []byte("{}\n"), 0o600))
	clitest.Must(t, os.Symlink(victim, filepath.Join(dir, "worker.log")))
	clitest.Git(t, repo, "add", "-f", "-A")
	clitest.Git(t, repo, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "-m", "runs")

	for _, tt := range []struct {
		code int
		say  string
		args []string
	}{
		{exit.Failed, "git has checked out", []string{"up", "--sandbox", "off", "--port", "0", "--ui-port", "0"}},
		{exit.Failed, "git has checked out", []string{"resume", filepath.Join(dir, "workflows", string(id))}},
		{exit.Unreachable, "git has checked out", []string{"list"}},
		{exit.Unreachable, "git has checked out", []string{"env"}},
	} {
		got := starter(t.Context(), "", append(tt.args, "--runs-dir", dir)...)
		if got.code != tt.code || !strings.Contains(got.err, tt.say) || strings.Count(got.err, "\n") != 1 || got.out != "" {
			t.Errorf("%s: %+v", tt.args[0], got)
		}
	}
	if got := starter(t.Context(), "", "doctor", "--runs-dir", dir); !strings.Contains(got.out, "git has checked out") {
		t.Errorf("doctor: %+v", got)
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("something was written through the link")
	}
}
