package patch_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

const swap = "--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"

func TestReport(t *testing.T) {
	const block = "<<<AIO_RESULT_START>>>\n%<<<AIO_RESULT_END>>>\n"
	for _, tt := range []struct {
		name, raw, finish string
		result            patch.Result
		code              string
		says              []string // in the JSON
	}{
		{name: "applied", raw: "Swapped.\n```diff\n" + swap + "```\n", finish: "stop", result: patch.Applied, says: []string{`"summary":"Swapped."`, `"change":"modified"`, `"added":1`, `"deleted":1`, `"repairs":[]`, `"diff":"diff --git`}},
		{name: "ask", raw: strings.Replace(block, "%", "type: ASK\nquestion: Which?\nneeded_input:\n- name\n", 1), finish: "stop", result: patch.Asked, says: []string{`"question":"Which?"`, `"neededInput":["name"]`, `"files":[]`}},
		{name: "noop", raw: strings.Replace(block, "%", "type: NOOP\nreason: done\n", 1), finish: "stop", result: patch.Nothing, says: []string{`"reason":"done"`}},
		{name: "cut answer", raw: swap, finish: "length", result: patch.Refused, code: "truncated"},
		{name: "no answer", raw: "I cannot.", finish: "stop", result: patch.Refused, code: "no_type"},
		{name: "refused diff", raw: strings.Replace(swap, "\n a\n", "\n z\n", 1), finish: "stop", result: patch.Refused, code: "context_not_found", says: []string{`"path":"x.txt"`, `"hunk":1`, `line 1 of the file`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir, map[string]string{"x.txt": "a\nb\n"})
			root := open(t, dir)
			before := picture(t, dir)
			r := patch.CheckAnswer(patch.DirTree(root), []byte(tt.raw), tt.finish, patch.Limits{})
			samePicture(t, picture(t, dir), before)
			check(t, r, tt.result, tt.code, tt.says)
			r = patch.ApplyAnswer(root, []byte(tt.raw), tt.finish, patch.Limits{})
			check(t, r, tt.result, tt.code, tt.says)
			if text, _ := os.ReadFile(filepath.Join(dir, "x.txt")); (string(text) == "a\nB\n") != (tt.result == patch.Applied) {
				t.Errorf("x.txt is %q", text)
			}
		})
	}
}

func check(t *testing.T, r patch.Report, result patch.Result, code string, says []string) {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if r.Result != result || code != "" && (r.Error == nil || r.Error.Code != code) || code == "" && r.Error != nil {
		t.Errorf("got %s", raw)
	}
	for _, s := range says {
		if !strings.Contains(string(raw), s) {
			t.Errorf("%s is not in %s", s, raw)
		}
	}
}

func TestApplyTwiceIsRefused(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"x.txt": "a\nb\n"})
	root := open(t, dir)
	for i, want := range []patch.Result{patch.Applied, patch.Refused} {
		if r := patch.ApplyAnswer(root, []byte(swap), "stop", patch.Limits{}); r.Result != want {
			t.Errorf("time %d: %s %+v", i+1, r.Result, r.Error)
		}
	}
}

func TestReportIsSafeOnATerminal(t *testing.T) {
	raw := "--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1,1 @@\n+\u202a\u2066\u061c\u200f\u200b\u2060\ufeff\u00ad\u180e\u2028\u2029\u0085\u009b\u007f\u001b\u0007\u0008\U000e0041 <&>\n"
	r := patch.CheckAnswer(memory{}, []byte(raw), "stop", patch.Limits{})
	if r.Result != patch.Applied {
		t.Fatalf("%+v", r.Error)
	}
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range string(out) {
		if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
			t.Errorf("the report shows U+%04X", c)
		}
	}
	var back struct{ Diff string }
	if err := json.Unmarshal(out, &back); err != nil || back.Diff != r.Diff {
		t.Errorf("the diff reads back as %q, %v; want %q", back.Diff, err, r.Diff)
	}
}

// A patch in another form is refused by its name.
func TestOtherFormsAreNamed(t *testing.T) {
	const diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n"
	wide := func(text string, first, second byte) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			b.Write([]byte{c * first, c * second})
		}
		return b.String()
	}
	for name, tt := range map[string]struct{ answer, says string }{
		"UTF-16 of PowerShell":  {"\xff\xfe" + wide(diff, 1, 0), "UTF-16"},
		"UTF-16 of big ends":    {"\xfe\xff" + wide(diff, 0, 1), "UTF-16"},
		"UTF-16 without a mark": {wide(diff, 1, 0), "UTF-16"},
		"colours":               {"```diff\n\x1b[1m--- a/a.txt\x1b[m\n\x1b[1m+++ b/a.txt\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[31m-a\x1b[m\n```\n", "colour"},
		"apply_patch":           {"*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n*** End Patch\n", "apply_patch"},
		"search and replace":    {"a.txt\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "search and replace"},
		"a context diff":        {"*** a.txt\t2024\n--- a.txt\t2024\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", "context diff"},
		"a plain diff":          {"1c1\n< a\n---\n> b\n", "plain diff"},
		"escaped line feeds":    {"```diff\n" + strings.ReplaceAll(diff, "\n", `\n`) + "\n```\n", `written as \n`},
		"line feeds in JSON":    {`{"diff":"` + strings.ReplaceAll(diff, "\n", `\n`) + `"}`, `written as \n`},
		"carriage returns":      {strings.ReplaceAll(diff, "\n", "\r"), "carriage returns alone"},
	} {
		tree := memory{files: map[string]patch.File{"a.txt": {Mode: patch.Regular, Content: []byte("a\n")}}}
		r := patch.CheckAnswer(tree, []byte(tt.answer), "stop", patch.Limits{})
		if r.Error == nil || !strings.Contains(r.Error.Message, tt.says) {
			t.Errorf("%s: got %+v, want a refusal that says %q", name, r.Error, tt.says)
		}
	}
}
