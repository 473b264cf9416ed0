package conduct_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/conduct"
	"github.com/ratchet-dev/ratchet/internal/run"
)

var makeCall = agent.Permission{CallID: "c1", Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)}

// permitFor returns a decision on the call.
func permitFor(p agent.Permission, change func(*run.Permit)) run.Permit {
	permit := run.Permit{CallID: p.CallID, Tool: p.Tool, Digest: conduct.DigestOf(p), Allow: true}
	if change != nil {
		change(&permit)
	}
	return permit
}

func TestWhoDecidesAboutACall(t *testing.T) {
	dir := t.TempDir()
	edit := agent.Permission{CallID: "e1", Tool: "Edit", Edit: true, Paths: []string{"a.go"}}
	outside := agent.Permission{CallID: "e2", Tool: "Edit", Edit: true, Paths: []string{"/etc/passwd"}}
	otherCall := makeCall
	otherCall.CallID = "c2"
	otherInput := makeCall
	otherInput.Input = json.RawMessage(`{"command":"make install"}`)
	otherTool := makeCall
	otherTool.Tool = "Shell"
	forSession := func(p *run.Permit) { p.Session = true }
	refused := func(p *run.Permit) { p.Allow, p.Reason = false, "not now" }
	for _, tt := range []struct {
		name   string
		asked  agent.Permission
		tools  run.Tools
		permit []run.Permit
		spent  bool
		want   agent.PermissionVerdict // empty: a person decides
		used   bool
	}{
		{name: "an edit of the checkout", asked: edit, want: agent.Allow},
		{name: "an edit of the checkout where tools are denied", asked: edit, tools: run.DenyTools, want: agent.Allow},
		{name: "an edit elsewhere", asked: outside},
		{name: "an edit elsewhere where tools are denied", asked: outside, tools: run.DenyTools, want: agent.Deny},
		{name: "a command", asked: makeCall},
		{name: "a command where tools are allowed", asked: makeCall, tools: run.AllowTools, want: agent.Allow},
		{name: "a command where tools are denied", asked: makeCall, tools: run.DenyTools, want: agent.Deny},
		{name: "a command that a person allowed", asked: makeCall, permit: []run.Permit{permitFor(makeCall, nil)}, want: agent.Allow, used: true},
		{name: "the same command in another call", asked: otherCall, permit: []run.Permit{permitFor(makeCall, nil)}, want: agent.Allow, used: true},
		{name: "a command whose permit is spent", asked: makeCall, permit: []run.Permit{permitFor(makeCall, nil)}, spent: true},
		{name: "a command that a person allowed for the session", asked: makeCall, permit: []run.Permit{permitFor(makeCall, forSession)}, spent: true, want: agent.AllowSession, used: true},
		{name: "a command that a person refused", asked: makeCall, tools: run.AllowTools, permit: []run.Permit{permitFor(makeCall, refused)}, want: agent.Deny, used: true},
		{name: "another command than the allowed one", asked: otherInput, permit: []run.Permit{permitFor(makeCall, forSession)}},
		{name: "another tool with the input of the allowed one", asked: otherTool, permit: []run.Permit{permitFor(makeCall, forSession)}},
		{name: "the decision on this very call before one on its like", asked: makeCall, permit: []run.Permit{permitFor(otherCall, nil), permitFor(makeCall, refused)}, want: agent.Deny, used: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules := conduct.Rules{Dir: dir, Tools: tt.tools, Permits: tt.permit, Spent: func(run.Permit) bool { return tt.spent }}
			d, used, known := rules.Decide(tt.asked)
			if known != (tt.want != "") || known && d.Verdict != tt.want || (used != nil) != tt.used || d.CallID != tt.asked.CallID {
				t.Errorf("%+v, used %+v, known %t", d, used, known)
			}
			if tt.want == agent.Deny && d.Reason == "" {
				t.Error("the agent is not told why")
			}
		})
	}
}

