package webui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// onScreens runs a test in a browser of the size of a phone and of a desk.
func onScreens(t *testing.T, test func(t *testing.T, b *browser)) {
	for _, screen := range []struct {
		name          string
		width, height int
	}{{"phone", 390, 844}, {"desk", 1400, 1000}} {
		t.Run(screen.name, func(t *testing.T) {
			b := openBrowser(t, screen.width, screen.height)
			b.resize(screen.width, screen.height)
			test(t, b)
		})
	}
}

// bothFiles is an answer that changes Greet and adds a file.
func bothFiles(summary, after, bye string) string {
	return strings.Replace(greeting(summary, `"Hello " + name`, after), "[PATCH_END]", `diff --git a/bye.go b/bye.go
new file mode 100644
--- /dev/null
+++ b/bye.go
@@ -0,0 +1,3 @@
+package greet
+
+const Bye = "`+bye+`"
[PATCH_END]`, 1)
}

// reviewed is a run whose page a person has open.
type reviewed struct {
	*browser
	s    *fixture
	in   run.Input
	page string // address
}

func (s *fixture) review(b *browser, server *review.Server, in run.Input) *reviewed {
	s.t.Helper()
	s.begin(in)
	return &reviewed{b, s, in, server.URL + review.RunPath(in.RunID)}
}

// awaits waits until the run waits for a person again, and the page shows the text.
func (r *reviewed) awaits(t *testing.T, status run.Status, text string) {
	t.Helper()
	await(t, "the run is "+string(status), func() bool { return r.s.state(r.in.RunID).Status == status })
	r.awaitText(text)
}

func (r *reviewed) look(t *testing.T, name string) {
	t.Helper()
	r.noSidewaysScroll(t)
	r.checkAccess(t)
	r.keep(name)
}

func (r *reviewed) file(name string) string {
	return r.s.git("-C", r.s.repo, "show", r.in.RunID.Branch()+":"+name)
}

// TestAPersonAcceptsSomeFiles marks a file and comments on the other: the marked one is a patch of its own, and the
// comment reaches the fixer with the rest.
func TestAPersonAcceptsSomeFiles(t *testing.T) {
	t.Parallel()
	onScreens(t, func(t *testing.T, b *browser) {
		s := newFixture(t, greetGo)
		server := reviewOf(s)
		b.enterReview(server, "/")
		request := filepath.Join(t.TempDir(), "request")
		in := s.input("Greet and take leave", s.replay(map[string]string{
			"plan-1": plan, "execute-1": bothFiles("greet and leave", `"Hello, " + name`, "Bye?"),
		}), "true")
		in.Providers.Fixer = s.fixer(request, strings.Replace(bothFiles("say it plainly", `"x"`, "Bye."), greetingPart, "", 1))
		r := s.review(b, server, in)
		b.open(r.page)
		r.awaits(t, run.AwaitingApproval, "greet and leave")
		b.click("//details[@data-file='greet.go']//input[@name='file']")
		b.click("//details[@data-file='bye.go']//button[@data-line='3']")
		b.paste("//textarea[contains(@name,'bye.go')]", "no question mark in bye.go")
		b.click("//details[@id='part']/summary")
		r.look(t, "1-marked")
		b.click("//button[@value='part']")
		b.awaitAddress(r.page + "?said=part")
		b.awaitText("say it plainly")
		told, err := os.ReadFile(request)
		if err != nil || !strings.Contains(string(told), "no question mark in bye.go") {
			t.Errorf("the fixer's request lacks the comment, %v:\n%s", err, told)
		}
		r.look(t, "2-rest")
		b.click("//div[@class='bar']//button[@value='approve']")
		r.awaits(t, run.Completed, "completed")
		r.look(t, "3-completed")
		if r.file("greet.go") == "" || !strings.Contains(r.file("bye.go"), "Bye.") {
			t.Errorf("the branch has %s and %s", r.file("greet.go"), r.file("bye.go"))
		}
	})
}

// greetingPart is the part of bothFiles about greet.go.
var greetingPart = func() string {
	_, patch, _ := strings.Cut(greeting("", `"Hello " + name`, `"x"`), "[PATCH_BEGIN]\n")
	patch, _, _ = strings.Cut(patch, "[PATCH_END]")
	return patch
}()

// TestAPersonChoosesAnAttempt walks over the tabs of two attempts, sends both back from the second, and applies the
// second of the next two.
func TestAPersonChoosesAnAttempt(t *testing.T) {
	t.Parallel()
	onScreens(t, func(t *testing.T, b *browser) {
		s := newFixture(t, greetGo)
		server := reviewOf(s)
		b.enterReview(server, "/")
		in := s.input("Greet people politely", s.replay(map[string]string{
			"plan-1": plan, "execute-1": greeting("short", `"Hello " + name`, `"Hello, " + name`),
			"fix-2": greeting("after the refusal", `"Hello " + name`, `"Hello: " + name`),
		}), "true")
		in.Providers.Rivals = []string{s.replay(map[string]string{"execute-1": bothFiles("long", `"Hello; " + name`, "Bye")})}
		refused := in
		refused.RunID = s.input("", "").RunID
		r := s.review(b, server, in)
		b.open(r.page)
		r.awaits(t, run.AwaitingApproval, "Attempt 2")
		if shown := eval[int](b, `return document.querySelectorAll("nav.tabs a[aria-current]").length`); shown != 1 {
			t.Errorf("%d tabs are shown", shown)
		}
		r.look(t, "1-first")
		b.click("//nav[@class='tabs']/a[not(@aria-current)]")
		b.awaitText("Bye")
		r.look(t, "2-second")
		b.click("//div[@class='bar']//button[@value='approve']")
		r.awaits(t, run.Completed, "completed")
		if got := r.file("greet.go"); !strings.Contains(got, "Hello; ") {
			t.Errorf("the branch has %s", got)
		}

		r = s.review(b, server, refused)
		b.open(r.page)
		r.awaits(t, run.AwaitingApproval, "Attempt 2")
		b.click("//nav[@class='tabs']/a[not(@aria-current)]")
		b.awaitText("Bye")
		b.click("//div[contains(@class,'ins')]//button[@data-line='5']")
		b.paste("//textarea[contains(@name,'remark:new:5:greet.go')]", "a colon instead")
		b.click("//details[@id='back']//button[@value='reject']")
		b.awaitText("after the refusal")
		b.awaitText("a colon instead")
		r.look(t, "3-refused")
	})
}

