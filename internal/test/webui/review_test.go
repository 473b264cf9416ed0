package webui_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// reviewOf serves the review page of the fixture's runs.
func reviewOf(s *fixture) *review.Server {
	s.t.Helper()
	return serveReview(s, review.Config{})
}

func serveReview(s *fixture, c review.Config) *review.Server {
	s.t.Helper()
	c.Address, c.Commands = "127.0.0.1:0", merger{s}
	server, err := review.Start(c, runs.New(s.client, temporalclient.TaskQueue), review.NewDisk(s.runs))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(server.Stop)
	return server
}

// merger merges runs of the fixture, and starts none.
type merger struct{ *fixture }

func (m merger) Merge(ctx context.Context, id run.ID, into, by string) error {
	facts, err := runs.New(m.client, temporalclient.TaskQueue).Facts(ctx, id)
	if err != nil {
		return err
	}
	plan, err := merge.Prepare(ctx, merge.Input{Repository: m.repo, RunID: id, Goal: facts.Goal, Base: facts.Repository.Base, Head: facts.Head, Into: into, By: by})
	if err != nil {
		return err
	}
	return plan.Apply(ctx)
}

func (merger) Undo(context.Context, run.ID, string, string) error {
	return errors.New("not here")
}

func (merger) Retry(context.Context, run.ID, string) (run.ID, error) {
	return "", errors.New("not here")
}

func (merger) Goals(context.Context, string) ([]review.SavedGoal, error) {
	return []review.SavedGoal{{Name: "licence", Text: "Put the licence of {{year}} there", Parameters: []string{"year"}}}, nil
}

func (merger) Start(context.Context, review.NewRun) (run.ID, error) {
	return "", errors.New("not here")
}

// resize gives the page the width and height of a screen. A window of Chromium cannot be as narrow as a phone.
func (b *browser) resize(width, height int) {
	b.t.Helper()
	b.post("/goog/cdp/execute", map[string]any{"cmd": "Emulation.setDeviceMetricsOverride", "params": map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
	}}, nil)
}

// enterReview opens the review page by a login link.
func (b *browser) enterReview(server *review.Server, path string) {
	b.t.Helper()
	b.open(server.Place().Login("kim", path, time.Now()))
	b.awaitAddress(server.URL + path)
}

// fixer returns a provider that keeps its request in a file and answers.
func (s *fixture) fixer(request, answer string) string {
	s.t.Helper()
	dir := s.t.TempDir()
	text, program := filepath.Join(dir, "answer"), filepath.Join(dir, "fixer")
	for path, content := range map[string]string{text: answer, program: "#!/bin/sh\ncat > " + request + "\ncat " + text + "\n"} {
		if err := proctest.WriteProgram(path, content); err != nil {
			s.t.Fatal(err)
		}
	}
	return "command:" + program
}

// TestAPersonReviewsOnAPhone opens the link of a notification and sends the patch back with a comment at a line, which
// the fixer is told; then opens it again and applies: a tap on the link and a tap on the button; and merges with the next.
func TestAPersonReviewsOnAPhone(t *testing.T) {
	t.Parallel()
	for _, screen := range []struct {
		name          string
		width, height int
	}{{"phone", 390, 844}, {"desk", 1400, 1000}} {
		t.Run(screen.name, func(t *testing.T) {
			b := openBrowser(t, screen.width, screen.height)
			b.resize(screen.width, screen.height)
			s := newFixture(t, greetGo)
			server := reviewOf(s)
			b.enterReview(server, "/")
			b.awaitText("Nothing is waiting for you")
			request := filepath.Join(t.TempDir(), "request")
			in := s.input("Greet people politely: a comma after Hello.", s.replay(map[string]string{
				"plan-1": plan, "execute-1": greeting("put a comma after Hello", `"Hello " + name`, `"Hello, " + name + "?"`),
			}), "grep -q 'Hello, ' greet.go", "true")
			in.Providers.Fixer = s.fixer(request, greeting("put a comma and no mark", `"Hello " + name`, `"Hello, " + name`))
			s.begin(in)
			link := server.URL + review.RunPath(in.RunID)

			b.awaitText("approve") // the queue follows by itself
			b.keep("1-queue")
			b.open(link)
			b.awaitText("put a comma after Hello")
			b.noSidewaysScroll(t)
			b.checkAccess(t)
			b.keep("2-patch")
			b.click("//div[contains(@class,'ins')]//button[@data-line='5']")
			b.paste("//textarea[contains(@name,'remark:new:5:greet.go')]", "no question <mark>, please")
			b.paste("//textarea[@id='reason']", "nearly right")
			b.click("//div[@class='bar']//button[@value='approve']") // a slip: nothing is dropped
			b.awaitText("You have 2 comments")
			b.keep("3-comment")
			b.checkAccess(t)
			b.click("//div[@id='ask']//button[@value='reject']")
			b.awaitAddress(link + "?said=rejected") // the next patch takes the word away

			await(t, "the fixer's patch waits", func() bool {
				st := s.state(in.RunID)
				return st.Status == run.AwaitingApproval && st.Iteration == 2
			})
			told, err := os.ReadFile(request)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"nearly right", `greet.go:5: return \"Hello, \" + name + \"?\"`, "no question "} {
				if !strings.Contains(string(told), want) {
					t.Errorf("the fixer's request lacks %q:\n%s", want, told)
				}
			}
			b.awaitText("put a comma and no mark") // the page follows the run by itself
			b.awaitText("What changed since the patch you sent back")
			b.keep("4-fixed")
			b.checkAccess(t)

			b.open("about:blank")
			b.open(link)                                             // the first tap
			b.click("//div[@class='bar']//button[@value='approve']") // the second
			b.awaitAddress(link + "?said=approved")
			await(t, "the run completes", func() bool { return s.state(in.RunID).Status == run.Completed })
			b.awaitText("completed")
			b.awaitText("Merge into main")
			b.keep("5-completed")
			b.checkAccess(t)
			b.noSidewaysScroll(t)
			b.click("//form[contains(@action,'/merge')]//button") // the third
			b.awaitText("Merged into main")
			b.keep("6-merged")
			b.checkAccess(t)
			if got := s.git("-C", s.repo, "show", "main:greet.go"); !strings.Contains(got, `"Hello, " + name`+"\n") {
				t.Errorf("main has %s", got)
			}
			b.open(server.URL)
			b.awaitText("merged")
			b.keep("7-queue")
			b.checkAccess(t)
			if got := s.git("-C", s.repo, "show", in.RunID.Branch()+":greet.go"); !strings.Contains(got, `"Hello, " + name`+"\n") {
				t.Errorf("the branch has %s", got)
			}
		})
	}
}

