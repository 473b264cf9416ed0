package patch_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

const program = "package main\n\nfunc add(a, b int) int {\n\tsum := a + b\n\treturn sum\n}\n\nfunc sub(a, b int) int {\n\treturn a - b\n}\n"

func TestRepairs(t *testing.T) {
	const want = "package main\n\nfunc add(a, b int) int {\n\tsum := a + b\n\treturn sum + 0\n}\n\nfunc sub(a, b int) int {\n\treturn a - b\n}\n"
	const head = "--- a/x.go\n+++ b/x.go\n"
	for _, tt := range []struct {
		name, diff   string
		before, want string // program and want when empty
		repairs      []patch.RepairKind
	}{
		{name: "nothing to repair", diff: head + "@@ -4,3 +4,3 @@\n \tsum := a + b\n-\treturn sum\n+\treturn sum + 0\n }\n"},
		{name: "wrong counts", diff: head + "@@ -4,9 +4,2 @@\n \tsum := a + b\n-\treturn sum\n+\treturn sum + 0\n }\n", repairs: []patch.RepairKind{patch.RepairCounts}},
		{name: "wrong line", diff: head + "@@ -44,3 +44,3 @@\n \tsum := a + b\n-\treturn sum\n+\treturn sum + 0\n }\n", repairs: []patch.RepairKind{patch.RepairLines}},
		{name: "no numbers", diff: head + "@@ func add @@\n \tsum := a + b\n-\treturn sum\n+\treturn sum + 0\n }\n", repairs: []patch.RepairKind{patch.RepairCounts, patch.RepairLines}},
		{name: "numbers beyond all files", diff: head + "@@ -99999999999999999999,3 +1,3 @@\n \tsum := a + b\n-\treturn sum\n+\treturn sum + 0\n }\n", repairs: []patch.RepairKind{patch.RepairCounts, patch.RepairLines}},
		{name: "lost leading spaces", diff: head + "@@ -3,4 +3,4 @@\nfunc add(a, b int) int {\n\tsum := a + b\n-\treturn sum\n+\treturn sum + 0\n}\n", repairs: []patch.RepairKind{patch.RepairContextSpace}},
		{name: "blanks at the ends of lines", diff: head + "@@ -4,3 +4,3 @@\n \tsum := a + b  \n-\treturn sum \n+\treturn sum + 0\n }\n", repairs: []patch.RepairKind{patch.RepairBlanks}},
		{name: "spaces for tabs in all lines", diff: head + "@@ -4,3 +4,3 @@\n     sum := a + b\n-    return sum\n+    return sum + 0\n }\n", repairs: []patch.RepairKind{patch.RepairBlanks, patch.RepairIndentation}},
		{name: "indentation taken off", diff: head + "@@ -4,2 +4,2 @@\n sum := a + b\n-return sum\n+return sum + 0\n", repairs: []patch.RepairKind{patch.RepairBlanks, patch.RepairIndentation}},
		{name: "carriage returns of the answer", diff: "--- a/x.go\r\n+++ b/x.go\r\n@@ -4,3 +4,3 @@\r\n \tsum := a + b\r\n-\treturn sum\r\n+\treturn sum + 0\r\n }\r\n", repairs: []patch.RepairKind{patch.RepairLineEnds}},
		{name: "a file with carriage returns", diff: head + "@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c\n", before: "a\r\nb\r\n", want: "a\r\nB\r\nc\r\n", repairs: []patch.RepairKind{patch.RepairLineEnds}},
		{name: "a file with both, each line keeps its own", diff: head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n-c\n+C\n", before: "a\r\nb\nc\r\n", want: "a\r\nB\nC\r\n", repairs: []patch.RepairKind{patch.RepairLineEnds}},
		{name: "no line feed at the end, and no marker", diff: head + "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", before: "a\nb", want: "a\nB", repairs: []patch.RepairKind{patch.RepairFinalNewline}},
		{name: "the marker adds the line feed", diff: head + "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", before: "a\nb", want: "a\nb\n"},
		{name: "the marker takes the line feed away", diff: head + "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", before: "a\nb\n", want: "a\nb"},
		{name: "a byte order mark that the diff does not show", diff: head + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", before: "\ufeffa\nb\n", want: "\ufeffA\nb\n"},
		{name: "names without prefix", diff: "--- x.go\n+++ x.go\n@@ -5 +5 @@\n-\treturn sum\n+\treturn sum + 0\n", repairs: []patch.RepairKind{patch.RepairNames}},
		{name: "two sections of one file", diff: head + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n" + head + "@@ -3,2 +3,2 @@\n c\n-d\n+D\n", before: "a\nb\nc\nd\n", want: "A\nb\nc\nD\n", repairs: []patch.RepairKind{patch.RepairMerged}},
		{name: "hunks in the wrong order", diff: head + "@@ -3,2 +3,2 @@\n c\n-d\n+D\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n", before: "a\nb\nc\nd\n", want: "A\nb\nc\nD\n"},
		{name: "typographic quotes in the context", diff: head + "@@ -1,3 +1,3 @@\n say(\u201ca\u201d)\n-b\n+B\n c\n", before: "say(\"a\")\nb\nc\n", want: "say(\"a\")\nB\nc\n", repairs: []patch.RepairKind{patch.RepairPunctuation}},
		// Findings, section 6.
		{name: "a wrapped line, and the line feed at the end added", diff: head + "@@ -1,2 +1,2 @@\n first\n-the last\nline\n\\ No newline at end of file\n+the last line\n", before: "first\nthe last line", want: "first\nthe last line\n", repairs: []patch.RepairKind{patch.RepairWrapped}},
		{name: "a file with carriage returns loses its last line feed", diff: head + "@@ -1,2 +1,2 @@\n a\n-b\n+B\n\\ No newline at end of file\n", before: "a\r\nb\r\n", want: "a\r\nB", repairs: []patch.RepairKind{patch.RepairLineEnds}},
		{name: "a file with carriage returns has no last line feed", diff: head + "@@ -2,2 +2,3 @@\n b\n-c\n\\ No newline at end of file\n+C\n+d\n\\ No newline at end of file\n", before: "a\r\nb\r\nc", want: "a\r\nb\r\nC\r\nd", repairs: []patch.RepairKind{patch.RepairLineEnds}},
		{name: "a file with carriage returns has no last line feed, and no marker", diff: head + "@@ -2,2 +2,2 @@\n b\n-c\n+C\n", before: "a\r\nb\r\nc", want: "a\r\nb\r\nC", repairs: []patch.RepairKind{patch.RepairLineEnds, patch.RepairFinalNewline}},
		{name: "a file with carriage returns gets its last line feed", diff: head + "@@ -2,2 +2,2 @@\n b\n-c\n\\ No newline at end of file\n+c\n", before: "a\r\nb\r\nc", want: "a\r\nb\r\nc\r\n", repairs: []patch.RepairKind{patch.RepairLineEnds}},
		{name: "two hunks that share context", diff: head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -3,3 +3,3 @@\n c\n-d\n+D\n e\n", before: "a\nb\nc\nd\ne\n", want: "a\nB\nc\nD\ne\n", repairs: []patch.RepairKind{patch.RepairMerged}},
		{name: "a mode line without a mode", diff: "diff --git a/x.go b/x.go\nold mode 100644\nnew mode \n" + head + "@@ -5 +5 @@\n-\treturn sum\n+\treturn sum + 0\n", repairs: []patch.RepairKind{patch.RepairHeader}},
		{name: "a mode line without anything", diff: "diff --git a/x.go b/x.go\nnew mode\n" + head + "@@ -5 +5 @@\n-\treturn sum\n+\treturn sum + 0\n", repairs: []patch.RepairKind{patch.RepairHeader}},
		{name: "no +++ line", diff: "diff --git a/x.go b/x.go\n--- a/x.go\n@@ -5 +5 @@\n-\treturn sum\n+\treturn sum + 0\n", repairs: []patch.RepairKind{patch.RepairHeader}},
		{name: "neither --- nor +++ line", diff: "diff --git a/x.go b/x.go\n@@ -5 +5 @@\n-\treturn sum\n+\treturn sum + 0\n", repairs: []patch.RepairKind{patch.RepairHeader}},

		{name: "text after the diff", diff: head + "@@ -4,3 +4,3 @@\n \tsum := a + b\n-\treturn sum\n+\treturn sum + 0\n }\n\n- I changed the sum\n+ and nothing else\n", repairs: []patch.RepairKind{patch.RepairTail}},
		{name: "the signature of a mail", diff: head + "@@ -4,3 +4,3 @@\n \tsum := a + b\n-\treturn sum\n+\treturn sum + 0\n }\n-- \n2.39.5\n", repairs: []patch.RepairKind{patch.RepairTail}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.before == "" {
				tt.before, tt.want = program, want
			}
			tree := memory{files: map[string]patch.File{"x.go": {Mode: patch.Regular, Content: []byte(tt.before)}}}
			c := plan(t, tree, tt.diff)
			if got := string(c.Files[0].After.Content); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			var kinds []patch.RepairKind
			for _, r := range c.Repairs {
				kinds = append(kinds, r.Kind)
			}
			slices.Sort(kinds)
			slices.Sort(tt.repairs)
			if !slices.Equal(kinds, tt.repairs) {
				t.Errorf("repairs %v, want %v", kinds, tt.repairs)
			}
			holdsTogether(t, tree, c)
		})
	}
}

func TestAlteredContextNeedsAPerson(t *testing.T) {
	before := "package main\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\nfunc main() {\n\tfmt.Println(strings.ToUpper(\"x\"))\n}\n"
	diff := "--- a/x.go\n+++ b/x.go\n@@ -4,7 +4,7 @@\n \t\"fmt\"\n \t\"string\"\n )\n \n func main() {\n-\tfmt.Println(strings.ToUpper(\"x\"))\n+\tfmt.Println(strings.ToLower(\"x\"))\n }\n"
	tree := memory{files: map[string]patch.File{"x.go": {Mode: patch.Regular, Content: []byte(before)}}}
	c := plan(t, tree, diff)
	if len(c.Sensitive) != 1 || c.Repairs[len(c.Repairs)-1].Kind != patch.RepairAltered {
		t.Errorf("sensitive %v, repairs %v", c.Sensitive, c.Repairs)
	}
}

func TestSensitive(t *testing.T) {
	for _, name := range []string{".gitattributes", "sub/.gitmodules", ".github/workflows/ci.yml", "Jenkinsfile", ".gitlab-ci.yml", ".husky/pre-commit", ".pre-commit-config.yaml",
		".env", "deploy/.env.production", "id_rsa", ".aws/credentials", "server.pem", ".devcontainer/devcontainer.json", ".vscode/tasks.json", ".mcp.json", "CLAUDE.md"} {
		t.Run(name, func(t *testing.T) {
			if c := plan(t, memory{}, addition(name)); len(c.Sensitive) != 1 || c.Sensitive[0].Path != name || c.Sensitive[0].Reason == "" {
				t.Errorf("got %v", c.Sensitive)
			}
		})
	}
	for _, diff := range []string{
		"diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n",
		"--- /dev/null\n+++ b/x.go\n@@ -0,0 +1 @@\n+if a {\u2066// }\n",
	} {
		if c := plan(t, memory{}, diff); len(c.Sensitive) != 1 {
			t.Errorf("got %v for %s", c.Sensitive, diff)
		}
	}
	if c := plan(t, memory{}, addition("src/environment.go")); len(c.Sensitive) > 0 {
		t.Errorf("an ordinary file: %v", c.Sensitive)
	}
}

// A small diff whose many added lines would take a long indentation from the file is refused before they are made.
func TestALongIndentationIsNotMultiplied(t *testing.T) {
	const indent = 256 << 10
	tree := memory{files: map[string]patch.File{"x": {Mode: patch.Regular, Content: []byte(strings.Repeat(" ", indent) + "x\nend\n")}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := patch.Plan(tree, []byte("--- a/x\n+++ b/x\n@@ -1 +1,4000 @@\n-x\n"+strings.Repeat("+y\n", 4000)), patch.Limits{})
	runtime.ReadMemStats(&after)
	if r, ok := errors.AsType[*patch.Refusal](err); !ok || r.Kind != patch.TooBig || r.Path != "x" {
		t.Errorf("got %v, want a refusal of the size", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4000*indent/2 {
		t.Errorf("%d MiB were allocated", n>>20)
	}
}

// A hunk keeps the indentation that it takes from the file, and so do the reports of it.
func TestLongIndentationsAreCountedAndNotReported(t *testing.T) {
	tree := memory{files: map[string]patch.File{"x": {Mode: patch.Regular, Content: []byte("a\n" + strings.Repeat(" ", 3000) + "x\n" + strings.Repeat(" ", 3000) + "z\nend\n")}}}
	diff := "--- a/x\n+++ b/x\n@@ -2 +2,2 @@\n-x\n+y\n+yy\n@@ -3 +4 @@\n-z\n+zz\n"
	for _, r := range plan(t, tree, diff).Repairs {
		if len(r.Detail) > 200 {
			t.Errorf("a repair has %d bytes", len(r.Detail))
		}
	}
	_, err := patch.Plan(tree, []byte(diff), patch.Limits{File: 6100})
	if r, ok := errors.AsType[*patch.Refusal](err); !ok || r.Kind != patch.TooBig || !strings.Contains(r.Message, "would have") {
		t.Errorf("got %v, want a refusal of the size", err)
	}
}

// The diff of a change names the file that it was made for, so its lines need no other proof. A byte order mark that
// the diff does not show is part of that file.
func TestTheDiffOfAChangeFitsWithAndWithoutAByteOrderMark(t *testing.T) {
	const before, after = "h1\nh2\nh3\nA\nB\nC\n\n\n\n\nD\n", "h1\nh2\nh3\nA\nB\nC\n\n\n\n\n\nD\n"
	for _, mark := range []string{"", "\ufeff"} {
		old, fresh := patch.File{Mode: patch.Regular, Content: []byte(mark + before)}, patch.File{Mode: patch.Regular, Content: []byte(mark + after)}
		c := &patch.Change{Files: []patch.FileChange{{Path: "f", Kind: patch.Modified, Before: &old, After: &fresh}}}
		again, err := patch.Plan(memory{files: map[string]patch.File{"f": old}}, c.Diff(), patch.Limits{})
		if err != nil {
			t.Errorf("mark %q: %v", mark, err)
			continue
		}
		if got := string(again.Files[0].After.Content); got != mark+after {
			t.Errorf("got %q, want %q", got, mark+after)
		}
	}
}