// TestAPersonAnswersNotesAndCancels settles a question, leaves a note for the next prompt, and ends the run.
func TestAPersonAnswersNotesAndCancels(t *testing.T) {
	t.Parallel()
	onScreens(t, func(t *testing.T, b *browser) {
		s := newFixture(t, greetGo)
		server := reviewOf(s)
		b.enterReview(server, "/")
		request := filepath.Join(t.TempDir(), "request")
		in := s.input("Greet people politely", s.replay(map[string]string{
			"plan-1": plan, "execute-1": question("An exclamation mark, too?", "the goal does not say", "yes or no"),
			"execute-1.2": greeting("a comma", `"Hello " + name`, `"Hello, " + name`),
		}), "true")
		in.Providers.Fixer = s.fixer(request, greeting("as noted", `"Hello " + name`, `"Hello: " + name`))
		r := s.review(b, server, in)
		b.awaitText("An exclamation mark, too?") // the queue shows what is asked
		r.look(t, "1-queue")
		b.open(r.page)
		b.awaitText("the goal does not say")
		r.look(t, "2-question")
		b.click("//button[@value='answer']") // nothing is typed yet
		b.awaitText("Nothing was changed")
		b.paste("//textarea[@id='answer']", "no, none")
		b.click("//button[@value='answer']")
		b.awaitAddress(r.page + "?said=answered")
		r.awaits(t, run.AwaitingApproval, "a comma")
		eval[any](b, `document.getElementById("events").open = true`) // it stays open if it was while the run worked
		b.awaitText("answered by kim: no, none")
		b.paste("//textarea[@id='note']", "prefer a colon")
		b.click("//form[contains(@action,'/note')]//button")
		b.awaitText("Noted for the next prompt.")
		r.look(t, "3-noted")
		b.click("//a[@data-open='back']")
		b.paste("//textarea[@id='reason']", "not so")
		b.click("//details[@id='back']//button[@value='reject']")
		b.awaitText("as noted")
		told, err := os.ReadFile(request)
		if err != nil || !strings.Contains(string(told), "prefer a colon") || !strings.Contains(string(told), "no, none") {
			t.Errorf("the fixer's request lacks note or answer, %v:\n%s", err, told)
		}
		b.click("//details[@id='end']/summary")
		r.look(t, "4-end")
		b.click("//form[contains(@action,'/cancel')]//button")
		r.awaits(t, run.Canceled, "canceled")
		r.look(t, "5-canceled")
	})
}

// TestAPersonLetsAnAgentUseATool has a real agent ask for two commands, of which a person allows one and refuses the
// other with words that the agent is told.
func TestAPersonLetsAnAgentUseATool(t *testing.T) {
	t.Parallel()
	agent := need.Env(t, "CLAUDE_BIN")
	onScreens(t, func(t *testing.T, b *browser) {
		model := fakemodel.Start(t)
		s := newFixture(t, greetGo, "HOME="+t.TempDir(), "CLAUDE_BIN="+agent, "ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY=dummy-key-00000")
		server := reviewOf(s)
		b.enterReview(server, "/")
		in := s.input(`Say who is at home. [[tool:Bash {"command":"id > who.txt","description":"find out who I am"}]]`+
			`[[tool:Bash {"command":"date > when.txt","description":"find out when"}]][[say:Say who is at home]]`,
			s.replay(map[string]string{"plan-1": plan}), "test -s who.txt")
		in.Providers.Developer = "claude"
		r := s.review(b, server, in)
		b.open(r.page)
		r.awaits(t, run.AwaitingApproval, "Allow once")
		r.look(t, "1-asks")
		b.click("//div[@class='bar']//button[@value='approve']")
		await(t, "the second command waits", func() bool {
			return eval[string](b, `return document.querySelector("#decide .input")?.textContent ?? ""`) == "date > when.txt"
		})
		b.click("//a[@data-open='back']")
		b.paste("//textarea[@id='reason']", "the time does not matter")
		r.look(t, "2-refusal")
		b.click("//details[@id='back']//button[@value='reject']")
		b.awaitText("who.txt") // of the patch
		await(t, "the patch waits", func() bool {
			p, err := runs.New(s.client, temporalclient.TaskQueue).Pending(t.Context(), in.RunID)
			return err == nil && p.Approval != nil && p.Approval.Permission == nil
		})
		b.awaitText("not applied yet")
		r.look(t, "3-patch")
		if text := b.text(); !strings.Contains(text, "the time does not matter") {
			t.Errorf("the events do not tell of the refusal:\n%s", text)
		}
		b.click("//div[@class='bar']//button[@value='approve']")
		r.awaits(t, run.Completed, "completed")
	})
}