// noSidewaysScroll holds that no part of the page lies beyond the edge of the screen.
func (b *browser) noSidewaysScroll(t *testing.T) {
	t.Helper()
	if wide := eval[float64](b, "return document.documentElement.scrollWidth - window.innerWidth"); wide > 0 {
		t.Errorf("the page is %v pixels wider than the screen", wide)
	}
}

// TestHostileTextOnTheReviewPage puts text that would be markup or a script wherever a model writes.
func TestHostileTextOnTheReviewPage(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1400, 1000)
	s := newFixture(t, greetGo)
	server := reviewOf(s)
	b.enterReview(server, "/")
	in := s.input(hostile+"\n</pre></script>{{.}}", s.replay(map[string]string{
		"plan-1":      "# </pre><script>parent.pwned=1</script>\n" + plan,
		"execute-1":   question(hostile, hostile, hostile),
		"execute-1.2": greeting(hostile, `"Hello " + name`, "\"</code><script>parent.pwned=1</script>\x1b[2J\u202e\" + name"),
	}), "echo '</pre><script>parent.pwned=1</script>'; false")
	s.begin(in)
	look := func(step string, times int) {
		b.open(server.URL + review.RunPath(in.RunID))
		b.awaitText(step)
		eval[any](b, `for (const d of document.querySelectorAll("details")) d.open = true`)
		b.keep(step)
		text := b.text()
		if n := strings.Count(text, "<script>parent.pwned=1</script>"); n < times {
			t.Errorf("%s: the text is shown %d times, want %d:\n%s", step, n, times, text)
		}
		if strings.ContainsAny(text, "\x1b\u202e\u202c") || eval[bool](b, "return window.pwned === 1") {
			t.Errorf("%s: a control character is on the page, or a script ran", step)
		}
		if built := eval[[]string](b, `return Array.from(document.querySelectorAll("main img, main script, main a[href*=javascript], main a[href*=example], main mark"), e => e.outerHTML)`); len(built) > 0 {
			t.Errorf("%s: built from text: %q", step, built)
		}
	}
	await(t, "the run asks", func() bool { return s.state(in.RunID).Status == run.AwaitingInput })
	look("A question", 5) // goal, question, reason, needed, plan
	b.paste("//textarea[@id='answer']", hostile)
	b.click("//button[@value='answer']")
	await(t, "the run asks for an approval", func() bool { return s.state(in.RunID).Status == run.AwaitingApproval })
	look("not applied yet", 5) // goal, summary, patch, plan, check
	b.open(server.URL)
	b.awaitText("approve")
	if !strings.Contains(b.text(), "<script>parent.pwned=1</script>") || eval[bool](b, "return window.pwned === 1") {
		t.Errorf("the queue shows %s", b.text())
	}
}

