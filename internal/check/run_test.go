package check_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/check"
)

func spec(t *testing.T, commands ...string) check.Spec {
	t.Helper()
	return check.Spec{Commands: commands, Dir: t.TempDir(), Home: filepath.Join(t.TempDir(), "home"), Lookup: noVariables}
}

func noVariables(string) (string, bool) { return "", false }

func run(t *testing.T, s check.Spec) check.Report {
	t.Helper()
	report, err := check.Run(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestStatusOfACommand(t *testing.T) { statusesOfCommands(t, nil) }

// statusesOfCommands runs commands in a box, or in none.
func statusesOfCommands(t *testing.T, sandbox *box.Box) {
	for name, test := range map[string]struct {
		command string
		status  check.Status
		code    int
		reason  string // a part of it
	}{
		"success": {"true", check.Pass, 0, ""},
		"success although output speaks of errors": {"echo foo: not found", check.Pass, 0, ""},
		"failure":                                   {"exit 1", check.Fail, 1, ""},
		"another exit code":                         {"exit 42", check.Fail, 42, ""},
		"a signal":                                  {"kill -SEGV $$", check.Fail, 139, "SIGSEGV"},
		"a child's signal":                          {"sh -c 'kill -KILL $$'; exit $?", check.Fail, 137, ""},
		"a syntax error":                            {"if", check.Fail, 2, ""},
		"a missing program":                         {"no-such-tool --version", check.Error, 127, "no-such-tool"},
		"a missing program in a script":             {"sh ./calls-missing", check.Error, 127, "no-such-tool"},
		"a missing program for env":                 {"env no-such-tool", check.Error, 127, "no-such-tool"},
		"a missing program that the script forgave": {"no-such-tool || exit 3", check.Fail, 3, ""},
		"a program that exits with 127 in silence":  {"exit 127", check.Error, 127, "a program is missing"},
		"a file that may not be executed":           {"./calls-missing", check.Error, 126, "calls-missing"},
		"a missing interpreter":                     {"./lost-interpreter", check.Error, 0, "lost-interpreter"},
		"a command longer than exec takes":          {": " + strings.Repeat("x", 1<<20), check.Error, -1, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, test.command)
			s.Box = sandbox
			write(t, s.Dir, "calls-missing", "no-such-tool\n", 0o600)
			write(t, s.Dir, "lost-interpreter", "#!/no/such/interpreter\n", 0o700)
			got := run(t, s).Checks[0]
			if sandbox != nil && got.Sandbox != sandbox.String() && got.ExitCode != -1 {
				t.Errorf("it ran in %q", got.Sandbox)
			}
			if test.reason == "" && got.Status == check.Fail && strings.HasPrefix(got.Reason, "ended by SIG") && sandbox != nil {
				got.Reason = "" // by its exit code a box cannot tell whose signal it was
			}
			if got.Status != test.status || test.code != 0 && got.ExitCode != test.code || !strings.Contains(got.Reason, test.reason) || (test.reason == "") != (got.Reason == "") {
				t.Errorf("got %+v; want %s, %d, %q", got, test.status, test.code, test.reason)
			}
		})
	}
}

func TestAllCommandsRunInOrderAlsoAfterAFailure(t *testing.T) {
	report := run(t, spec(t, "echo one >> log; false", "echo two >> log; no-such-tool", "echo three >> log; cat log"))
	if got := report.Checks[2]; got.Head != "one\ntwo\nthree\n" || got.Status != check.Pass || got.Bytes != 14 {
		t.Errorf("got %+v", got)
	}
	want := check.Verdict{Outcome: check.Failed, Failing: []string{"echo one >> log; false"}, CannotRun: []string{"echo two >> log; no-such-tool"}}
	if got := report.Verdict(); got.Outcome != want.Outcome || !slices.Equal(got.Failing, want.Failing) || !slices.Equal(got.CannotRun, want.CannotRun) {
		t.Errorf("got %+v; want %+v", got, want)
	}
}

