package activities_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// maxResult bounds what one result takes in history.
const maxResult = 16 << 10

func TestAPatchIsProposed(t *testing.T) {
	s := newFixture(t)
	raw := patching(appending)
	out := s.propose(raw)
	p := out.Proposal
	if p == nil || out.Refusal != nil || out.Violation != nil || out.Question != nil {
		t.Fatalf("%+v", out)
	}
	if p.Base != s.base || p.Summary != "append a line" || p.Stat != (run.Stat{Files: 1, Added: 1}) || !strings.Contains(p.Excerpt, "+two") {
		t.Errorf("%+v", p)
	}
	if len(p.Files) != 1 || !strings.Contains(p.Files[0], "log.txt +1 -0") || len(p.Risks) != 0 {
		t.Errorf("files %q, risks %q", p.Files, p.Risks)
	}
	if b, err := s.dir().Load(p.Patch); err != nil || !strings.Contains(string(b), "+two\n") {
		t.Errorf("patch %q, %v", b, err)
	}
	if b, err := s.dir().Load(p.Raw); err != nil || string(b) != raw {
		t.Errorf("raw %q, %v", b, err)
	}
	if got := s.git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("proposing made %s", got)
	}
}

// A patch of the server's workflows is refused where the token that pushes may not change them.
func TestWorkflowsThatMayNotBePushed(t *testing.T) {
	for _, refused := range []bool{false, true} {
		s := newFixture(t)
		s.provider.says(patching("--- /dev/null\n+++ b/.github/workflows/ci.yml\n@@ -0,0 +1 @@\n+on: push\n"))
		call := s.call(run.Execute)
		call.Patches.NoWorkflows = refused
		out := must[activities.ProposeResult](s, s.acts.Propose, call)
		if (out.Refusal != nil) != refused || refused && !strings.Contains(out.Refusal.Message, "lacks the scope workflow") {
			t.Errorf("without the scope: %v: got refusal %+v", refused, out.Refusal)
		}
	}
}

// What is recorded is masked. The patch itself never holds a mask, and never adds a secret.
func TestMasksNeverEnterAPatch(t *testing.T) {
	const head = "--- a/log.txt\n+++ b/log.txt\n@@ -1,2 +1,2 @@\n"
	for _, tt := range []struct{ name, hunk, want, refusal string }{
		{name: "words", hunk: "-user postgres\n+<input type=\"password\">\n key " + secret + "\n", want: "+<input type=\"password\">\n"},
		{name: "a secret that stays", hunk: " user postgres\n-key " + secret + "\n+key: " + secret + "\n", want: "+key: " + secret + "\n"},
		{name: "the mask of a secret that stays", hunk: "-user postgres\n+user kim\n key [redacted:MODEL_KEY]\n", want: " key " + secret + "\n"},
		{name: "a secret that is added", hunk: " user postgres\n-key " + secret + "\n+no key\n@@ -9,1 +9,2 @@\n+key " + secret + "\n", refusal: "[redacted:MODEL_KEY]"},
		{name: "a secret in the text behind a hunk", hunk: " user postgres\n+key [redacted:MODEL_KEY]\n key [redacted:MODEL_KEY]\n\n- [redacted:MODEL_KEY]\n", refusal: "[redacted:MODEL_KEY]"},
		{name: "a secret that is asked for", hunk: "-user [redacted:MODEL_KEY]\n+user kim\n key [redacted:MODEL_KEY]\n", refusal: "in the file"},
		{name: "a mask that is added", hunk: "-user postgres\n+[redacted:MODEL_KEY]\n key [redacted:MODEL_KEY]\n", refusal: "[redacted:MODEL_KEY]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newFixtureWith(t, "runs", func(c *activities.Config) {
				c.Redact = redact.New([]string{"MODEL_KEY=" + secret, "DB_PASSWORD=password", "POSTGRES_PASSWORD=postgres"})
			})
			s.write("log.txt", "user postgres\nkey "+secret+"\n")
			s.git("commit", "-q", "-a", "-m", "second")
			s.base = run.Commit(s.git("rev-parse", "HEAD"))
			out := s.propose(patching(head + tt.hunk))
			raw, err := s.dir().Load(out.Raw)
			if err != nil || strings.Contains(string(raw), secret) {
				t.Errorf("the record of the answer is %q, %v; want no secret in it", raw, err)
			}
			if tt.refusal != "" {
				if out.Refusal == nil || !strings.Contains(out.Refusal.Message, tt.refusal) {
					t.Errorf("got %+v, want a refusal that names %s", out, tt.refusal)
				} else if strings.Contains(out.Refusal.Message, secret) {
					t.Errorf("the refusal tells a secret: %s", out.Refusal.Message)
				}
				return
			}
			if out.Refusal != nil || out.Proposal == nil {
				t.Fatalf("got %+v, want a proposal", out)
			}
			if got, err := s.dir().Load(out.Proposal.Patch); err != nil || !strings.Contains(string(got), tt.want) || strings.Contains(string(got), "[redacted") {
				t.Errorf("the patch is %q, %v; want the line %q and no mask", got, err, tt.want)
			}
		})
	}
}