// inject does to the page what a fault in escaping would: it adds a script, one of another place, a handler and an image.
const inject = `
const done = arguments[arguments.length - 1], blocked = [];
document.addEventListener("securitypolicyviolation", (e) => {
	blocked.push(e.effectiveDirective + " " + e.blockedURI);
	if (blocked.length === 4) done({blocked, ran: window.pwned === 1});
});
const script = document.createElement("script"), theirs = document.createElement("script"), part = document.createElement("div");
script.textContent = "window.pwned = 1";
theirs.src = "http://127.0.0.1:9/x.js";
part.innerHTML = '<img src="http://127.0.0.1:9/x.png" onerror="window.pwned = 1">';
document.body.append(script, theirs, part);`

// TestThePolicyHoldsScripts holds that no script runs but the files of the page, where a text became markup all the
// same.
func TestThePolicyHoldsScripts(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1000, 800)
	s := newFixture(t, greetGo)
	b.enterReview(reviewOf(s), "/")
	b.awaitText("Nothing is waiting for you")
	var got struct {
		Blocked []string `json:"blocked"`
		Ran     bool     `json:"ran"`
	}
	b.post("/execute/async", map[string]any{"script": inject, "args": []any{}}, &got)
	if all := strings.Join(got.Blocked, "\n"); got.Ran || !strings.Contains(all, "script-src-elem inline") || !strings.Contains(all, "script-src-attr inline") ||
		!strings.Contains(all, "script-src-elem http") || !strings.Contains(all, "img-src http") {
		t.Errorf("%+v", got)
	}
}

// TestOtherPagesCannotUseTheReviewPage has a page of another origin, and one whose name leads here, try what the page
// itself does, in a browser that is logged in.
func TestOtherPagesCannotUseTheReviewPage(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1000, 800, "--host-resolver-rules=MAP evil.example 127.0.0.1")
	s := newFixture(t, greetGo)
	server := reviewOf(s)
	b.enterReview(server, "/")
	in := s.input("Greet people politely", s.replay(map[string]string{"plan-1": plan,
		"execute-1": greeting("put a comma after Hello", `"Hello " + name`, `"Hello, " + name`)}), "true")
	s.begin(in)
	await(t, "the run asks", func() bool { return s.state(in.RunID).Status == run.AwaitingApproval })
	path := review.RunPath(in.RunID)
	b.open(server.URL + path)
	b.awaitText("put a comma")
	form := url.Values{"id": {s.state(in.RunID).PendingApprovalID}, "verb": {"approve"},
		"token": {eval[string](b, `return document.querySelector("[name=token]").value`)}}.Encode()

	const read = `return fetch(arguments[0], {credentials: "include"}).then(r => r.text()).catch(e => "nothing")`
	const post = `return fetch(arguments[0], {method: "POST", credentials: "include", body: arguments[1],
		headers: {"Content-Type": "application/x-www-form-urlencoded"}}).then(r => String(r.status)).catch(e => "nothing")`
	theirs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<iframe src="%s%s"></iframe><form method="post" action="%s%s/decide">`, server.URL, path, server.URL, path)
		for _, pair := range strings.Split(form, "&") {
			name, value, _ := strings.Cut(pair, "=")
			fmt.Fprintf(w, `<input name="%s" value="%s">`, name, value)
		}
		_, _ = io.WriteString(w, `</form>`)
	}))
	defer theirs.Close()
	stillWaits := func(after string) {
		t.Helper()
		if st := s.state(in.RunID); st.Status != run.AwaitingApproval {
			t.Fatalf("after %s the run is %s", after, st.Status)
		}
	}
	b.open(theirs.URL)
	if got := eval[string](b, read, server.URL+path); got != "nothing" {
		t.Errorf("another origin reads %.300s", got)
	}
	if got := eval[string](b, post, server.URL+path+"/decide", form); got != "nothing" && got != "403" {
		t.Errorf("another origin's post: %s", got)
	}
	if eval[bool](b, `try { return document.querySelector("iframe").contentDocument !== null && document.querySelector("iframe").contentDocument.body.innerText.includes("comma") } catch { return false }`) {
		t.Error("the page is shown in a frame")
	}
	eval[any](b, `document.forms[0].submit()`)
	b.awaitText("refuses requests from pages of another origin")
	stillWaits("a form of another origin")

	lured := strings.Replace(server.URL, "127.0.0.1", "evil.example", 1)
	b.open(lured + "/login")
	b.awaitText("does not answer to the name of this request")
	for _, got := range []string{eval[string](b, read, lured+path), eval[string](b, post, lured+path+"/decide", form)} {
		if strings.Contains(got, "comma") || got == "200" || got == "303" {
			t.Errorf("a name that leads here gets %.300s", got)
		}
	}
	stillWaits("a rebinding")

	b.open(server.URL + path)
	b.awaitText("put a comma")
	if got := eval[string](b, post, server.URL+path+"/decide", form); got != "200" { // after the redirect
		t.Errorf("control: the page's own form gets %s", got)
	}
	await(t, "the run completes", func() bool { return s.state(in.RunID).Status == run.Completed })
	if got := eval[string](b, post, server.URL+path+"/decide", form); got != "409" {
		t.Errorf("the same form again gets %s", got)
	}
}
