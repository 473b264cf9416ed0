package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// sit starts the program at a terminal. The shell around it says at the end whether the terminal echoes as
// it did before.
func sit(t *testing.T, program string, columns, rows int, args ...string) *seat {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `"$0" "$@"; code=$?; stty -a | grep -qw -- -echo && echo SILENT || echo ECHOES; exit $code`, program}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "PAGER=cat", "EDITOR=sed -i 's/^>     1 + better$/&\\nBest, please/'")
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
	if testing.Short() {
		t.Skip("needs the engine")
	}
	alone(t)
	program := buildStarter(t)
	runsDir := filepath.Join(t.TempDir(), ".runs")
	repo, answers := repository(t), answers(t)
	stop := up(t, runsDir)
	defer stop()
	one := sit(t, program, 58, 30, "run", "--runs-dir", runsDir, "--sandbox", "off", "--repo", repo, "--goal", "Make it good",
		"--provider", "replay:"+answers, "--check", "sleep 2; "+passes, "--id", "at-a-terminal")
	one.awaits("type a note for the next prompt", 1)
	one.types("y\r")
	one.awaits("nothing waits for a decision", 1)
	one.types("please use a table\x17list\r")
	one.awaits("noted: the next prompt of this run carries it", 1)
	one.types("half a no") // the gate opens while the person types
	one.awaits(gatePrompt, 1)
	if err := one.terminal.Resize(200, 50); err != nil {
		t.Fatal(err)
	}
	one.does("", "decide later: the run waits")
	one.does("?", "refuse it and end the run")
	one.does("zz", " is none of the keys, nothing was decided")
	one.does("\x1b[A", "decide later: the run waits")
	one.does("d", "better")
	one.does("n", "Why not?")
	one.does("", gatePrompt)
	one.does("N", "Best, please")
	one.awaits("Send the patch back with this?", 1)
	one.does("n", gatePrompt)

	two := sit(t, program, 58, 30, "watch", "--runs-dir", runsDir, "at-a-terminal")
	two.awaits(gatePrompt, 1)
	two.does("y", "approved by")
	one.awaits("it was settled elsewhere", 1)
	one.awaits("approved by", 1)
	for _, s := range []*seat{one, two} {
		s.awaitsAfter("apr-2-", gatePrompt)
	}
	two.does("q", "Nothing has been applied")
	two.leaves(exitApproval)
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
	for line := range strings.Lines(shown) {
		if at := strings.LastIndex(line, "\r\x1b["); at >= 0 { // what a moving line has shown
			line = line[at+1:]
		}
		line = strings.TrimSpace(cursor.Replace(line))
		if terminal.Width(line) >= 58 && strings.Contains(line, " ") && !strings.Contains(line, "starter ") {
			t.Errorf("a line is %d columns wide: %q", terminal.Width(line), line)
		}
	}
}

// cursor removes the sequences that move the cursor, or call.
var cursor = strings.NewReplacer("\x1b[K", "", "\x1b[J", "", "\x1b[1A", "", "\x1b[2A", "", "\a", "")

// TestTheBoardAtATerminal opens the board, reviews from it, and comes back.
func TestTheBoardAtATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the engine")
	}
	alone(t)
	program := buildStarter(t)
	runsDir := filepath.Join(t.TempDir(), ".runs")
	repo, answers := repository(t), answers(t)
	stop := up(t, runsDir)
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
	s.awaits("2 runs need you", 1)
	s.awaits("+1 -1", 2) // what they wait for is there
	s.types("x")
	s.awaits("no such key", 1)
	s.types("y")
	s.awaits(gatePrompt, 1)
	s.does("q", "Enter: back to the board")
	s.types("\r")
	s.awaits(takeScreen, 2)
	s.types("\r")
	s.awaits(gatePrompt, 2)
	s.does("end", "Refuse the patch and end the run?")
	s.does("yes", "Enter: back to the board")
	s.types("\r")
	s.awaits(takeScreen, 3)
	s.awaitsAfter(takeScreen, "1 run needs you")
	s.types("q")
	s.leaves(0)
	if shown := s.shown.String(); strings.Count(shown, takeScreen) != strings.Count(shown, giveScreen) {
		t.Error("the screen is not given back")
	}
	review := sit(t, program, 80, 24, "review", "--runs-dir", runsDir)
	review.awaits(gatePrompt, 1)
	review.does("y", "")
	review.leaves(0)
	again := sit(t, program, 80, 24, "review", "--runs-dir", runsDir, "first")
	again.leaves(0)
}