func TestEnvironmentHasExactlyTheNamesOfTheContract(t *testing.T) {
	t.Setenv("RATCHET_TEST_SECRET", "canary")
	s := spec(t, "/usr/bin/env | sort")
	s.Lookup, s.Env, s.Cache, s.RunID = nil, []string{"RATCHET_TEST_LET_THROUGH"}, "/cache", "run-1"
	t.Setenv("RATCHET_TEST_LET_THROUGH", "yes")
	t.Setenv("PATH", os.Getenv("PATH"))
	t.Setenv("LANG", "C")
	want := []string{"CI=1", "HOME=" + s.Home, "LANG=C", "LOGNAME=ratchet", "PATH=" + os.Getenv("PATH"), "RATCHET_RUN_ID=run-1", "RATCHET_TEST_LET_THROUGH=yes", "TERM=dumb", "TMPDIR=" + s.Home + "/tmp", "USER=ratchet", "XDG_CACHE_HOME=/cache"}
	var got []string
	for line := range strings.Lines(run(t, s).Checks[0].Head) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_"}, name) { // the shell's own
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestTheUsersOwnVariablesTakePrecedence(t *testing.T) {
	s := spec(t, `echo "$CI $TERM $USER"`)
	s.Env, s.Set = []string{"CI", "USER"}, map[string]string{"TERM": "xterm"}
	s.Lookup = func(name string) (string, bool) { return "kim", name == "USER" }
	if got := run(t, s).Checks[0]; got.Head != "1 xterm kim\n" {
		t.Errorf("got %q, want the user's TERM and USER", got.Head)
	}
}

// A test may commit in a repository of its own. An identity that it sets wins.
func TestGitHasAnIdentityOfLastResort(t *testing.T) {
	got := run(t, spec(t, `cd "$TMPDIR" && git init -q x && cd x && git commit -q --allow-empty -m a && git log -1 --format=%an &&
		git -c user.name=Kim commit -q --allow-empty -m b && git log -1 --format=%an`)).Checks[0]
	if got.Head != "Ratchet check\nKim\n" {
		t.Errorf("got %+v, want commits by Ratchet check and by Kim", got)
	}
}

func TestTemporaryDirectoryIsThere(t *testing.T) {
	got := run(t, spec(t, `touch "$TMPDIR/x" "$HOME/y" && cat`)).Checks[0]
	if got.Status != check.Pass {
		t.Errorf("got %+v", got)
	}
}

func TestDeadlineOfACommandIsItsOwn(t *testing.T) {
	t.Parallel()
	s := spec(t, "echo begun; trap '' TERM; sleep 300", "echo next")
	s.Timeout = 3 * time.Second // a busy machine takes a while to begin a command
	report := run(t, s)
	if got := report.Checks[0]; got.Status != check.Timeout || got.ExitCode != -1 || got.Head != "begun\n" || got.Reason != "timed out after 3s" {
		t.Errorf("got %+v", got)
	}
	if got := report.Checks[1]; got.Status != check.Pass || got.Head != "next\n" {
		t.Errorf("got %+v", got)
	}
}

func TestCancelEndsTheRunAndKeepsWhatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := spec(t, "true", "sleep 300", "true")
	report, err := check.Run(ctx, s, func(p check.Progress) {
		if p.Index == 1 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(report.Checks) != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestOutputIsBoundedAndBothStreamsShareIt(t *testing.T) {
	got := run(t, spec(t, "echo out; echo err >&2; yes | head -c 1000000; echo last")).Checks[0]
	if !strings.HasPrefix(got.Head, "out\nerr\ny\n") || !strings.HasSuffix(got.Tail, "y\nlast\n") || got.Bytes != 1000013 {
		t.Errorf("got %.20q ... %d bytes", got.Head, got.Bytes)
	}
	if len(got.Head) != check.HeadBytes || len(got.Tail) != check.TailBytes {
		t.Errorf("kept %d and %d bytes", len(got.Head), len(got.Tail))
	}
}

// censor hides a word and holds back what could be its beginning, as a real filter does.
type censor struct {
	to   io.Writer
	held []byte
}

func (c *censor) Write(p []byte) (int, error) {
	c.held = bytes.ReplaceAll(append(c.held, p...), []byte("canary"), []byte("***"))
	keep := min(len("canary")-1, len(c.held))
	_, err := c.to.Write(c.held[:len(c.held)-keep])
	c.held = bytes.Clone(c.held[len(c.held)-keep:])
	return len(p), err
}

func (c *censor) Close() error {
	_, err := c.to.Write(c.held)
	return err
}

func TestOutputPassesTheFilter(t *testing.T) {
	s := spec(t, "printf 'a cana'; printf ry >&2; echo ' sings'")
	s.Filter = func(w io.Writer) io.Writer { return &censor{to: w} }
	if got := run(t, s).Checks[0]; got.Head != "a *** sings\n" || got.Bytes != 12 {
		t.Errorf("got %+v", got)
	}
}

func TestProgressShowsARunningCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var got check.Progress
	check.Run(ctx, spec(t, "true", "echo output; sleep 300"), func(p check.Progress) {
		got = p
		if p.Bytes > 0 {
			cancel()
		}
	})
	if want := (check.Progress{Index: 1, Total: 2, Command: "echo output; sleep 300", Bytes: 7}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMissingWorkspaceIsAnErrorAndNoResult(t *testing.T) {
	s := spec(t, "true")
	s.Dir = filepath.Join(s.Dir, "none")
	if report, err := check.Run(t.Context(), s, nil); err == nil || len(report.Checks) > 0 {
		t.Errorf("got %+v, %v", report, err)
	}
}

func write(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
