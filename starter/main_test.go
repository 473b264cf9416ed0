package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// result is what a command left.
type result struct {
	code     int
	out, err string
}

// starter runs a command as a script would: no terminal.
func starter(ctx context.Context, stdin string, args ...string) result {
	var out, err bytes.Buffer
	c := newFactory(console.Console{Args: args, In: strings.NewReader(stdin), Out: &out, Err: &err, Environ: os.Environ(), Now: time.Now})
	return result{c.Run(ctx), out.String(), err.String()}
}

const patchHead = "<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: %s\n<<<AIO_RESULT_END>>>\n\n[PATCH_BEGIN]\n%s[PATCH_END]\n"

// change is a raw answer that turns the one line of state.txt into another.
func change(from, to string) string {
	diff := fmt.Sprintf("diff --git a/state.txt b/state.txt\n--- a/state.txt\n+++ b/state.txt\n@@ -1 +1 @@\n-%s\n+%s\n", from, to)
	return fmt.Sprintf(patchHead, "Make it "+to, diff)
}

// answers records a plan, a patch that does not pass and one that does.
func answers(t testing.TB) string {
	dir := t.TempDir()
	clitest.Write(t, filepath.Join(dir, "plan-1.md"), "# Make it good\n")
	clitest.Write(t, filepath.Join(dir, "execute-1.md"), change("bad", "better"))
	clitest.Write(t, filepath.Join(dir, "fix-2.md"), change("better", "good"))
	return dir
}

const passes = "grep -qx good state.txt"

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing wrong", nil, 0},
		{"any error", errors.New("x"), 1},
		{"a message that the run refuses", &runs.RefusedError{Reason: "x"}, 1},
		{"no such run", &runs.NotFoundError{Name: "x"}, 1},
		{"no worker", fmt.Errorf("x: %w", runs.ErrNoWorker), 1},
		{"a wrong command line", usage.Errorf("x"), 2},
		{"a wrong command line, wrapped", fmt.Errorf("x: %w", usage.Errorf("y")), 2},
		{"a run that failed", &exit.StatusError{Status: run.Failed}, 1},
		{"a run that waits for approval", &exit.StatusError{Status: run.AwaitingApproval}, 3},
		{"a run that waits for input", &exit.StatusError{Status: run.AwaitingInput}, 4},
		{"a run that was canceled", &exit.StatusError{Status: run.Canceled}, 5},
		{"an engine that is not there", fmt.Errorf("x: %w", &temporalclient.Unreachable{Err: errors.New("y")}), 6},
		{"an engine that was lost", fmt.Errorf("x: %w", serviceerror.NewUnavailable("y")), 6},
		{"an engine that is silent", fmt.Errorf("x: %w", context.DeadlineExceeded), 6},
		{"an interrupt", fmt.Errorf("x: %w", context.Canceled), 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := exit.Code(tt.err); got != tt.want {
				t.Errorf("code %d, want %d", got, tt.want)
			}
		})
	}
}

