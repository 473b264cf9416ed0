package answer_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

const (
	result   = "<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: swap\n<<<AIO_RESULT_END>>>\n\n"
	diff     = "diff --git a/x.txt b/x.txt\n--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"
	other    = "diff --git a/y.txt b/y.txt\n--- a/y.txt\n+++ b/y.txt\n@@ -1 +1 @@\n-b\n+B\n"
	bare     = "--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"
	ask      = "<<<AIO_RESULT_START>>>\ntype: ASK\nquestion: Which one?\nreason: two fit\nneeded_input:\n- name\n- port\n<<<AIO_RESULT_END>>>\n"
	noop     = "<<<AIO_RESULT_START>>>\ntype: NOOP\nreason: done already\n<<<AIO_RESULT_END>>>\n"
	checks   = "<<<AIO_CHECKS_START>>>\n- command: go test ./...\n  status: pass\n  exitCode: 0\n- command: lint\n  status: not_run\n<<<AIO_CHECKS_END>>>\n"
	markdown = "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,6 @@\n # demo\n+```sh\n+make\n+```\n \n ```\n"
	contract = "diff --git a/c.md b/c.md\n--- a/c.md\n+++ b/c.md\n@@ -1,3 +1,5 @@\n [PATCH_END]\n+[PATCH_BEGIN]\n+<<<AIO_RESULT_START>>>\n x\n [PATCH_END]\n"
)

type row struct {
	name, raw, finish string
	want              answer.Answer
	code              answer.Code
}

