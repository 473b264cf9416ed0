package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// What the board writes when it takes the whole screen, and when it gives it back.
const (
	screenTaken = "\x1b[?1049h\x1b[?25l"
	screenGiven = "\x1b[?25h\x1b[?1049l"
)

// sit starts the program at a terminal. The shell around it says at the end whether the terminal echoes as
// it did before.
func sit(t *testing.T, program string, columns, rows int, args ...string) *seat {
	t.Helper()
	return sitWith(t, nil, program, columns, rows, args...)
}

// sitWith is sit with more variables.
func sitWith(t *testing.T, variables []string, program string, columns, rows int, args ...string) *seat {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `trap : INT; "$0" "$@"; code=$?; stty -a | grep -qw -- -echo && echo SILENT || echo ECHOES; exit $code`, program}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "PAGER=cat", "EDITOR=sed -i 's/^>     1 + better$/&\\nBest, please/'")
	cmd.Env = append(cmd.Env, variables...)
	return sitDown(t, cmd, columns, rows)
}

// leaves waits for the end, and checks the exit code and that the terminal is as it was.
func (s *seat) leaves(code int) {
	s.Helper()
	if got := s.exitCode(); got != code || !strings.Contains(s.shown.String(), "ECHOES") {
		s.Errorf("exit code %d, want %d; it must echo again", got, code)
	}
}

const gatePrompt = "Apply this patch?"

// TestTheGateAtATerminal lives through a run at two real terminals: what is typed ahead decides nothing,
// every key does what it says, sizes change, and a decision at one terminal is told at the other.
func TestTheGateAtATerminal(t *testing.T) {
	t.Parallel()
	program := buildStarter(t)
	runsDir := filepath.Join(t.TempDir(), ".runs")
	repo, answers := clitest.Repository(t), answers(t)
	stop := bringUp(t, runsDir)
	defer stop()
	typed := filepath.Join(t.TempDir(), "typed") // the check of the base commit waits for it
	one := sit(t, program, 58, 30, "run", "--runs-dir", runsDir, "--sandbox", "off", "--repo", repo, "--goal", "Make it good",
		"--provider", "replay:"+answers, "--check", "until [ -e "+typed+" ]; do sleep 0.05; done; "+passes, "--id", "at-a-terminal")
	one.awaits("type a note for the next prompt", 1)
	one.types("y\r")
	one.awaits("nothing waits for a decision", 1)
	one.types("please use a table\x17list\r")
	one.awaits("noted: the planner reads it", 1)
	one.types("half a no")
	one.awaits("› half a no", 1)
	clitest.Write(t, typed, "") // the gate opens while the person types
	one.awaits(gatePrompt, 1)
	if err := one.terminal.Resize(200, 50); err != nil {
		t.Fatal(err)
	}
	one.does("", "decide later: the run waits")
	one.does("?", "refuse it and end the run")
	one.does("zz", ", nothing was decided")
	one.does("\x1b[A", "decide later: the run waits")
	one.does("d", "better")
	one.does("n", "Why not?")
	one.does("", gatePrompt)
	one.does("N", "Best, please")
	one.awaitsAfter("Best, please", "Send the patch back with this?")
	one.does("n", gatePrompt)

	two := sit(t, program, 58, 30, "watch", "--runs-dir", runsDir, "at-a-terminal")
	two.awaits(gatePrompt, 1)
	two.does("y", "approved by")
	one.awaits("it was decided elsewhere", 1)
	one.awaits("approved by", 1)
	for _, s := range []*seat{one, two} {
		s.awaitsAfter("apr-2-", gatePrompt)
	}
	two.does("q", "Nothing has been applied")
	two.leaves(exit.Approval)
	one.does("y", "Completed")
	one.leaves(0)
	for _, s := range []*seat{one, two} {
		if !strings.Contains(s.shown.String(), "\a\x1b]9;") {
			t.Error("a gate does not call the person")
		}
	}
	checkNoteAndWidth(t, runsDir, two.shown.String())
}