func TestComplaintIsOneSafeLine(t *testing.T) {
	err := errors.Join(errors.New("first\r\n  second"), errors.New("th\x1b[31mird"))
	if got, want := exit.Complaint(err), "starter: first; second; th<U+001B>[31mird"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBadInput(t *testing.T) {
	repo, recorded := clitest.Repository(t), answers(t)
	lossy := clitest.Repository(t)
	blob := strings.TrimSpace(clitest.Git(t, lossy, "rev-parse", "HEAD:state.txt"))
	if err := os.Remove(filepath.Join(lossy, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	dirty, taken := clitest.Repository(t), clitest.Repository(t)
	clitest.Git(t, taken, "branch", "ratchet/taken")
	clitest.Git(t, taken, "branch", "Agents")
	loose := clitest.Repository(t)
	clitest.Write(t, filepath.Join(loose, ".ratchet.toml"), "approve = 'never'\n")
	clitest.Git(t, loose, "add", "-A")
	clitest.Git(t, loose, "commit", "-q", "-m", "settings")
	clitest.Write(t, filepath.Join(dirty, "state.txt"), "dirty\n")
	goal := filepath.Join(t.TempDir(), "goal.md")
	clitest.Write(t, goal, " \n")
	t.Chdir(t.TempDir())
	good := []string{"run", "--goal", "x", "--provider", "replay:" + recorded, "--repo", repo, "--check", passes}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"an unknown command", []string{"frobnicate"}, 2, "starter --help"},
		{"an unknown flag", []string{"list", "--frob"}, 2, "starter list --help"},
		{"a missing run", []string{"logs"}, 2, "a RUN"},
		{"two goals, one as an argument", with("more"), 2, "give one goal"},
		{"an argument too many", with("one", "more"), 2, "in quotes"},
		{"no goal", []string{"run"}, 2, "--goal"},
		{"an empty goal", with("--goal", " "), 2, "the goal is empty"},
		{"an empty goal file", []string{"run", "--goal-file", goal}, 2, "is empty"},
		{"a goal file that is missing", []string{"run", "--goal-file", "none.md"}, 1, "none.md"},
		{"two goals", with("--goal-file", goal), 2, "give one goal"},
		{"a goal that is too long", with("--goal", strings.Repeat("x", run.MaxGoalBytes+1)), 2, "bytes"},
		{"no provider", []string{"run", "--goal", "x", "--repo", repo}, 2, "--provider or --planner"},
		{"no provider for one role", []string{"run", "--goal", "x", "--repo", repo, "--planner", "replay:x", "--fixer", "replay:x"}, 2, "--developer"},
		{"a rival that is unknown", with("--developer", "replay:x", "--developer", "oracle"), 2, "unknown kind"},
		{"too many attempts", with("--attempts", "9"), 2, "--attempts 9: want 1 to 8"},
		{"a word for tools that is unknown", with("--tools", "maybe"), 2, "want ask, allow or deny"},
		{"a negative cost", with("--max-cost", "-1"), 2, "--max-cost is negative"},
		{"an unknown provider", with("--fixer", "oracle:x"), 2, "unknown kind"},
		{"a provider program that is missing", with("--fixer", "command:./none.py"), 1, "none.py"},
		{"a provider program that is no command line", with("--fixer", `command:"`), 2, "command"},
		{"recorded answers that are missing", with("--fixer", "replay:none"), 1, "none"},
		{"no such directory", with("--repo", "none"), 1, "none"},
		{"no repository", with("--repo", t.TempDir()), 1, "not a git repository"},
		{"a repository that lacks an object", with("--repo", lossy), 1, "objects are missing"}, // Finding B14.
		{"a repository that loosens a gate", with("--repo", loose), 1, ".ratchet.toml:1: approve = "},
		{"a branch for all runs", with("--branch", "agents/x"), 2, "add {number}, {run} or {short}"},
		{"a branch that another excludes", with("--repo", taken, "--branch", "agents/{run}"), 1, "cannot exist beside branch Agents"},
		{"a message that forges", with("--commit-message", "x\n\nRatchet-Run: y"), 2, "only Ratchet writes"},
		{"a dirty repository", with("--repo", dirty), 1, "not committed"},
		{"a branch that is there", with("--repo", taken, "--branch", "ratchet/{run}", "--id", "taken"), 1, "branch ratchet/taken already exists"},
		{"a base that is missing", with("--base", "nowhere"), 1, "nowhere"},
		{"an unknown policy", with("--approve", "sometimes"), 2, "always, risky or never"},
		{"an unknown sandbox policy", with("--sandbox", "none"), 2, "want required or off"},
		{"an unknown sandbox policy of the worker", []string{"up", "--sandbox", "Off"}, 2, "unknown sandbox policy"},
		{"a negative number of fixes", with("--max-fix", "-1"), 2, "--max-fix is negative"},
		{"a negative timeout", with("--timeout", "-1s"), 2, "--timeout is negative"},
		{"a duration without a unit", with("--check-timeout", "5"), 2, "--check-timeout"},
		{"a variable with a value", with("--env", "A=b"), 2, "name of a variable alone"},
		{"an empty check", with("--check", ""), 2, "a check is empty"},
		{"an id that is no path segment", with("--id", "../x"), 2, "run id"},
		{"nothing that judges", []string{"run", "--goal", "x", "--provider", "replay:" + recorded, "--repo", repo}, 1, "or a provider with --evaluator SPEC"}, // Finding H7.
		{"an unknown status", []string{"list", "--status", "sleeping"}, 2, "awaiting_approval"},
		{"a port that is none", []string{"up", "--port", "70000"}, 2, "65535"},
		{"a patch for nothing", []string{"patch"}, 2, "--repo"},
		{"a patch for a directory that is missing", []string{"patch", "--repo", "none"}, 1, "none"},
		{"resuming nothing", []string{"resume", "none"}, 1, "does not exist"},
		{"resuming what is no run", []string{"resume", repo}, 1, "no events"},
		{"no engine", good, 6, "starter up"},
		{"no engine to ask", []string{"status", "x"}, 6, "starter up"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.code == exit.Unreachable { // the default port may be taken by somebody's server
				t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
				tt.says = "TEMPORAL_ADDRESS"
			}
			got := starter(t.Context(), "", tt.args...)
			if got.code != tt.code || !strings.Contains(got.err, tt.says) {
				t.Errorf("code %d, want %d, with %q in: %s", got.code, tt.code, tt.says, got.err)
			}
			if strings.Count(got.err, "\n") != 1 {
				t.Errorf("not one line: %q", got.err)
			}
		})
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if branches := clitest.Git(t, repo, "branch", "--list"); strings.TrimSpace(branches) != "* main" {
		t.Errorf("branches: %s", branches)
	}
}

func TestHelpTeaches(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help", "run"}, {"run", "--help"}, {"completion", "bash"}} {
		got := starter(t.Context(), "", args...)
		if got.code != 0 || got.err != "" || !strings.Contains(got.out, "starter") {
			t.Errorf("%v: code %d, %q", args, got.code, got.err)
		}
	}
	c := newFactory(console.Console{})
	root := rootCommand(c)
	shown, all := starter(t.Context(), "", "--help").out, starter(t.Context(), "", "help", "all").out
	listed := func(help string, cmd *cobra.Command) bool {
		return strings.Contains(help, cmd.Name()+" ") && strings.Contains(help, cmd.Short+"\n")
	}
	n := 0
	for _, cmd := range root.Commands() {
		if listed(shown, cmd) {
			n++
		}
		if cmd.IsAvailableCommand() && !listed(all, cmd) {
			t.Errorf("help all does not list %s:\n%s", cmd.Name(), all)
		}
	}
	if n != len(first) || n > 12 {
		t.Errorf("the first screen has %d commands, want the %d of the list, at most 12:\n%s", n, len(first), shown)
	}
	few, every := starter(t.Context(), "", "run", "--help"), starter(t.Context(), "", "run", "--help-all")
	if every.code != 0 || !strings.Contains(few.out, "--max-cost") || strings.Contains(few.out, "--max-patch-files") || !strings.Contains(every.out, "--max-patch-files") {
		t.Errorf("run --help shows the wrong flags:\n%s\nrun --help-all, code %d:\n%s", few.out, every.code, every.out)
	}
	for _, cmd := range root.Commands() {
		if cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s has no example or no sentence", cmd.Name())
		}
	}
}

