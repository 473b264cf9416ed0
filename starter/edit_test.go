package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// testEdit puts another patch in the place of the pending one: one that does not apply changes nothing, one that does waits
// for an approval of its own and is what the branch holds.
func testEdit(b bench) {
	id := b.start()
	b.await(id, run.AwaitingApproval)
	first := b.status(id).Pending.Approval
	shown := b.expect(0, "diff", id, "--raw").out
	file := filepath.Join(b.TempDir(), "p.diff")
	clitest.Write(b.T, file, strings.ReplaceAll(shown, "--- a/state.txt", "--- a/none.txt"))
	if got := b.expect(1, "edit", id, "--patch", file); !strings.Contains(got.err, "the edited patch is refused: ") || !strings.Contains(got.err, "the patch still waits for approval. Your text is in "+file) {
		b.Errorf("an edit that does not apply: %s", got.err)
	}
	if got := b.expect(1, "edit", id, "--patch", "/dev/null"); !strings.Contains(got.err, "is empty") {
		b.Errorf("no text: %s", got.err)
	}
	clitest.Write(b.T, file, shown)
	if got := b.expect(1, "edit", id, "--patch", file); !strings.Contains(got.err, "it makes the same changes as the pending patch") {
		b.Errorf("an edit of nothing: %s", got.err)
	}
	if now := b.status(id).Pending.Approval; now == nil || now.ApprovalID != first.ApprovalID {
		b.Errorf("refused edits leave %+v, want %s", now, first.ApprovalID)
	}
	if got := b.expect(2, "edit", id); !strings.Contains(got.err, "--patch FILE") {
		b.Errorf("without a terminal: %s", got.err)
	}
	clitest.Write(b.T, file, strings.ReplaceAll(shown, "+better", "+good"))
	if got := b.expect(0, "edit", id, "--patch", file, "--by", "kim"); !strings.Contains(got.out, "edited; the run proposes your patch") {
		b.Errorf("an edit: %s%s", got.out, got.err)
	}
	eventually.Holds(b.T, "the edit waits", func() bool {
		a := b.status(id).Pending.Approval
		return a != nil && a.ApprovalID != first.ApprovalID && strings.HasPrefix(a.EditedBy, "kim")
	})
	b.expect(0, "approve", id)
	b.await(id, run.Completed)
	if text := clitest.Git(b.T, b.repo, "show", b.branch(id)+":state.txt"); text != "good\n" {
		b.Errorf("the branch has %q", text)
	}
	if got := b.expect(0, "watch", id); !strings.Contains(got.out, "the patch, edited by kim") || !strings.Contains(got.out, "1 commit") {
		b.Errorf("the story:\n%s", got.out)
	}
}

// testHunks accepts a hunk of one file alone: that is applied, and nothing else. What the patch does not have decides nothing.
func testHunks(b bench) {
	dir := answers(b.T)
	patch := fmt.Sprintf(patchHead, "Make it good", "diff --git a/state.txt b/state.txt\n--- a/state.txt\n+++ b/state.txt\n@@ -1 +1 @@\n-bad\n+good\n"+
		"diff --git a/more.txt b/more.txt\nnew file mode 100644\n--- /dev/null\n+++ b/more.txt\n@@ -0,0 +1 @@\n+more\n")
	clitest.Write(b.T, filepath.Join(dir, "execute-1.md"), patch)
	b.answers = dir
	id := b.start()
	b.await(id, run.AwaitingApproval)
	first := b.status(id).Pending.Approval.ApprovalID
	for _, bad := range []struct {
		code int
		hunk string
		says string
	}{
		{exit.Usage, "state.txt", "want path:1,3"},
		{exit.Usage, "state.txt:x", "is not the number of a hunk"},
		{exit.Usage, "state.txt:2", "has no hunk 2"},
		{exit.Usage, "none.txt:1", "does not change none.txt"},
	} {
		if got := b.expect(bad.code, "approve", id, "--hunk", bad.hunk); !strings.Contains(got.err, bad.says) {
			b.Errorf("--hunk %s: got %q, want %q", bad.hunk, got.err, bad.says)
		}
	}
	if now := b.status(id).Pending.Approval; now == nil || now.ApprovalID != first {
		b.Errorf("refused choices leave %+v, want %s", now, first)
	}
	b.expect(0, "approve", id, "--hunk", "state.txt:1")
	b.await(id, run.Completed)
	if text := clitest.Git(b.T, b.repo, "diff", "--stat", "HEAD", b.branch(id)); !strings.Contains(text, "state.txt") || strings.Contains(text, "more.txt") {
		b.Errorf("the branch changes %q, want state.txt alone", text)
	}
}