// checkNoteAndWidth checks that the note came whole, and that no line of a terminal of 58 columns is wider.
func checkNoteAndWidth(t *testing.T, runsDir, shown string) {
	t.Helper()
	got := starter(t.Context(), "", "events", "at-a-terminal", "--runs-dir", runsDir, "--json")
	if !strings.Contains(got.out, "please use a list") || strings.Contains(got.out, "half a no") || strings.Count(got.out, string(run.ApprovalRejectedEvent)) > 0 {
		t.Errorf("the record:\n%s", got.out)
	}
	checkWidth(t, shown, 58)
}

// checkWidth checks that no line was left to the terminal to wrap. The commands to copy are.
func checkWidth(t *testing.T, shown string, columns int) {
	t.Helper()
	for line := range strings.Lines(shown) {
		if at := strings.LastIndex(line, "\r\x1b["); at >= 0 { // what a moving line has shown
			line = line[at+1:]
		}
		line = strings.TrimSpace(cursor.Replace(called.ReplaceAllString(line, "")))
		command := strings.Contains(line, "starter ") || strings.Contains(line, "git -C ")
		if terminal.Width(line) >= columns && strings.Contains(line, " ") && !command {
			t.Errorf("a line is %d columns wide: %q", terminal.Width(line), line)
		}
	}
}

// called is what a call of the person writes.
var called = regexp.MustCompile(`\x1b\]9;[^\x1b]*\x1b\\`)

// cursor removes the sequences that move the cursor, or ring.
var cursor = strings.NewReplacer("\x1b[K", "", "\x1b[J", "", "\x1b[1A", "", "\x1b[2A", "", "\a", "")

// TestTheBoardAtATerminal opens the board, reviews from it, and comes back.
func TestTheBoardAtATerminal(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	program := buildStarter(t)
	runsDir := filepath.Join(t.TempDir(), ".runs")
	repo, answers := clitest.Repository(t), answers(t)
	clitest.Write(t, filepath.Join(answers, "execute-1.md"), change("bad", "good")) // a fix would wait, and review ask again
	stop := bringUp(t, runsDir)
	defer stop()
	begin := func(id string) {
		t.Helper()
		if got := starter(t.Context(), "", "run", "--runs-dir", runsDir, "--sandbox", "off", "--repo", repo, "--goal", "Make it good", "--provider", "replay:"+answers, "--check", passes, "--id", id, "--detach"); got.code != 0 {
			t.Fatalf("%d: %s", got.code, got.err)
		}
	}
	begin("first")
	begin("second")
	s := sit(t, program, 110, 24, "--runs-dir", runsDir)
	s.awaits("2 need you", 1)
	s.awaits("+1 -1", 2) // what they wait for is there
	s.types("x")
	s.awaits("unknown key;", 1)
	s.types("s")
	s.awaits("What should the run do?", 1)
	s.answers("")
	s.awaits(screenTaken, 2)
	s.types("y")
	s.awaits(gatePrompt, 1)
	s.does("q", "Enter: back to the board")
	s.answers("")
	s.awaits(screenTaken, 3)
	s.types("\r")
	s.awaitsAfter(screenGiven, gatePrompt)
	s.does("end", "Refuse the patch and end the run?")
	s.does("yes", "Enter: back to the board")
	s.answers("")
	s.awaits(screenTaken, 4)
	s.awaitsAfter(screenTaken, "1 needs you")
	s.types("q")
	s.leaves(0)
	if shown := s.shown.String(); strings.Count(shown, screenTaken) != strings.Count(shown, screenGiven) {
		t.Error("the screen is not given back")
	}
	review := sit(t, program, 80, 24, "review", "--runs-dir", runsDir)
	review.awaits(gatePrompt, 1)
	review.does("y", "")
	review.leaves(0)
	again := sit(t, program, 80, 24, "review", "--runs-dir", runsDir, "first")
	again.leaves(0)
}