func TestPatchCommand(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		args         []string
		code         int
		says, left   string
	}{
		{"a patch that fits", change("bad", "good"), nil, 0, `"result":"applied"`, "good\n"},
		{"a patch that is only checked", change("bad", "good"), []string{"--check"}, 0, `"result":"applied"`, "bad\n"},
		{"a patch that does not fit", change("other", "good"), nil, 1, `"result":"refused"`, "bad\n"},
		{"a patch over the limit", change("bad", "good"), []string{"--max-bytes", "10"}, 1, `"code":"limits"`, "bad\n"},
		{"a patch that the model did not finish", change("bad", "good"), []string{"--finish", "length"}, 1, `"code":"truncated"`, "bad\n"},
		{"a question", "<<<AIO_RESULT_START>>>\ntype: ASK\nquestion: Which?\nreason: unclear\n<<<AIO_RESULT_END>>>\n", nil, 0, `"result":"ask"`, "bad\n"},
		{"nothing to do", "<<<AIO_RESULT_START>>>\ntype: NOOP\nreason: done\n<<<AIO_RESULT_END>>>\n", nil, 0, `"result":"noop"`, "bad\n"},
		{"no answer", "hello", nil, 1, `"result":"refused"`, "bad\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "state.txt")
			clitest.Write(t, file, "bad\n")
			got := starter(t.Context(), tt.answer, append([]string{"patch", "--repo", dir}, tt.args...)...)
			if got.code != tt.code || got.err != "" || !strings.Contains(got.out, tt.says) || strings.Count(got.out, "\n") != 1 {
				t.Errorf("code %d, want %d: %s%s", got.code, tt.code, got.out, got.err)
			}
			if b, err := os.ReadFile(file); err != nil || string(b) != tt.left {
				t.Errorf("left %q, %v", b, err)
			}
		})
	}
}
