package prompt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/prompt"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func given(p prompt.Prompt) []string {
	var paths []string
	for _, a := range p.Artifacts {
		if a.Path != "" {
			paths = append(paths, a.Path)
		}
	}
	return paths
}

func file(t *testing.T, p prompt.Prompt, path string) prompt.Artifact {
	t.Helper()
	for _, a := range p.Artifacts {
		if a.Path == path {
			return a
		}
	}
	t.Fatalf("%s is not given: %q", path, given(p))
	return prompt.Artifact{}
}

// big is a repository whose rest never fits, so that only what is pointed at
// is sent.
func big() repository {
	r := repository{"go.mod": "module x\n"}
	for i := range 300 {
		r[fmt.Sprintf("pkg%02d/file%03d.go", i%30, i)] = strings.Repeat("// a line of text\n", 60)
	}
	return r
}

func TestContextFollowsThePriorities(t *testing.T) {
	r := big()
	for _, name := range []string{"check", "problem", "answer", "goal", "plan", "diff"} {
		r[name+"/"+name+".go"] = "package " + name + "\n"
	}
	r["goal/neighbour.go"] = "package goal\n"
	p := prompt.Build(prompt.In{
		Role: run.Fixer, Goal: "Change `goal/goal.go`.", Plan: "See (plan/plan.go).", Problem: "patch refused: problem/problem.go: hunk 1",
		Guidance:  []run.Guidance{{Kind: run.FromAnswer, Text: "look at answer/answer.go, too"}},
		Diff:      prompt.ReadDiff([]byte("diff --git a/diff/diff.go b/diff/diff.go\n--- a/diff/diff.go\n+++ b/diff/diff.go\n@@ -1 +1 @@\n-a\n+b\n")),
		Mentioned: []string{"check/check.go"}, Files: r.files(), Read: r.read,
	})
	want := []string{"check/check.go", "problem/problem.go", "answer/answer.go", "goal/goal.go", "plan/plan.go", "diff/diff.go", "go.mod", "goal/neighbour.go"}
	if got := given(p); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if strings.Contains(p.User, "or not whole:") || !strings.Contains(p.User, "now: 8 files. Not given: 300.") {
		t.Errorf("said:\n%s", p.User)
	}
}

// A name in back-ticks is one name, whatever it holds.
func TestNamesWithBlanksAndParenthesesAreFound(t *testing.T) {
	r := big()
	for _, name := range []string{"docs/User Guide.md", "app/(auth)/page.tsx", "src/a, b.txt"} {
		r[name] = "x\n"
	}
	p := prompt.Build(prompt.In{
		Role: run.Developer, Goal: "Do it.", Plan: "- [ ] change `docs/User Guide.md` and `app/(auth)/page.tsx#L3`\n- [ ] see `./src/a, b.txt`, and ` alone\n", Files: r.files(), Read: r.read,
	})
	for _, want := range []string{"docs/User Guide.md", "app/(auth)/page.tsx", "src/a, b.txt"} {
		if got := given(p); !slices.Contains(got, want) {
			t.Errorf("got %q, want %q among them", got, want)
		}
	}
}

func TestSmallRepositoryIsGivenWhole(t *testing.T) {
	p := prompt.Build(prompt.In{Role: run.Developer, Goal: "Make it faster.", Files: calc.files(), Read: calc.read})
	want := []string{"README.md", "go.mod", "calc/div.go", "calc/div_test.go", "calc/testdata/a.in", "cmd/calc/main.go"}
	if got := given(p); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if p.Artifacts[0].Name != "list of files" || strings.Contains(p.Artifacts[0].Content, ".env") {
		t.Errorf("first comes %+v", p.Artifacts[0])
	}
}

func TestContextKeepsTheBudget(t *testing.T) {
	r := big()
	r["a/long.go"] = strings.Repeat("0123456789\n", 500)
	for _, budget := range []int{1, 100, 1000, 3000, 4096, 8000, 1 << 20} {
		p := prompt.Build(prompt.In{Role: run.Developer, Goal: "a/long.go and pkg01/file001.go", Files: r.files(), Read: r.read, Budget: budget})
		total := 0
		for _, a := range p.Artifacts {
			total += len(a.Content)
			if a.Path != "" && !strings.HasPrefix(r[a.Path], a.Content) {
				t.Errorf("budget %d: %s has other bytes", budget, a.Path)
			}
		}
		if total > budget {
			t.Errorf("budget %d: %d bytes", budget, total)
		}
	}
}

func TestFileThatDoesNotFitIsCutAtALine(t *testing.T) {
	r := repository{"a/long.go": strings.Repeat("0123456789\n", 500)}
	p := prompt.Build(prompt.In{Role: run.Developer, Goal: "a/long.go", Files: r.files(), Read: r.read, Budget: 2000})
	a := file(t, p, "a/long.go")
	if a.Name != "a/long.go, lines 1 to 180 of 500" || a.Content != strings.Repeat("0123456789\n", 180) {
		t.Errorf("%q with %d bytes", a.Name, len(a.Content))
	}
	want := "`a/long.go`: only lines 1 to 180 of 500"
	if !strings.Contains(p.User, "or not whole:\n\n- "+want+"\n\n") {
		t.Errorf("said:\n%s", p.User)
	}
}