// twoFiles is an answer that adds a file and changes another.
const twoFiles = `<<<AIO_RESULT_START>>>
type: PATCH
summary: Make it good
<<<AIO_RESULT_END>>>

[PATCH_BEGIN]
diff --git a/state.txt b/state.txt
--- a/state.txt
+++ b/state.txt
@@ -1 +1 @@
-bad
+good
diff --git a/extra.txt b/extra.txt
new file mode 100644
--- /dev/null
+++ b/extra.txt
@@ -0,0 +1 @@
+nobody asked for this line, which is so long that a narrow terminal has to break it, and a wide one, too, as it goes on and on and on to its very end
[PATCH_END]
`

// TestTheRarerKeysAtATerminal uses the keys for files at a wide terminal, is interrupted at the gate, and answers the
// question of an error at a narrow one without colours.
func TestTheRarerKeysAtATerminal(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	program := buildStarter(t)
	runsDir, answers := filepath.Join(t.TempDir(), ".runs"), t.TempDir()
	repo := clitest.Repository(t)
	stop := bringUp(t, runsDir)
	defer stop()
	clitest.Write(t, filepath.Join(answers, "plan-1.md"), "Make it good")
	clitest.Write(t, filepath.Join(answers, "execute-1.md"), twoFiles)
	begin := func(variables []string, columns int, id, check string) *seat {
		t.Helper()
		return sitWith(t, variables, program, columns, 40, "run", "--runs-dir", runsDir, "--sandbox", "off", "--repo", repo, "--goal", "Make it good",
			"--provider", "replay:"+answers, "--check", check, "--id", id)
	}

	wide := begin(nil, 200, "by-file", passes)
	wide.awaits(gatePrompt, 1)
	wide.does("f", "file 1 of 2")
	wide.does("", "file 2 of 2")
	wide.does("b", "file 1 of 2")
	wide.does("q", gatePrompt)
	wide.does("a", "Which do you accept?")
	wide.does("9", "nothing was decided")
	wide.awaitsAfter("nothing was decided", gatePrompt)
	wide.does("end", "Refuse the patch and end the run?")
	wide.does("n", gatePrompt)
	wide.awaitsPrompt()
	wide.types("\x03")
	wide.leaves(exit.Interrupted)
	checkWidth(t, wide.shown.String(), 200)
	if !strings.Contains(wide.shown.String(), "The run continues.") {
		t.Error("an interrupt does not say what becomes of the run")
	}

	plain := []string{"NO_COLOR=1"}
	again := sitWith(t, plain, program, 58, 30, "watch", "--runs-dir", runsDir, "by-file")
	again.awaits(gatePrompt, 1)
	again.does("a", "Which do you accept?")
	again.does("2", "Why does the rest go back?")
	again.does("-", "Completed") // the choice is the approval
	again.leaves(0)

	failing := begin(plain, 58, "by-error", "false") // no answer is recorded for the fix that follows
	failing.awaits(gatePrompt, 1)
	failing.does("y", "What now?")
	failing.does("", "try the step again")
	failing.does("x", ", nothing was decided")
	failing.does("r", "qst-2-2")
	failing.awaitsAfter("qst-2-2", "What now?")
	failing.does("cancel", "End the run?")
	failing.does("n", "What now?")
	failing.does("q", "The run waits for an answer")
	failing.leaves(exit.Input)
	last := sitWith(t, plain, program, 58, 30, "review", "--runs-dir", runsDir, "by-error")
	last.awaits("What now?", 1)
	last.does("cancel", "End the run?")
	last.does("yes", "it is asked to end")
	last.leaves(0)
	for _, s := range []*seat{again, failing, last} {
		checkWidth(t, s.shown.String(), 58)
		if strings.Contains(s.shown.String(), "\x1b[3") {
			t.Error("a colour is shown in spite of NO_COLOR")
		}
	}
}
