package webui_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/workflows/forge"
)

// askingTicket is a ticket that asks.
type askingTicket struct{}

func (askingTicket) AskingTickets(ctx context.Context) ([]runs.TicketView, error) {
	v, err := askingTicket{}.Ticket(ctx, "")
	return []runs.TicketView{v}, err
}

func (askingTicket) Ticket(context.Context, string) (runs.TicketView, error) {
	return runs.TicketView{Name: "git.example/acme/greeter#7", Open: true, Repository: "/src/shop", Since: time.Now().Add(-time.Hour), State: ticket.State{
		Step: ticket.Waiting, Title: "Greet people politely", Question: &ticket.Question{Key: "locked", Text: "the issue is locked"},
	}}, nil
}

func (askingTicket) AnswerTicket(context.Context, string, string) error { return nil }

func (askingTicket) PullOf(context.Context, run.ID) (out forge.Result, ok bool) { return out, false }

// TestAPersonEditsAPatchAndTakesAHunk walks from a ticket to a patch with two hunks, edits the patch, and
// accepts one hunk of the edit.
func TestAPersonEditsAPatchAndTakesAHunk(t *testing.T) {
	t.Parallel()
	onScreens(t, func(t *testing.T, b *browser) {
		var old strings.Builder
		old.WriteString("package greet\n")
		for i := range 20 {
			fmt.Fprintf(&old, "// line %d\n", i+1)
		}
		s := newFixture(t, old.String())
		server := serveReview(s, review.Config{Sessions: asking{}, Tickets: askingTicket{}})
		b.enterReview(server, "/")
		in := s.input("Use capitals", s.replay(map[string]string{"plan-1": plan, "execute-1": `<<<AIO_RESULT_START>>>
type: PATCH
summary: use capitals
<<<AIO_RESULT_END>>>

[PATCH_BEGIN]
--- a/greet.go
+++ b/greet.go
@@ -1,3 +1,3 @@
 package greet
-// line 1
+// LINE 1
 // line 2
@@ -19,3 +19,3 @@
 // line 18
 // line 19
-// line 20
+// LINE 20
[PATCH_END]
`}), "true")
		r := s.review(b, server, in)
		await(t, "the run waits", func() bool { return s.state(in.RunID).Status == run.AwaitingApproval })
		b.open(server.URL + "/")
		b.awaitText("use capitals")
		r.look(t, "1-queue")
		b.click("//a[contains(@href,'/tickets/')]")
		b.awaitText("the issue is locked")
		b.awaitText("1 of 3")
		r.look(t, "2-ticket")
		b.click("//a[@rel='next']")
		b.awaitText("2 of 3") // the session asks since now
		r.awaits(t, run.AwaitingApproval, "LINE 20")
		b.click("//details[@id='edit']/summary")
		r.look(t, "3-edit")
		eval[any](b, `const t = document.getElementById("patch"); t.value = t.value.replace("+// LINE 1\n", "+// Line 1\n")`)
		b.click("//button[@value='edit']")
		b.awaitAddress(r.page + "?said=edited")
		b.awaitText("edited by kim")
		b.click("(//input[@name='hunk'])[1]")
		b.click("//details[@id='part']/summary")
		r.look(t, "4-hunk")
		b.click("//button[@value='part']")
		await(t, "the run completes", func() bool { return s.state(in.RunID).Status == run.Completed })
		if got := r.file("greet.go"); !strings.Contains(got, "// Line 1\n") || !strings.Contains(got, "// line 20") {
			t.Errorf("got %q, want the first line as it was edited, and the last as it was", got)
		}
	})
}