// answers are the answers that models give, and how they are read.
func answers() []row {
	patch := func(summary, diff string) answer.Answer {
		return answer.Answer{Kind: answer.Patch, Summary: summary, Diff: []byte(diff)}
	}
	return []row{
		{name: "canonical patch", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "canonical patch, finish reason unknown", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", want: patch("swap", diff)},
		// Finding D11.
		{name: "checks that the model reports are passed over", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n\n" + checks, finish: "stop", want: answer.Answer{Kind: answer.Patch, Summary: "swap", Diff: []byte(diff)}},
		{name: "carriage returns in the markers", raw: strings.ReplaceAll(result+"[PATCH_BEGIN]\n"+diff+"[PATCH_END]\n", "\n", "\r\n"), finish: "stop", want: patch("swap", strings.ReplaceAll(diff, "\n", "\r\n"))},
		{name: "everything inside one fence", raw: "```text\n" + result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n```\n", finish: "stop", want: patch("swap", diff)},
		{name: "everything inside one fence, no summary", raw: "```text\n" + strings.Replace(result, "summary: swap\n", "", 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n```\n", finish: "stop", want: patch("", diff)},
		{name: "fence inside the markers", raw: result + "[PATCH_BEGIN]\n```diff\n" + diff + "```\n[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "no summary but prose", raw: "I swapped\nthe two.\n" + strings.Replace(result, "summary: swap\n", "", 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\nDone.\n", finish: "stop", want: patch("I swapped the two. Done.", diff)},
		{name: "lower-case type", raw: strings.Replace(result, "PATCH", "patch", 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "declared patch in a fence", raw: result + "```diff\n" + diff + "```\n", finish: "stop", want: patch("swap", diff)},
		{name: "patch that edits the contract", raw: result + "[PATCH_BEGIN]\n" + contract + "[PATCH_END]\n", finish: "stop", want: patch("swap", contract)},
		{name: "patch that edits the contract and lost its leading spaces", raw: result + "[PATCH_BEGIN]\n" + strings.ReplaceAll(contract, "\n ", "\n") + "[PATCH_END]\n", finish: "stop", want: patch("swap", strings.ReplaceAll(contract, "\n ", "\n"))},
		{name: "blank context lines at the end of a hunk", raw: result + "[PATCH_BEGIN]\n" + diff + " \n[PATCH_END]\n", finish: "stop", want: patch("swap", diff+" \n")},

		{name: "type in a list", raw: strings.Replace(result, "type: PATCH", "- type: PATCH", 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "type as in JSON", raw: strings.Replace(result, "type: PATCH", `"type": "PATCH",`, 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "type in brackets", raw: strings.Replace(result, "type: PATCH", "type: [PATCH]", 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "type in curly quotes", raw: strings.Replace(result, "type: PATCH", "type: “PATCH”", 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "type behind an invisible character", raw: strings.Replace(result, "type: PATCH", "type: \u200bPATCH", 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "type with a comment of C", raw: strings.Replace(result, "type: PATCH", "type: PATCH // a diff", 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "type with a remark", raw: strings.Replace(result, "type: PATCH", "type: PATCH (unified diff)", 1) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "needed input that begins like a field", raw: strings.Replace(ask, "- name", "- type: which", 1), finish: "stop", want: answer.Answer{Kind: answer.Ask, Question: "Which one?", Reason: "two fit", NeededInput: []string{"type: which", "port"}}},
		{name: "a draft before the markers", raw: "First idea:\n```diff\n" + other + "```\n" + result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "the same diff behind the markers", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\nSo:\n```diff\n" + diff + "```\n", finish: "stop", want: patch("swap", diff)},
		{name: "an illustration behind the markers", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\nThat is:\n```diff\n-b\n+B\n```\n", finish: "stop", want: patch("swap", diff)},
		{name: "bold markers", raw: strings.NewReplacer("<<<", "**<<<", ">>>", ">>>**", "[PATCH", "**[PATCH", "]\n", "]**\n").Replace(result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n"), finish: "stop", want: patch("swap", diff)},
		{name: "markers in back-ticks", raw: strings.NewReplacer("<<<", "`<<<", ">>>", ">>>`").Replace(result) + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("swap", diff)},
		{name: "a token of the template behind the last marker", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]<|im_end|>", finish: "stop", want: patch("swap", diff)},
		{name: "a draft in a fence of thoughts", raw: "```thinking\n" + other + "```\n```diff\n" + diff + "```\n", finish: "stop", want: patch("", diff)},

		{name: "fenced diff", raw: "Here:\n\n```diff\n" + diff + "```\n\nBye.\n", finish: "stop", want: patch("Here: Bye.", diff)},
		{name: "fence of four back-ticks with a title", raw: "````DIFF title=x\n" + diff + "````\n", finish: "stop", want: patch("", diff)},
		{name: "fence of tildes", raw: "~~~diff\n" + diff + "~~~\n", finish: "stop", want: patch("", diff)},
		{name: "fence called patch", raw: "```patch\n" + diff + "```\n", finish: "stop", want: patch("", diff)},
		{name: "fence without a name that holds a diff", raw: "```\n" + diff + "```\n", finish: "stop", want: patch("", diff)},
		{name: "fence of another language first", raw: "```go\nx := 1\n```\n```diff\n" + diff + "```\n", finish: "stop", want: patch("", diff)},
		{name: "fenced patch of Markdown with fences", raw: "```diff\n" + markdown + "```\nBye.\n", finish: "stop", want: patch("Bye.", markdown)},
		{name: "fenced patch of Markdown that lost its leading spaces", raw: "```diff\n" + strings.ReplaceAll(markdown, "\n ", "\n") + "```\n", finish: "stop", want: patch("", strings.ReplaceAll(markdown, "\n ", "\n"))},
		{name: "one fence a file", raw: "```diff\n" + diff + "```\nand\n```diff\n" + other + "```\n", finish: "stop", want: patch("and", diff+other)},
		{name: "many fences whose hunks owe lines", raw: strings.Repeat("```diff\n"+strings.ReplaceAll(diff, ",2 @@", ",3 @@")+"```\n", 40), finish: "stop", want: patch("", strings.ReplaceAll(diff, ",2 @@", ",3 @@"))},
		{name: "the same fence twice", raw: "```diff\n" + diff + "```\nagain\n```diff\n" + diff + "```\n", finish: "stop", want: patch("again", diff)},
		{name: "open fence around a whole diff", raw: "```diff\n" + diff, finish: "stop", want: patch("", diff)},
		{name: "bare git diff", raw: "Here:\n" + diff, finish: "stop", want: patch("Here:", diff)},
		{name: "bare diff without git header", raw: bare, want: patch("", bare)},

		{name: "bare diff that only renames, finish reason unknown", raw: "diff --git a/x b/y\nrename from x\nrename to y\n", want: patch("", "diff --git a/x b/y\nrename from x\nrename to y\n")},

		{name: "ask", raw: ask, finish: "stop", want: answer.Answer{Kind: answer.Ask, Question: "Which one?", Reason: "two fit", NeededInput: []string{"name", "port"}}},
		{name: "noop", raw: noop, finish: "stop", want: answer.Answer{Kind: answer.Noop, Reason: "done already"}},
		{name: "question over two lines", raw: strings.Replace(ask, "Which one?", "Which one?\n  This or that?", 1), finish: "stop", want: answer.Answer{Kind: answer.Ask, Question: "Which one? This or that?", Reason: "two fit", NeededInput: []string{"name", "port"}}},

		{name: "cut at the output limit", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "length", code: answer.Truncated},
		{name: "cut by a timeout", raw: ask, finish: "timeout", code: answer.Truncated},
		{name: "cut by an error", raw: noop, finish: "error", code: answer.Truncated},
		{name: "a finish reason that nobody knows", raw: noop, finish: "tool_use", code: answer.UnknownFinish},
		{name: "nothing", raw: " \n\n", finish: "stop", code: answer.Empty},
		{name: "prose alone", raw: "I cannot proceed.\n", finish: "stop", code: answer.NoType},
		{name: "patch without end", raw: result + "[PATCH_BEGIN]\n" + diff, finish: "stop", code: answer.Truncated},
		{name: "patch without end before checks", raw: result + "[PATCH_BEGIN]\n" + diff + checks, finish: "stop", code: answer.Truncated},
		{name: "result without end", raw: "<<<AIO_RESULT_START>>>\ntype: NOOP\n", finish: "stop", code: answer.Truncated},
		{name: "checks without end", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n<<<AIO_CHECKS_START>>>\n- command: x\n", finish: "stop", code: answer.Truncated},
		{name: "end without begin", raw: result + diff + "[PATCH_END]\n", finish: "stop", code: answer.Contradiction},
		{name: "begin twice", raw: result + "[PATCH_BEGIN]\n\n[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", code: answer.Truncated},
		{name: "two results", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n" + ask, finish: "stop", code: answer.ManyResults},
		{name: "two patches", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n[PATCH_BEGIN]\n" + other + "[PATCH_END]\n", finish: "stop", code: answer.ManyPatches},
		{name: "another diff behind the markers", raw: result + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\nAlso apply:\n```diff\n" + other + "```\n", finish: "stop", code: answer.ManyPatches},
		{name: "patch without result", raw: "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", code: answer.NoType},
		{name: "result without type", raw: "<<<AIO_RESULT_START>>>\nsummary: x\n<<<AIO_RESULT_END>>>\n", finish: "stop", code: answer.NoType},
		{name: "unknown type", raw: "<<<AIO_RESULT_START>>>\ntype: MERGE\n<<<AIO_RESULT_END>>>\n", finish: "stop", code: answer.UnknownType},
		{name: "the prompt's own placeholder", raw: "<<<AIO_RESULT_START>>>\ntype: PATCH | ASK | NOOP\n<<<AIO_RESULT_END>>>\n", finish: "stop", code: answer.UnknownType},
		{name: "type twice", raw: "<<<AIO_RESULT_START>>>\ntype: NOOP\ntype: ASK\n<<<AIO_RESULT_END>>>\n", finish: "stop", code: answer.BadResult},
		// Finding D8.
		{name: "ask with a question alone", raw: "<<<AIO_RESULT_START>>>\ntype: ASK\nquestion: Which one?\n<<<AIO_RESULT_END>>>\n", finish: "stop",
			want: answer.Answer{Kind: answer.Ask, Question: "Which one?"}},
		{name: "noop without a reason", raw: "<<<AIO_RESULT_START>>>\ntype: NOOP\n<<<AIO_RESULT_END>>>\n", finish: "stop", want: answer.Answer{Kind: answer.Noop}},
		{name: "patch without a summary", raw: "<<<AIO_RESULT_START>>>\ntype: PATCH\n<<<AIO_RESULT_END>>>\n[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", want: patch("", diff)},
		{name: "ask without question", raw: "<<<AIO_RESULT_START>>>\ntype: ASK\nreason: cannot proceed\n<<<AIO_RESULT_END>>>\n", finish: "stop", code: answer.NoQuestion},
		{name: "ask with a patch", raw: ask + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n", finish: "stop", code: answer.Contradiction},
		{name: "noop with a fenced diff", raw: noop + "```diff\n" + diff + "```\n", finish: "stop", code: answer.Contradiction},
		{name: "noop with a bare diff", raw: noop + diff, finish: "stop", code: answer.Contradiction},
		{name: "declared patch without patch", raw: result + "See above.\n", finish: "stop", code: answer.NoPatch},
		{name: "empty patch block", raw: result + "[PATCH_BEGIN]\n\n[PATCH_END]\n", finish: "stop", code: answer.NoPatch},
		{name: "two diffs of one file", raw: "A:\n```diff\n" + diff + "```\nB:\n```diff\n" + strings.Replace(diff, "+B", "+C", 1) + "```\n", finish: "stop", code: answer.ManyPatches},
		{name: "a diff that the prose takes back", raw: "```diff\n" + other + "```\nWait, that is the wrong file:\n```diff\n" + diff + "```\n", finish: "stop", code: answer.ManyPatches},
		{name: "a corrected diff", raw: "```diff\n" + other + "```\nHere is the corrected patch:\n```diff\n" + diff + "```\n", finish: "stop", code: answer.ManyPatches},
		{name: "open fence around a short hunk", raw: "```diff\n" + strings.TrimSuffix(diff, "+B\n"), finish: "stop", code: answer.Truncated},
		{name: "open fence, finish reason unknown", raw: "```diff\n" + diff, code: answer.Truncated},
		{name: "short bare diff, finish reason unknown", raw: strings.TrimSuffix(diff, "+B\n"), code: answer.Truncated},
		{name: "bare diff cut inside a header, finish reason unknown", raw: diff + "diff --git a/x b/y\nrename from x\n", code: answer.Truncated},
		{name: "too long", raw: strings.Repeat("x", answer.MaxBytes+1), finish: "stop", code: answer.TooLarge},
	}
}

func TestParse(t *testing.T) {
	for _, tt := range answers() {
		t.Run(tt.name, func(t *testing.T) {
			got, err := answer.Parse([]byte(tt.raw), tt.finish)
			if tt.code != "" {
				e, ok := errors.AsType[*answer.Error](err)
				if !ok || e.Code != tt.code || e.Message == "" {
					t.Errorf("got %+v, %v; want %s", got, err, tt.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got.Prose = "" // see TestProse
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v %q\nwant %+v %q", got, got.Diff, tt.want, tt.want.Diff)
			}
		})
	}
}

func TestKindRefusesUnknownWords(t *testing.T) {
	var k answer.Kind
	for _, word := range []string{"", "patch", "MERGE"} {
		if err := k.UnmarshalText([]byte(word)); err == nil {
			t.Errorf("%q was taken", word)
		}
	}
}

func TestParseIsLinear(t *testing.T) {
	need.Suite(t, need.CI)
	var shorter, diffs strings.Builder
	for i := range 3000 {
		shorter.WriteString(strings.Repeat("`", 3003-i) + "go\n")
	}
	for i := range 350_000 {
		fmt.Fprintf(&diffs, "```diff\n%d\n```\n", 100_000+i)
	}
	for name, raw := range map[string]string{
		"shorter fences":  shorter.String() + strings.Repeat("x\n", 1_500_000),
		"owed hunks":      strings.Repeat("```diff\n@@ -1,9 +1 @@\n```\n", 100_000),
		"many diffs":      diffs.String(),
		"a long field":    strings.Replace(ask, "Which one?", strings.Repeat("a\n", 1_500_000), 1),
		"fences":          strings.Repeat("```\n", 500_000),
		"open fences":     strings.Repeat("```go\n", 500_000),
		"fences of diffs": strings.Repeat("```diff\n@@ -1,9 +1,9 @@\n", 200_000),
		"ends":            result + "[PATCH_BEGIN]\n@@ -1,999999999 +1 @@\n" + strings.Repeat("[PATCH_END]\n", 500_000),
		"headers":         strings.Repeat("--- a\n+++ b\n", 500_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, _ = answer.Parse([]byte(raw), "stop")
		})
	}
}

// TestProse looks for what an answer says besides: nothing of it is lost.
func TestProse(t *testing.T) {
	const diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	for _, tt := range []struct{ name, raw, want string }{
		{"around a fence", "<think>\nhm\n</think>\nHere:\n```diff\n" + diff + "```\nBye.\n```go\nx := 1\n```\n", "Here:\nBye.\n```go\nx := 1\n```"},
		{"around the blocks", "Hi.\n<<<AIO_RESULT_START>>>\njunk\ntype: PATCH # one\nsummary: s\nreason: r\n<<<AIO_RESULT_END>>>\nThen\n[PATCH_BEGIN]\n" + diff + "[PATCH_END]\nBye.\n", "Hi.\nThen\nBye.\njunk\none\nr"},
		{"a report on checks", "<<<AIO_RESULT_START>>>\ntype: NOOP\nreason: r\nquestion: q\n<<<AIO_RESULT_END>>>\n<<<AIO_CHECKS_START>>>\nall pass\n<<<AIO_CHECKS_END>>>\n", "all pass\nq"},
		{"a bare diff", "Hi.\n" + diff, "Hi."},
	} {
		got, err := answer.Parse([]byte(tt.raw), "stop")
		if err != nil || got.Prose != tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.name, got.Prose, err, tt.want)
		}
	}
}