// TestPathsThatLeadOutOfTheCheckout names files by every detour that an agent may take. A path is what the kernel makes
// of it: behind a link, dot dot is elsewhere than the text of the path says.
func TestPathsThatLeadOutOfTheCheckout(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "in", ".git"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "out"), 0o755))
	in := filepath.Join(dir, "in")
	must(t, os.Symlink(filepath.Join(dir, "out"), filepath.Join(in, "link")))
	must(t, os.Symlink(filepath.Join(dir, "none"), filepath.Join(in, "dangling")))
	must(t, os.Symlink(filepath.Join(in, ".git"), filepath.Join(in, "repo")))
	must(t, os.Symlink(in, filepath.Join(dir, "way")))
	for path, inside := range map[string]bool{
		"a.go": true, "new/deep/a.go": true, filepath.Join(in, "a.go"): true, filepath.Join(dir, "way", "a.go"): true,
		"": false, "../out/a": false, "new/../a.go": false, "link/a": false, "link/../a": false, filepath.Join(in, "link") + "/../a": false, "link": false, "dangling": false, "dangling/a": false,
		"/etc/passwd": false, filepath.Join(dir, "in2", "a"): false,
		"~/.bashrc": false, "~kim/x": false, "@/etc/passwd": false, "@~/x": false, "@" + filepath.Join(in, "a.go"): false, "file:///etc/passwd": false, "FILE:/x": false,
		" ~/x": false, "a\u00a0b": false, "a b~@c": true, "new/@types/~a": true,
		".git/hooks/pre-commit": false, ".GIT/config": false, "sub/.git": false, "repo/config": false,
	} {
		if got := conduct.IsInside(in, []string{path}); got != inside {
			t.Errorf("%q: inside %t", path, got)
		}
		if conduct.IsInside(in, []string{"a.go", path}) && !inside {
			t.Errorf("%q is let through beside another", path)
		}
		if got := conduct.IsInside(filepath.Join(dir, "way"), []string{path}); got != inside {
			t.Errorf("%q, of a checkout behind a link: inside %t", path, got)
		}
	}
	if conduct.IsInside(in, nil) {
		t.Error("an edit that names no file is let through")
	}
	if conduct.IsInside(filepath.Join(dir, "none"), []string{"a.go"}) {
		t.Error("a checkout that is not there holds files")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestACallWithoutInputHasADigest(t *testing.T) {
	none, null := agent.Permission{Tool: "t"}, agent.Permission{Tool: "t", Input: json.RawMessage("null")}
	if conduct.DigestOf(none) != conduct.DigestOf(null) {
		t.Error("no input is another input than null")
	}
	// A tool whose name holds a line is not another tool with another input.
	if conduct.DigestOf(agent.Permission{Tool: "t", Input: json.RawMessage(`1`)}) == conduct.DigestOf(agent.Permission{Tool: "t\n1"}) {
		t.Error("two calls have one digest")
	}
}

func TestTheLastLinesOfStandardErrorAreKept(t *testing.T) {
	var w conduct.Stderr
	fmt.Fprint(&w, "one\ntwo")
	if got := string(w.TakeLines()); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
	if got := w.TakeLines(); len(got) != 0 {
		t.Errorf("taken twice: %q", got)
	}
	for i := range 2000 {
		fmt.Fprintf(&w, "line %d\n", i)
	}
	lines := strings.Split(string(w.TakeLines()), "\n")
	if first := lines[0]; !strings.HasPrefix(first, "line ") || len(lines) > 1000 || lines[len(lines)-1] != "line 1999" {
		t.Errorf("%d lines, from %q to %q", len(lines), first, lines[len(lines)-1])
	}
}

func TestAnAgentThatWasCutOffIsToldTheDecision(t *testing.T) {
	for _, tt := range []struct {
		decided *run.Permit
		has     []string
	}{
		{nil, []string{"Continue where you stopped", "and say it."}},
		{&run.Permit{Tool: "Bash", Allow: true}, []string{"tool Bash", "is allowed"}},
		{&run.Permit{Tool: "Bash", Reason: "not that file"}, []string{"tool Bash", "is refused", "not that file"}},
	} {
		text := conduct.ResumePrompt("say it", tt.decided)
		if slices.ContainsFunc(tt.has, func(part string) bool { return !strings.Contains(text, part) }) || tt.decided == nil && strings.Contains(text, "tool") {
			t.Errorf("%q", text)
		}
	}
}

// A budget must not grow by what an agent says that it used.
func TestUsageIsNeverBelowZero(t *testing.T) {
	if got := conduct.UsageOf(agent.Tokens{Input: -1000, Output: 7}); got != (run.Usage{OutputTokens: 7, TotalTokens: 7}) {
		t.Errorf("%+v", got)
	}
}

func TestHowAProcessEnded(t *testing.T) {
	for want, e := range map[string]agent.Exit{
		"(exit code 3): no key": {Code: 3, Stderr: "no key"},
		"(killed)":              {Code: -1, Signal: "killed"},
	} {
		if got := conduct.HowEnded(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
