package webui_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// audit runs axe-core and returns its serious and critical findings, and how many rules had something to look at.
// WebDriver runs the script beside the page's own, which the page's policy does not hold.
const audit = `
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then((r) => done({
	passes: r.passes.length,
	found: r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
		.flatMap((v) => v.nodes.map((n) => v.impact + " " + v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary.replace(/\s+/g, " "))),
}), (e) => done({passes: 0, found: ["axe failed: " + e]}))`

type audited struct {
	Passes int      `json:"passes"`
	Found  []string `json:"found"`
}

// runAxe looks at the page that is open with the axe-core of AXE_JS.
func (b *browser) runAxe(axe string) (out audited) {
	b.t.Helper()
	eval[any](b, axe)
	b.post("/execute/async", map[string]any{"script": audit, "args": []any{}}, &out)
	return out
}

func readAxe(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(need.Env(t, "AXE_JS"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// TestAxeOnThePage has axe-core look at each page of the review page, in both sizes and colours.
func TestAxeOnThePage(t *testing.T) {
	t.Parallel()
	axe := readAxe(t)
	onScreens(t, func(t *testing.T, b *browser) {
		s := newFixture(t, greetGo)
		server := reviewOf(s)
		look := func(page string) {
			t.Helper()
			for _, scheme := range []string{"dark", "light"} {
				b.emulateScheme(scheme)
				got := b.runAxe(axe)
				for _, found := range got.Found {
					t.Errorf("%s, %s: %s", page, scheme, found)
				}
				if got.Passes < 5 {
					t.Errorf("%s, %s: axe has looked at %d rules alone", page, scheme, got.Passes)
				}
			}
		}
		b.open(server.URL + "/login")
		b.awaitText("This page is locked")
		look("login")
		b.enterReview(server, "/")
		b.awaitText("Nothing is waiting for you")
		look("empty queue")
		in := s.input("Greet people politely", s.replay(map[string]string{
			"plan-1": plan, "execute-1": question("A mark, too?", "the goal does not say", "yes or no"),
			"execute-1.2": bothFiles("greet and leave", `"Hello, " + name`, strings.Repeat("Bye", 1000)),
			"fix-2":       bothFiles("mended", `"Hello, " + name`, "Bye"),
		}), "grep -q 'Hello, ' greet.go", "echo no; false")
		r := s.review(b, server, in)
		b.awaitText("A mark, too?")
		look("queue")
		b.open(r.page)
		b.awaitText("the goal does not say")
		look("question")
		b.paste("//textarea[@id='answer']", "no")
		b.click("//button[@value='answer']")
		r.awaits(t, run.AwaitingApproval, "greet and leave")
		openAll := `for (const d of document.querySelectorAll("details")) d.open = true`
		eval[any](b, openAll)
		look("patch")
		b.open(r.page + "/file?file=0")
		b.awaitText("Back to the run")
		look("file")
		b.open(r.page)
		b.click("//a[@data-open='back']")
		b.paste("//textarea[@id='reason']", "shorter")
		b.click("//details[@id='back']//button[@value='reject']")
		b.awaitText("What changed since the patch you sent back")
		eval[any](b, openAll)
		look("patch after a refusal")
		b.open(server.URL + review.RunPath("no-such-run"))
		b.awaitText("Error")
		look("error")
		b.open(r.page)
		b.click("//details[@id='end']/summary")
		b.click("//form[contains(@action,'/cancel')]//button")
		r.awaits(t, run.Canceled, "canceled")
		b.open(r.page)
		eval[any](b, openAll)
		look("run that is over")
		desk := serveReview(s, review.Config{Sessions: asking{}})
		b.open(desk.Place().LoginOwner("kim", "/sessions/s1", time.Now()))
		b.awaitText("go vet ./...")
		eval[any](b, openAll)
		look("session")
		b.keep("session")
		b.open(desk.URL + "/")
		b.awaitText("the flaky tests")
		b.keep("queue-of-a-session")
		look("queue of a session")
		b.click("//a[@href='/start']")
		b.awaitText("what should the run change?")
		look("start")
		b.keep("start")
	})
}

// asking is a session whose agent asks for a tool.
type asking struct{}

func (asking) Asking(context.Context) ([]sessions.Listed, error) {
	return []sessions.Listed{{ID: "s1", State: session.Asking, Title: "the flaky tests", Provider: "claude", Repository: "/src/shop"}}, nil
}

func (asking) Find(context.Context, string) (session.ID, error) { return "s1", nil }

func (asking) State(context.Context, session.ID) (session.Snapshot, error) {
	return session.Snapshot{
		Input: session.Input{ID: "s1", Provider: "claude", Title: "the flaky tests", Repository: run.Repository{Path: "/src/shop"}}, State: session.Asking, Since: time.Now(),
		Asks: []session.Ask{{ApprovalID: "apr-1", Permission: run.Permission{Tool: "Bash", Excerpt: `{"command":"go vet ./...","description":"look for mistakes"}`}}},
		Past: []session.Past{{ID: "m1", By: "kim", At: time.Now(), Outcome: session.Completed, Gist: "The tests use the clock."}},
	}, nil
}

func (asking) Send(context.Context, session.ID, string, string, any, any) error { return nil }

// Axe finds what it is here for, on a page with the faults.
func TestAxeFinds(t *testing.T) {
	t.Parallel()
	axe := readAxe(t)
	b := openBrowser(t, 800, 600)
	b.open("data:text/html,<html><body><button></button><input><p style='color:%23999;background:%23fff'>pale</p><img src='data:,'>")
	got := fmt.Sprint(b.runAxe(axe).Found)
	for _, want := range []string{"critical button-name", "critical label", "serious color-contrast", "critical image-alt", "serious html-has-lang", "serious document-title"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not found:\n%s", want, got)
		}
	}
}