func TestRisksAreTheGatekeepers(t *testing.T) {
	s := newFixture(t)
	out := s.propose(patching("--- a/log.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"))
	if out.Proposal == nil || len(out.Proposal.Risks) == 0 {
		t.Errorf("deleting a file is no risk: %+v", out)
	}
}

// Many harmless reasons hide no other one: reasons in contents come first, and the number of those left out is told.
func TestManyRisksHideNone(t *testing.T) {
	s := newFixture(t)
	var diff strings.Builder
	for i := range 30 {
		fmt.Fprintf(&diff, "--- /dev/null\n+++ b/p%02d/package.json\n@@ -0,0 +1 @@\n+{}\n", i)
	}
	diff.WriteString("--- /dev/null\n+++ b/zz.go\n@@ -0,0 +1 @@\n+if a {\u2066// }\n")
	risks := strings.Join(s.propose(patching(diff.String())).Proposal.Risks, "\n")
	for _, want := range []string{"direction of text", "p18/package.json", "and 11 more reasons"} {
		if !strings.Contains(risks, want) {
			t.Errorf("the risks lack %q:\n%s", want, risks)
		}
	}
}

func TestAnswersThatAreNoPatch(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		holds        func(activities.ProposeResult) bool
	}{
		{"a question", result("type: ASK\nquestion: blue or red?\nreason: both fit\nneeded_input:\n- a colour"), func(r activities.ProposeResult) bool {
			return r.Question != nil && r.Question.Question == "blue or red?" && r.Question.Reason == "both fit" &&
				len(r.Question.NeededInput) == 1 && r.Proposal == nil && r.Violation == nil
		}},
		{"nothing to do", result("type: NOOP\nreason: it is there"), func(r activities.ProposeResult) bool {
			return r.Summary == "it is there" && r.Proposal == nil && r.Question == nil && r.Violation == nil
		}},
		{"garbage", "I would rather not.", func(r activities.ProposeResult) bool {
			return r.Violation != nil && r.Violation.Code == "no_type" && r.Violation.Message != "" && r.Proposal == nil
		}},
		{"silence", "", func(r activities.ProposeResult) bool { return r.Violation != nil && r.Violation.Code == "empty" }},
		{"a patch that fits nowhere", patching("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n eleven\n+two\n"), func(r activities.ProposeResult) bool {
			return r.Proposal != nil && r.Refusal != nil && r.Refusal.Code == "context_not_found" && strings.Contains(r.Refusal.Message, "log.txt")
		}},
		{"a patch of a file that is not there", patching("--- a/none.txt\n+++ b/none.txt\n@@ -1 +1 @@\n-a\n+b\n"), func(r activities.ProposeResult) bool {
			return r.Refusal != nil && strings.Contains(r.Refusal.Message, "none.txt")
		}},
		{"a patch that leads outside", patching("--- /dev/null\n+++ b/../outside.txt\n@@ -0,0 +1 @@\n+x\n"), func(r activities.ProposeResult) bool {
			return r.Refusal != nil && r.Proposal != nil
		}},
		{"a patch that changes nothing", patching("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1 @@\n one\n"), isNoDiff},
		// Findings, section 2: base64 text in a PATCH block.
		{"a patch in base64", patching(base64.StdEncoding.EncodeToString([]byte(appending)) + "\n"), isNoDiff},
		{"prose for a patch", patching("Append a line to log.txt.\n"), isNoDiff},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFixture(t)
			out := s.propose(tc.answer)
			if !tc.holds(out) {
				t.Errorf("%+v, refusal %+v", out, out.Refusal)
			}
			if b, err := s.dir().Load(out.Raw); err != nil || string(b) != tc.answer {
				t.Errorf("the raw answer is %q, %v", b, err)
			}
		})
	}
}

func isNoDiff(r activities.ProposeResult) bool {
	return r.Violation != nil && r.Violation.Code == "not_a_diff" && r.Violation.Message != "" && r.Proposal == nil && r.Refusal == nil
}