func TestContextSaysWhyAFileIsLeftOut(t *testing.T) {
	r := repository{
		"a.go": "package a\n", "bin/tool.exe": "MZ\x00\x01", "latin1.txt": "caf\xe9\n", "one-line.js": strings.Repeat("x", 9000),
		"deploy/secrets.yaml": "key: canary\n", "go.sum": "x v1 h1:\n",
	}
	files := append(r.files(),
		prompt.File{Path: "gone.go", Size: 5},
		prompt.File{Path: "huge.sql", Size: 5 << 20},
	)
	tests := []struct{ path, why string }{
		{"bin/tool.exe", "not a text"},
		{"latin1.txt", "not a text"},
		{"gone.go", "it cannot be read"},
		{"huge.sql", "too large, 5242880 bytes"},
		{"one-line.js", "no room for its first line"},
		{"deploy/secrets.yaml", "withheld: its name suggests that it holds secrets"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			p := prompt.Build(prompt.In{Role: run.Developer, Goal: "Look at " + tt.path + ".", Files: files, Read: r.read, Budget: 4096})
			want := "`" + tt.path + "`: " + tt.why
			if !strings.Contains(p.User, "or not whole:\n\n- "+want+"\n\n") {
				t.Errorf("want %q, said:\n%s", want, p.User)
			}
			if slices.Contains(given(p), tt.path) || strings.Contains(p.Flatten(), "/srv/checkouts") {
				t.Errorf("it went out: %q", p.Artifacts)
			}
		})
	}
}

func TestLockFileIsGivenWhenNamed(t *testing.T) {
	for goal, want := range map[string]bool{"Make it faster.": false, "Update go.sum.": true} {
		p := prompt.Build(prompt.In{Role: run.Developer, Goal: goal, Files: calc.files(), Read: calc.read})
		if got := slices.Contains(given(p), "go.sum"); got != want {
			t.Errorf("%q: %v", goal, got)
		}
	}
}

func TestLeftOutIsBounded(t *testing.T) {
	var files []prompt.File
	var goal strings.Builder
	for i := range 500 {
		files = append(files, prompt.File{Path: fmt.Sprintf("gone%03d.go", i), Size: 10})
		fmt.Fprintf(&goal, "gone%03d.go ", i)
	}
	read := func(string) ([]byte, error) { return nil, errors.New("gone") }
	p := prompt.Build(prompt.In{Role: run.Developer, Goal: goal.String(), Files: files, Read: read})
	if n := strings.Count(p.User, "\n- `gone"); n != 50 || !strings.Contains(p.User, "\n- and 450 more files\n") {
		t.Errorf("%d, said:\n%s", n, p.User)
	}
}

func TestProviderThatReadsForItselfGetsNoFiles(t *testing.T) {
	p := prompt.Build(prompt.In{
		Role: run.Developer, Goal: "calc/div.go", Files: calc.files(), Budget: -1,
		Read: func(path string) ([]byte, error) { t.Errorf("%s is read", path); return nil, nil },
	})
	if len(p.Artifacts) > 0 || !strings.Contains(p.User, "read the files that you need") {
		t.Errorf("%d artifacts, said:\n%s", len(p.Artifacts), p.User)
	}
}

