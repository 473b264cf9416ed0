package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// twoHunks is an answer that changes the first and the last line of a list.
const twoHunks = `<<<AIO_RESULT_START>>>
type: PATCH
summary: Use capitals
<<<AIO_RESULT_END>>>

[PATCH_BEGIN]
diff --git a/list.txt b/list.txt
--- a/list.txt
+++ b/list.txt
@@ -1,3 +1,3 @@
-line 1
+LINE 1
 line 2
 line 3
@@ -18,3 +18,3 @@
 line 18
 line 19
-line 20
+LINE 20
[PATCH_END]
`

// TestAllThatWaitsAtATerminal has a ticket, a session and a run ask. They are on the board, and `starter review` goes
// through them: it says what each decision did, and an edited patch comes again and is taken in part.
func TestAllThatWaitsAtATerminal(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	b := newTalk(t)
	program, answers := buildStarter(t), t.TempDir()
	server := forgetest.New(t, forge.Gitea)
	token := filepath.Join(t.TempDir(), "token")
	clitest.Must(t, os.WriteFile(token, []byte(forgetest.Token), 0o600))
	stop := bringUp(t, b.runsDir, "--forge", "gitea:"+server.URL+"="+token, "--forge-pace", "50ms")
	defer stop()
	var list strings.Builder
	for i := range 20 {
		fmt.Fprintf(&list, "line %d\n", i+1)
	}
	clitest.Write(t, filepath.Join(b.repo, "list.txt"), list.String())
	clitest.Git(t, b.repo, "add", "-A")
	clitest.Git(t, b.repo, "commit", "-q", "-m", "list")
	clitest.Git(t, b.repo, "push", "-q", server.Dir, "main")
	clitest.Git(t, b.repo, "remote", "add", "origin", server.Remote())
	clitest.Write(t, filepath.Join(answers, "plan-1.md"), "# Use capitals\n")
	clitest.Write(t, filepath.Join(answers, "execute-1.md"), twoHunks)
	run := []string{"--repo", b.repo, "--provider", "replay:" + answers, "--check", "true", "--sandbox", "off"}

	server.AddIssue(forgetest.Issue{Number: 7, Title: "Use capitals", Body: "Please.", Author: "ann"})
	b.expect(0, append([]string{"ticket", server.URL + "/acme/shop/issues/7", "--approve", "never"}, run...)...)
	eventually.Holds(t, "the ticket has a pull request", func() bool { return len(server.Pulls()) == 1 })
	server.ChangeIssue(7, func(i *forgetest.Issue) { i.Locked = true })
	eventually.Holds(t, "the ticket asks", func() bool { return strings.Contains(b.expect(0, "review", "--json").out, "locked") })
	b.startSession("--say", "ask me")
	eventually.Holds(t, "the session asks", func() bool { return strings.Contains(b.expect(0, "review", "--json").out, `"allow"`) })
	b.expect(0, append([]string{"run", "Use capitals", "--id", "capitals", "--detach"}, run...)...)

	board := sit(t, program, 110, 24, "--runs-dir", b.runsDir)
	board.awaits("3 need you", 1)
	board.awaits("+2 -2", 1)
	for _, row := range []string{"acme/shop#7", b.id} {
		if !strings.Contains(board.shown.String(), row) {
			t.Errorf("the board has no row of %s", row)
		}
	}
	board.types("\x1b[B\r") // the second row: the session
	board.awaits("Allow it?", 1)
	board.does("q", "Enter: back to the board")
	board.answers("")
	board.awaits(screenTaken, 2)
	board.types("q")
	board.leaves(0)

	s := sitWith(t, []string{"EDITOR=sed -i 's/^+LINE 1$/+Line 1/'"}, program, 80, 40, "review", "--runs-dir", b.runsDir)
	s.awaits("1 of 3", 1)
	s.does("continue", "answered")
	s.awaits("2 of 3", 1)
	s.does("y", "approved")
	s.awaits("3 of 3", 1)
	s.does("e", "Propose the edited patch?")
	s.does("y", "edited by")
	s.awaits("4 of 4", 1) // the edit is a patch of its own
	s.awaitsAfter("4 of 4", "Line 1")
	s.does("a", "Which do you accept?")
	s.does("1.1", "Why does the rest go back?")
	s.does("-", "Nothing else is waiting for you.")
	s.leaves(0)
	checkWidth(t, s.shown.String(), 80)
	b.await("capitals", "completed")
	branch := b.branch("capitals")
	if got := clitest.Git(t, b.repo, "show", branch+":list.txt"); !strings.HasPrefix(got, "Line 1\n") || !strings.Contains(got, "line 20") {
		t.Errorf("got %q, want the first line as it was edited, and the last as it was", got)
	}

	b.expect(0, "session", "say", b.id, "ask me again", "--detach")
	w := sitWith(t, nil, program, 80, 30, "session", "watch", "--runs-dir", b.runsDir, b.id)
	w.awaits("Allow it?", 1)
	w.does("n", "Why not?")
	w.does("use go build", "refused")
	w.awaitsAfter("refused", "default: ask me again") // the turn has ended
	w.types("\x03")
	w.awaits("ECHOES", 1)
	if os.Getenv("SHOW") != "" {
		fmt.Println(board.shown.String(), "\n=====\n", s.shown.String(), "\n=====\n", w.shown.String())
	}
}