func TestAnAnswerThatWasCutIsAViolation(t *testing.T) {
	s := newFixture(t)
	s.provider.responds(provider.Response{RawText: patching(appending), FinishReason: provider.Length}, nil)
	c := s.call(run.Execute)
	for range 2 { // the second finds the answer on disk, and why it ended
		out := must[activities.ProposeResult](s, s.acts.Propose, c)
		if out.Violation == nil || out.Violation.Code != "truncated" || out.Proposal != nil {
			t.Errorf("%+v", out)
		}
	}
}

func TestWhatIsShownHidesNothing(t *testing.T) {
	hostile := "\x1b[31mred\x1b[0m \u202egnp.exe\u2066 \x07\x9b"
	for name, answer := range map[string]string{
		"in a patch":                 strings.ReplaceAll(patching("--- /dev/null\n+++ b/x\u202ey.txt\n@@ -0,0 +1 @@\n+"+hostile+"\n"), "append a line", hostile),
		"in a patch that is refused": strings.ReplaceAll(patching("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1 @@\n-"+hostile+"\n+x\n"), "append a line", hostile),
	} {
		t.Run(name, func(t *testing.T) {
			out := newFixture(t).propose(answer)
			if out.Proposal == nil {
				t.Fatalf("%+v", out)
			}
			shown := []string{out.Summary, out.Proposal.Summary, out.Proposal.Excerpt}
			shown = append(append(append(shown, out.Proposal.Files...), out.Proposal.Risks...), out.Proposal.Repairs...)
			for _, text := range shown {
				for _, r := range text {
					if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
						t.Errorf("%U in %q", r, text)
					}
				}
			}
		})
	}
}

func TestResultsStaySmall(t *testing.T) {
	var many, one strings.Builder
	for i := range 400 {
		fmt.Fprintf(&many, "--- /dev/null\n+++ b/dir/%s-%d.txt\n@@ -0,0 +1 @@\n+x\n", strings.Repeat("long", 20), i)
	}
	fmt.Fprintf(&one, "--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1,%d @@\n%s", 20000, strings.Repeat("+"+strings.Repeat("<&>", 10)+"\n", 20000))
	for name, answer := range map[string]string{
		"many files":        patching(many.String()),
		"one large file":    patching(one.String()),
		"a long question":   result("type: ASK\nquestion: " + strings.Repeat("why? ", 20000) + "\nreason: " + strings.Repeat("so ", 20000) + "\nneeded_input:\n" + strings.Repeat("- "+strings.Repeat("a value ", 100)+"\n", 200)),
		"a long reason":     result("type: NOOP\nreason: " + strings.Repeat("done ", 20000)),
		"a long summary":    strings.ReplaceAll(patching(appending), "append a line", strings.Repeat("append ", 20000)),
		"megabytes of text": strings.Repeat("no answer in it ", 200000),
	} {
		t.Run(name, func(t *testing.T) {
			out := newFixture(t).propose(answer)
			limit := maxResult
			if name == "one large file" {
				limit = 2 * maxResult // JSON writes six bytes for one of <, > and &
			}
			if n := size(t, out); n > limit {
				t.Errorf("%d bytes, at most %d", n, limit)
			}
		})
	}
}

// Finding D8. What docs/providers.md says of members that an answer leaves out.
func TestWhatAnAnswerMayLeaveOut(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	bare := strings.Replace(patching(appending), "summary: append a line\n", "", 1)
	out := s.propose(bare)
	if out.Proposal == nil || out.Proposal.Summary != "" {
		t.Fatalf("a patch without a summary: %+v", out)
	}
	call := s.call(run.Execute)
	for number, answer := range map[int]string{2: "type: ASK\nquestion: Which one?", 3: "type: NOOP"} {
		call.Number = number
		s.provider.says(result(answer))
		out := must[activities.ProposeResult](s, s.acts.Propose, call)
		if out.Violation != nil || out.Proposal != nil || (out.Question != nil) != (number == 2) || out.Summary != "" {
			t.Errorf("%q is read as %+v", answer, out)
		}
	}
}

// The plan's thoughts are no part of it, and its summary is what it is about.
func TestAPlanWithoutItsThoughts(t *testing.T) {
	for answer, want := range map[string]string{
		"<think>\nMaybe config.\n</think>\n# Plan\n\n## Goal\n\nGreet politely.\n": "Greet politely.",
		"# Give the cents away\n\nSplit drops them.\n":                             "Give the cents away",
		"**Summary:**\n- [ ] greet\n":                                              "greet",
	} {
		s := newFixture(t)
		s.provider.says(answer)
		out := must[activities.PlanResult](s, s.acts.Plan, s.call(run.Plan))
		plan, err := s.dir().Load(out.Plan)
		if err != nil || out.Summary != want || strings.Contains(string(plan), "Maybe") {
			t.Errorf("got %q of %q, %v; want %q and no thoughts", out.Summary, plan, err, want)
		}
	}
}
