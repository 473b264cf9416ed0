package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/gate"
)

func TestRisks(t *testing.T) {
	one := gate.File{Path: "calc/div.go", Added: 3, Removed: 1}
	tests := []struct {
		name  string
		facts gate.Facts
		want  []string
	}{
		{"a small change of one file", gate.Facts{Files: []gate.File{one}}, nil},
		{"a new file alone", gate.Facts{Files: []gate.File{{Path: "calc/new.go", Added: 30}}}, nil},
		{"nothing inspected", gate.Facts{}, []string{"the patch could not be inspected: no changed file was found"}},
		{"a deleted file", gate.Facts{Files: []gate.File{one, {Path: "old.go", Deleted: true}}}, []string{`deletes 1 file: "old.go"`}},
		{"19 files", gate.Facts{Files: files(19, 1)}, nil},
		{"20 files", gate.Facts{Files: files(20, 1)}, []string{"changes many files: 20 (many: 20 or more)"}},
		{"20 renames", gate.Facts{Files: renames(20)}, []string{"changes many files: 20 (many: 20 or more)"}},
		{"19 renames are 19 files", gate.Facts{Files: renames(19)}, nil},
		{"499 lines", gate.Facts{Files: []gate.File{{Path: "a", Added: 250, Removed: 249}}}, nil},
		{"500 lines", gate.Facts{Files: []gate.File{{Path: "a", Added: 250, Removed: 250}}}, []string{"changes many lines: 500 (many: 500 or more)"}},
		{"500 lines of a new file", gate.Facts{Files: []gate.File{{Path: "a", Added: 500}}}, []string{"changes many lines: 500 (many: 500 or more)"}},
		{"500 lines in two files", gate.Facts{Files: files(2, 250)}, []string{"changes many lines: 500 (many: 500 or more)"}},
		{
			"a rename out of a security path",
			gate.Facts{Files: []gate.File{{Path: "web/login.go", OldPath: "auth/login.go"}}},
			[]string{`touches security-related paths: "auth/login.go" (auth)`},
		},
		{
			"a rename into a security path",
			gate.Facts{Files: []gate.File{{Path: "auth/login.go", OldPath: "web/login.go"}}},
			[]string{`touches security-related paths: "auth/login.go" (auth)`},
		},
		{
			"what the patch engine found",
			gate.Facts{Files: []gate.File{one}, Sensitive: []string{"ci.yml is a CI workflow"}},
			[]string{"ci.yml is a CI workflow"},
		},
		{
			"every rule of the contract's example",
			gate.Facts{Files: []gate.File{{Path: "legacy.ts", Deleted: true, Added: 10, Removed: 2}, {Path: "auth/service.ts", Added: 400, Removed: 300}}},
			[]string{`deletes 1 file: "legacy.ts"`, `touches security-related paths: "auth/service.ts" (auth)`, "changes many lines: 712 (many: 500 or more)"},
		},
		{
			"a name that could deceive",
			gate.Facts{Files: []gate.File{{Path: "a\x1b[2J\u202eb", Deleted: true}}},
			[]string{`deletes 1 file: "a\x1b[2J\u202eb"`},
		},
		{
			"more names than are shown",
			gate.Facts{Files: deleted(7)},
			[]string{`deletes 7 files: "f0", "f1", "f2", "f3", "f4" and 2 more`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := gate.FindRisks(tt.facts); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSecurityPaths(t *testing.T) {
	tests := []struct {
		path string
		want bool
	}{
		{"src/auth/x", true},
		{"auth", true},
		{"AUTH/x.go", true},
		{"a/Security/b", true},
		{"secret/a", true},
		{"secrets/a", true},
		{"credential/a", true},
		{"a/credentials", true},
		{"token/a", true},
		{"api/tokens/list.go", true},
		{"permission/a", true},
		{"permissions/a", true},
		{".env", true},
		{"config/.env.local", true},
		{"my.envelope.ts", true},
		{"a.ENV", true},
		{"auth.ts", false},
		{"author/x.go", false},
		{"src/authors.go", false},
		{"tokenizer.ts", false},
		{"credentials.json", false},
		{"envelope.ts", false},
		{"a/env/b", false},
		{"secure/a", false},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			risks := gate.FindRisks(gate.Facts{Files: []gate.File{{Path: tt.path, Added: 1}}})
			if got := len(risks) > 0; got != tt.want {
				t.Errorf("risks %q", risks)
			}
		})
	}
}

// Finding B9: the files that a check runs are not for the patch to change unseen.
func TestWhatDecidesTheResultIsGuarded(t *testing.T) {
	guards := []gate.Guard{
		{Path: "tests/run.py", Why: `check "python tests/run.py"`}, {Path: "rules/*.inc", Why: "included by Makefile"},
		{Path: "state/runs/", Why: "the record of runs"}, {Path: "src/[id].js", Why: "named"},
	}
	for _, tt := range []struct {
		name string
		file gate.File
		want string // empty: no risk
	}{
		{"the file itself", gate.File{Path: "tests/run.py"}, `touches files that decide the result: "tests/run.py" (check "python tests/run.py")`},
		{"in another letter case", gate.File{Path: "Tests/Run.py"}, `"Tests/Run.py" (check`},
		{"renamed away", gate.File{Path: "x.py", OldPath: "tests/run.py"}, `"tests/run.py" (check`},
		{"renamed onto", gate.File{Path: "tests/run.py", OldPath: "x.py"}, `"tests/run.py" (check`},
		{"below a directory of its name", gate.File{Path: "tests/run.py/x"}, ""},
		{"by a pattern", gate.File{Path: "rules/a.inc"}, `"rules/a.inc" (included by Makefile)`},
		{"below a guarded directory", gate.File{Path: "state/runs/workflows/x"}, `"state/runs/workflows/x" (the record of runs)`},
		{"a name that reads like a pattern", gate.File{Path: "src/[id].js"}, `"src/[id].js" (named)`},
		{"beside it", gate.File{Path: "tests/run.pyc"}, ""},
		{"below what a pattern stands for", gate.File{Path: "rules/a/b.inc"}, ""},
		{"elsewhere", gate.File{Path: "sub/tests/run.py"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			risks := gate.FindRisks(gate.Facts{Files: []gate.File{tt.file}, Guards: guards})
			if got := strings.Join(risks, "\n"); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRisksAreBounded(t *testing.T) {
	found := slices.Repeat([]string{"a hook"}, 1000)
	risks := gate.FindRisks(gate.Facts{Files: deleted(1000), Sensitive: found})
	if len(risks) > 30 || !strings.Contains(risks[len(risks)-1], "980 more") {
		t.Errorf("%d risks, the last %q", len(risks), risks[len(risks)-1])
	}
}

func files(n, lines int) []gate.File {
	list := make([]gate.File, n)
	for i := range list {
		list[i] = gate.File{Path: fmt.Sprintf("f%d", i), Added: lines}
	}
	return list
}

func deleted(n int) []gate.File {
	list := files(n, 0)
	for i := range list {
		list[i].Deleted = true
	}
	return list
}

func renames(n int) []gate.File {
	list := files(n, 0)
	for i := range list {
		list[i].OldPath = fmt.Sprintf("g%d", i)
	}
	return list
}
