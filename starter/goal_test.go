package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

// emptyEngine is a server that says that it is there, and nothing else.
type emptyEngine struct {
	workflowservice.UnimplementedWorkflowServiceServer
}

func (emptyEngine) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

// servingEngine returns the address of an emptyEngine.
func servingEngine(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	clitest.Must(t, err)
	s := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(s, emptyEngine{})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); clitest.Must(t, <-ended) })
	return l.Addr().String()
}

// TestAGoalIsKeptIfItsRunDoesNotStart: what is wrong without a goal is said before the editor opens, and the goal is
// in a file when the rest is.
func TestAGoalIsKeptIfItsRunDoesNotStart(t *testing.T) {
	const kept = "starter: your goal is kept in "
	repo, recorded := clitest.Repository(t), answers(t)
	loose := clitest.Repository(t)
	clitest.Write(t, filepath.Join(loose, ".ratchet.toml"), "approve = 'never'\n")
	clitest.Git(t, loose, "add", "-A")
	clitest.Git(t, loose, "commit", "-q", "-m", "settings")
	engine := servingEngine(t)
	good := []string{"--repo", repo, "--provider", "replay:" + recorded, "--check", passes}
	with := func(more ...string) []string { return append(slices.Clone(good), more...) }
	for _, tt := range []struct {
		name, engine, does string // what the editor does
		args               []string
		says               string
		opens, keeps       bool
	}{
		{"no repository", engine, "echo Mend it >", with("--repo", "none"), "none: no such file or directory", false, false},
		{"settings that are refused", engine, "echo Mend it >", with("--repo", loose), ".ratchet.toml:1: approve = ", false, false},
		{"no provider", engine, "echo Mend it >", []string{"--repo", repo}, "no provider for the planner", false, false},
		{"a provider that is missing", engine, "echo Mend it >", with("--fixer", "replay:none"), "none", false, false},
		{"an unknown word", engine, "echo Mend it >", with("--tools", "maybe"), "want ask, allow or deny", false, false},
		{"no engine", "127.0.0.1:1", "echo Mend it >", good, "TEMPORAL_ADDRESS", false, false},
		{"a check that is empty", engine, "echo Mend it >", with("--check", ""), "a check is empty", true, true},
		{"an id that has a record", engine, "echo Mend it >", with("--id", "taken"), "run taken has a record", true, true},
		{"an editor that fails", engine, "write_and_fail", good, "exit status 9", true, true},
		{"an editor that fails with nothing written", engine, "fail", good, "exit status 9", true, false},
		{"nothing written", engine, "true", good, "the goal is empty", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, runsDir := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", dir)
			t.Setenv("TEMPORAL_ADDRESS", tt.engine)
			clitest.Write(t, filepath.Join(runsDir, "workflows", "taken", "state.json"), "{}")
			opened := filepath.Join(t.TempDir(), "opened")
			editor := "write_and_fail() { echo Mend it > $1; exit 9; }; fail() { exit 9; }; touch " + opened + "; " + tt.does
			var out, said bytes.Buffer
			c := newFactory(console.Console{
				Args: append([]string{"run", "--runs-dir", runsDir}, tt.args...), In: strings.NewReader(""), Out: &out, Err: &said,
				Environ: append(os.Environ(), "VISUAL=", "EDITOR="+editor), Now: time.Now, Interactive: true,
			})
			if code := c.Run(t.Context()); code == 0 || !strings.Contains(said.String(), tt.says) {
				t.Errorf("code %d, want %q in: %s", code, tt.says, said.String())
			}
			if _, err := os.Lstat(opened); (err == nil) != tt.opens {
				t.Errorf("the editor opens: %t", err == nil)
			}
			files, err := filepath.Glob(filepath.Join(dir, "ratchet-*.goal.md"))
			clitest.Must(t, err)
			if len(files) > 1 || (len(files) == 1) != tt.keeps || strings.Contains(said.String(), kept) != tt.keeps {
				t.Fatalf("kept %v: %s", files, said.String())
			}
			if !tt.keeps {
				return
			}
			if goal, err := os.ReadFile(files[0]); string(goal) != "Mend it\n" || err != nil || !strings.Contains(said.String(), kept+files[0]+": give it with --goal-file "+files[0]+"\n") {
				t.Errorf("the file holds %q, %v: %s", goal, err, said.String())
			}
		})
	}
}
