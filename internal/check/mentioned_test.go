package check_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/check"
)

func TestMentioned(t *testing.T) {
	files := []string{
		"main.go", "internal/calc/calc.go", "internal/calc/calc_test.go", "calc/core.py", "tests/test_core.py", "my dir/odd name.py",
		"src/app.ts", "src/app.test.js", "src/lib.rs", "tests/it.rs", "lib/a.c", "include/a.h", "src/My-Comp.vue", "Makefile",
	}
	for name, test := range map[string]struct {
		output string
		want   []string
	}{
		"go build":                  {"# example.com/m\n./main.go:3:5: undefined: x\ninternal/calc/calc.go:9:1: syntax error", []string{"main.go", "internal/calc/calc.go"}},
		"go vet":                    {"vet: ./main.go:3:5: declared and not used", []string{"main.go"}},
		"go test names bare files":  {"--- FAIL: TestAdd (0.00s)\n    calc_test.go:12: got 3\nFAIL\nFAIL\texample.com/m/internal/calc\t0.002s\nFAIL", []string{"internal/calc/calc_test.go"}},
		"go panic":                  {"panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/site/tree/main.go:7 +0x1d\n\t/usr/lib/go/src/runtime/proc.go:1 +0x1", []string{"main.go"}},
		"python traceback":          {"Traceback (most recent call last):\n  File \"/site/tree/calc/core.py\", line 3, in add\n  File \"/usr/lib/python3/unittest.py\", line 1\n  File \"my dir/odd name.py\", line 2", []string{"calc/core.py", "my dir/odd name.py"}},
		"pytest":                    {"tests/test_core.py:5: AssertionError\nFAILED tests/test_core.py::test_add - assert 3 == 4\ncalc/core.py:1: in <module>", []string{"tests/test_core.py", "calc/core.py"}},
		"node stack":                {"Error: x\n    at Object.<anonymous> (/site/tree/src/app.test.js:10:5)\n    at node:internal/main:1:1\n    at file:///site/tree/src/app.ts:2:1", []string{"src/app.test.js", "src/app.ts"}},
		"typescript":                {"src/app.ts(3,5): error TS2304: Cannot find name 'x'.", []string{"src/app.ts"}},
		"rust":                      {"error[E0425]: cannot find value\n --> src/lib.rs:4:9\nthread 'adds' panicked at tests/it.rs:5:5:", []string{"src/lib.rs", "tests/it.rs"}},
		"gcc":                       {"In file included from lib/a.c:1:\ninclude/a.h:3:10: fatal error: b.h: No such file", []string{"lib/a.c", "include/a.h"}},
		"unusual characters":        {"src/My-Comp.vue:3:1 error", []string{"src/My-Comp.vue"}},
		"each file once":            {"main.go:1: a\nmain.go:2: b\n./main.go:3: c", []string{"main.go"}},
		"files that are not there":  {"other.go:1: x", nil},
		"a name without a position": {"see main.go for more", nil},
		"paths that leave":          {"../main.go:1: x\n/site/tree/../tree2/main.go:1: x\n/site/main.go:1: x\n/site/treemain.go:2: x", nil},
		"a path that comes back":    {"/site/tree/internal/../main.go:1: x", []string{"main.go"}},
		"nothing":                   {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			exists := func(file string) bool {
				if path.IsAbs(file) || path.Clean(file) != file || strings.HasPrefix(file, "..") {
					t.Errorf("asked about %q", file)
				}
				return slices.Contains(files, file)
			}
			report := check.Report{Checks: []check.Result{{Status: check.Pass, Head: "src/lib.rs:1:1"}, {Status: check.Fail, Head: "...\n", Tail: test.output}}}
			if got := check.MentionedFiles(report, "/site/tree", exists); !slices.Equal(got, test.want) {
				t.Errorf("got %q; want %q", got, test.want)
			}
		})
	}
}

// A failing check of a hostile repository prints one package of many directories, or many packages, and many bare
// names. The lookups are bounded, and what was mentioned first is found.
func TestMentionedInHostileOutput(t *testing.T) {
	deep := "FAIL\t" + strings.Repeat("a/", 250) + "a\t0.1s\n"
	for name, packages := range map[string]string{
		"a deep package":     deep,
		"a longer path":      "FAIL\t" + strings.Repeat("a/", 8<<10) + "a\t0.1s\n",
		"many deep packages": strings.Repeat(deep, 16),
	} {
		t.Run(name, func(t *testing.T) {
			lookups := 0
			exists := func(file string) bool {
				lookups++
				return file == "main.go"
			}
			tail := "main.go:1: x\n" + packages + strings.Repeat("a.go:1\n", 2<<10)
			got := check.MentionedFiles(check.Report{Checks: []check.Result{{Status: check.Fail, Tail: tail}}}, "/site/tree", exists)
			if !slices.Equal(got, []string{"main.go"}) || lookups > 20_000 {
				t.Errorf("got %q after %d lookups", got, lookups)
			}
		})
	}
}
