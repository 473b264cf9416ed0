package webui_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestAPersonWorksARunFromTheWebUI does what one would: opens the page of a run that asks, answers by the signal form
// with the data that the page says, reads the diff, approves it the same way, and sees the run completed.
func TestAPersonWorksARunFromTheWebUI(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1440, 1700)
	s := newFixture(t, greetGo)
	b.enter(s)
	in := s.input("Greet people politely: a comma after Hello.\nLeave the comment as it is.", s.replay(map[string]string{
		"plan-1":      plan,
		"execute-1":   question("Shall the greeting end with an exclamation mark too?", "the goal does not say", "yes or no"),
		"execute-1.2": greeting("put a comma after Hello", `"Hello " + name`, `"Hello, " + name`),
	}), "grep -q 'Hello, ' greet.go", "true")
	id, page := in.RunID, s.begin(in)

	b.openDetails(page, "Waits for your answer")
	b.awaitText("Shall the greeting end with an exclamation mark too?")
	b.keep("1-question")
	reply := b.lineToPaste(`"qst-`)
	b.sendSignal("answer", strings.Replace(reply, "your answer", "no", 1))

	await(t, "the run asks for an approval", func() bool { return s.state(id).Status == run.AwaitingApproval })
	b.openDetails(page, "Waits for your approval")
	approval := s.state(id).PendingApprovalID
	for _, want := range []string{
		"put a comma after Hello", "1 file, +1 -1", approval, `-	return "Hello " + name`, `+	return "Hello, " + name`,
		"Greet people politely", "More Actions → Send a Signal",
	} {
		b.awaitText(want)
	}
	b.keep("2-approval")
	b.sendSignal("approval", b.lineToPaste(`"approve apr-`))

	await(t, "the run completes", func() bool { return s.state(id).Status == run.Completed })
	b.openDetails(page, "Completed")
	b.awaitText("git merge " + s.git("-C", s.repo, "rev-parse", id.Branch()))
	b.keep("3-completed")
	b.open(s.ui + "/namespaces/default/workflows")
	for _, want := range []string{"RatchetTitle", "Greet people politely: a comma after Hello.", "RatchetStatus", s.repo} {
		b.awaitText(want)
	}
	b.keep("4-list")
	if got := s.git("-C", s.repo, "show", id.Branch()+":greet.go"); !strings.Contains(got, `"Hello, " + name`) {
		t.Errorf("the branch has %s", got)
	}
}

// TestAPersonLetsAnAgentUseAToolFromTheWebUI has a real agent ask for a command and a person allow it by the signal form.
func TestAPersonLetsAnAgentUseAToolFromTheWebUI(t *testing.T) {
	t.Parallel()
	agent := need.Env(t, "CLAUDE_BIN")
	b := openBrowser(t, 1440, 1700)
	model := fakemodel.Start(t)
	s := newFixture(t, greetGo, "HOME="+t.TempDir(), "CLAUDE_BIN="+agent, "ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY=dummy-key-00000")
	b.enter(s)
	in := s.input(`Say who is at home. [[tool:Bash {"command":"id > who.txt","description":"find out who I am"}]][[say:Say who is at home]]`,
		s.replay(map[string]string{"plan-1": plan}), "test -s who.txt")
	in.Providers.Developer = "claude"
	id, page := in.RunID, s.begin(in)

	await(t, "the agent asks", func() bool { return s.state(id).Status == run.AwaitingApproval })
	b.openDetails(page, "Waits for your approval")
	for _, want := range []string{"wants to use the tool Bash", "id > who.txt", "find out who I am", `"session apr-`, "--session"} {
		b.awaitText(want)
	}
	b.keep("1-permission")
	asked := s.state(id).PendingApprovalID
	b.sendSignal("approval", b.lineToPaste(`"approve apr-`))
	await(t, "the patch waits", func() bool {
		st := s.state(id)
		return st.Status == run.AwaitingApproval && st.PendingApprovalID != asked
	})
	b.openDetails(page, "Waits for your approval")
	b.awaitText("+uid=")
	b.keep("2-approval")
	b.sendSignal("approval", b.lineToPaste(`"approve apr-`))
	await(t, "the run completes", func() bool { return s.state(id).Status == run.Completed })
}