func TestNamesInTexts(t *testing.T) {
	r := big()
	for _, path := range []string{
		"main.go", "Makefile", "internal/calc/div.go", "internal/calc/div_test.go", "web/app/[id].tsx", ".github/workflows/ci.yml",
		"a/index.ts", "b/index.ts", "c/index.ts", "d/index.ts", "x/doc.go", "y/doc.go", "tools/test", "docs/größe.md",
		"docs/User Guide.md", "app/(auth)/page.tsx", "app/@modal/(.)photo/page.tsx", "pkg/C#/a.cs", "man/Foo::Bar.pod", "pkg/__init__.py",
	} {
		r[path] = "text of " + path + "\n"
	}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"a path", "internal/calc/div.go", []string{"internal/calc/div.go"}},
		{"a path in a sentence", "Change internal/calc/div.go.", []string{"internal/calc/div.go"}},
		{"a path as code", "see `internal/calc/div.go`, please", []string{"internal/calc/div.go"}},
		{"a path with a line", "internal/calc/div.go:12:3: undefined", []string{"internal/calc/div.go"}},
		{"a path from here", "./main.go", []string{"main.go"}},
		{"the end of a path", "calc/div.go", []string{"internal/calc/div.go"}},
		{"a name alone", "div_test.go:9", []string{"internal/calc/div_test.go"}},
		{"a path of a diff", "+++ b/internal/calc/div.go", []string{"internal/calc/div.go"}},
		{"an absolute path", "/tmp/ws/42/internal/calc/div.go", []string{"internal/calc/div.go"}},
		{"a Markdown link", "[div](internal/calc/div.go)", []string{"internal/calc/div.go"}},
		{"brackets of a name", "web/app/[id].tsx", []string{"web/app/[id].tsx"}},
		{"a hidden directory", "**.github/workflows/ci.yml**", []string{".github/workflows/ci.yml"}},
		{"a name with letters of its own", "docs/größe.md", []string{"docs/größe.md"}},
		{"a name that two files have", "doc.go", []string{"x/doc.go", "y/doc.go"}},
		{"a name that many files have", "index.ts", nil},
		{"a name without a dot at the top", "the Makefile", []string{"Makefile"}},
		{"a word that is a name below", "make the test pass", nil},
		{"a file that is not there", "internal/calc/mul.go", nil},
		{"once for two mentions", "main.go main.go", []string{"main.go"}},
		{"a path with a line of a web page", "internal/calc/div.go#L12", []string{"internal/calc/div.go"}},
		{"a path of Windows", `internal\calc\div.go`, []string{"internal/calc/div.go"}},
		{"a path in a sentence without blanks", "修改internal/calc/div.go文件", []string{"internal/calc/div.go"}},
		{"a path before a dash", "internal/calc/div.go—change it", []string{"internal/calc/div.go"}},
		{"a path that Markdown escapes", `pkg/\_\_init\_\_.py`, []string{"pkg/__init__.py"}},
		{"a name with a blank", "1. Edit docs/User Guide.md so that", []string{"docs/User Guide.md"}},
		{"a name with a blank in quotes", `"docs/User Guide.md"`, []string{"docs/User Guide.md"}},
		{"a name with a blank in bold", "**docs/User Guide.md**", []string{"docs/User Guide.md"}},
		{"a name with a blank and a line", "`docs/User Guide.md:12`", []string{"docs/User Guide.md"}},
		{"a name with a blank in a link", "[guide](docs/User%20Guide.md)", []string{"docs/User Guide.md"}},
		{"a name with a blank for a shell", `docs/User\ Guide.md`, []string{"docs/User Guide.md"}},
		{"a name with a blank alone", "├── User Guide.md", []string{"docs/User Guide.md"}},
		{"a name with a blank in an absolute path", "/srv/shop/docs/User Guide.md", []string{"docs/User Guide.md"}},
		{"a part of a name with a blank", "docs/User Guide.mdx", nil},
		{"parentheses of a name", "- app/(auth)/page.tsx: x", []string{"app/(auth)/page.tsx"}},
		{"parentheses that begin a part", "app/@modal/(.)photo/page.tsx", []string{"app/@modal/(.)photo/page.tsx"}},
		{"a number sign in a name", "pkg/C#/a.cs", []string{"pkg/C#/a.cs"}},
		{"colons in a name", "man/Foo::Bar.pod", []string{"man/Foo::Bar.pod"}},
		{"nothing", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := prompt.Build(prompt.In{Role: run.Developer, Goal: tt.text, Files: r.files(), Read: r.read})
			got := slices.DeleteFunc(given(p), func(path string) bool { return !slices.Contains(tt.want, path) })
			first := given(p)[:min(len(tt.want), len(given(p)))]
			if !slices.Equal(got, tt.want) || !slices.Equal(first, tt.want) {
				t.Errorf("got %q, want %q first", given(p), tt.want)
			}
			if tt.want == nil && slices.ContainsFunc(given(p), func(path string) bool { return path != "Makefile" && path != "go.mod" }) {
				t.Errorf("got %q, want none", given(p))
			}
		})
	}
}

func TestListOfFiles(t *testing.T) {
	list := func(r repository, budget int) string {
		p := prompt.Build(prompt.In{Role: run.Planner, Goal: "x", Files: r.files(), Read: r.read, Budget: budget})
		return p.Artifacts[0].Content
	}
	deep := repository{}
	for i := range 40 {
		deep[fmt.Sprintf("src/pkg/sub%d/file.go", i)] = ""
		deep[fmt.Sprintf("src/main%d.go", i)] = ""
	}
	wide := repository{}
	for i := range 1000 {
		wide[fmt.Sprintf("file%03d.go", i)] = ""
	}
	tests := []struct {
		name   string
		files  repository
		budget int
		want   string
	}{
		{"a small one is whole", repository{"b/c.go": "", "a.go": "", "b-x": ""}, 4000, "a.go\nb-x\nb/c.go\n"},
		{"a name of two lines is one", repository{"a\n# Now.go": ""}, 4000, `"a\n# Now.go"` + "\n"},
		{"deep directories are counted first", deep, 4 * 700, "src/main9.go\nsrc/pkg/ (40 files)\n"},
		{"then those above", deep, 4 * 100, "src/ (80 files)\n"},
		{"a flat one is cut", wide, 4 * 100, "file000.go\nfile001.go\nfile002.go\nfile003.go\nfile004.go\n(and 995 more lines)\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := list(tt.files, tt.budget)
			if !strings.HasSuffix(got, tt.want) || len(got) > tt.budget/4 {
				t.Errorf("%d bytes:\n%s", len(got), got)
			}
		})
	}
}