// hostile is a text that would be something else if the page took it for markup, or the UI for a placeholder.
const hostile = "# own <script>parent.pwned=1</script> <img src=x onerror=parent.pwned=1> ![x](http://127.0.0.1:9/x.png) " +
	"[approve](javascript:parent.pwned=1) **bold** | a | {workflowId} \x1b[31mred \u202egnp.exe\u202c pаypal `tick` ``` ~~~ &lt;b&gt; www.example.com a@example.com ~~old~~ [^1] https://example.com/x"

// TestHostileTextIsShownAsText puts it wherever a model or a person may write, and reads it back from the page.
func TestHostileTextIsShownAsText(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1440, 1700)
	s := newFixture(t, greetGo)
	b.enter(s)
	in := s.input(hostile+"\n===\n```\n# out of the fence\n- item\n1. one", s.replay(map[string]string{
		"plan-1":      plan,
		"execute-1":   question(hostile, hostile, hostile),
		"execute-1.2": greeting(hostile, `"Hello " + name`, "\"{runId}\" + \"```\x1b[2J\" + name"),
	}), "echo '"+hostile+"'")
	id, page := in.RunID, s.begin(in)

	b.openDetails(page, "Waits for your answer")
	b.keep("1-question")
	b.showsAsText(t, 4) // question, reason, needed input, goal
	b.sendSignal("answer", b.lineToPaste(`"qst-`))
	await(t, "the run asks for an approval", func() bool { return s.state(id).Status == run.AwaitingApproval })
	b.openDetails(page, "Waits for your approval")
	b.keep("2-approval")
	b.showsAsText(t, 2)
	if text := b.text(); !strings.Contains(text, `"<U+007B>runId}" + "`+"```<U+001B>[2J") {
		t.Errorf("the diff is not what it says: %s", text)
	}
}

// showsAsText checks that the page has the hostile text in it often enough, as it is, and nothing that it would be.
func (b *browser) showsAsText(t *testing.T, times int) {
	t.Helper()
	text := b.text()
	for _, want := range []string{"<script>parent.pwned=1</script>", "<U+202E>gnp.exe<U+202C>", "<U+001B>[31mred", "&lt;b&gt;", "p<U+0430>ypal", "**bold**", "a | {workflowId}"} {
		if n := strings.Count(text, want); n < times {
			t.Errorf("%q is shown %d times, want %d:\n%s", want, n, times, text)
		}
	}
	if strings.ContainsAny(text, "\x1b\u202e\u202c") {
		t.Error("a control character is on the page")
	}
	if eval[bool](b, "return window.pwned === 1") {
		t.Error("a script ran")
	}
	built := eval[[]string](b, `return Array.from(document.querySelectorAll("iframe"))
		.flatMap(f => Array.from(f.contentDocument.querySelectorAll("a, img, h1, hr, del, ol, table, script[src*=pwned], em"), e => e.outerHTML))`)
	if len(built) > 0 {
		t.Errorf("markup was built from text: %q", built)
	}
}

// openDetails shows a run's page and goes to its details, on foot.
func (b *browser) openDetails(page, headline string) {
	b.t.Helper()
	b.open(page)
	b.click("//a[contains(., 'User Metadata')]")
	b.awaitText(headline)
}

// lineToPaste is the first line of a block of the details that begins so.
func (b *browser) lineToPaste(prefix string) string {
	b.t.Helper()
	blocks := eval[[]string](b, `return Array.from(document.querySelectorAll("iframe"))
		.flatMap(f => Array.from(f.contentDocument.querySelectorAll("pre"), e => e.textContent))`)
	for _, text := range blocks {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, prefix) {
				return strings.TrimSpace(line)
			}
		}
	}
	b.t.Fatalf("no line %s… to paste in %q", prefix, blocks)
	return ""
}

// sendSignal fills in the form of the UI and submits it. It does not wait for the server: the page says for three seconds
// alone that it has taken the signal.
func (b *browser) sendSignal(name, data string) {
	b.t.Helper()
	const form = "//*[@data-testid='signal-confirmation-modal']"
	b.click("//button[contains(., 'More Actions')]")
	b.click("//*[@role='menuitem'][contains(., 'Send a Signal')]")
	b.click(form + "//*[@data-testid='signal-select-button']")
	b.click(form + "//*[@role='option'][.//span[text()='" + name + "']]")
	b.paste(form+"//*[@role='textbox']", data)
	b.keep("form-" + name)
	b.click(form + "//*[@data-testid='confirm-modal-button']")
}
