// Program language prints how the production code reads: the share of function
// names that are one word, the names that most packages define, the share of
// comment lines in the idiom that the house does not use, and the packages that
// ./workflows reaches.
//
//	cd .ci/tools && go run ./language ../..
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// rooms hold the production code.
var rooms = []string{"activities", "host", "internal", "starter", "worker", "workflows"}

// idiom is what Go's own doc style does without.
var idiom = regexp.MustCompile(`\b([Ww]hat (is|was|are|were)|that of|those of|goes on|go on|nobody|somebody)\b`)

// tally counts over all files.
type tally struct {
	functions, oneWord  int
	comments, idiomatic int
	packages            map[string]map[string]bool // by function name: the directories that define it
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: language ROOT")
		os.Exit(2)
	}
	if err := report(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "language:", err)
		os.Exit(1)
	}
}

func report(root string) error {
	t := tally{packages: map[string]map[string]bool{}}
	for _, room := range rooms {
		err := filepath.WalkDir(filepath.Join(root, room), t.visit)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	fmt.Printf("one-word function names   %5.1f %% of %d\n", share(t.oneWord, t.functions), t.functions)
	fmt.Printf("comment lines in idiom    %5.1f %% of %d\n", share(t.idiomatic, t.comments), t.comments)
	reached, own, err := reach(root)
	if err != nil {
		return err
	}
	fmt.Printf("packages below workflows  %5d, %d of them of this module\n", reached, own)
	for _, name := range t.mostDefined(8) {
		fmt.Printf("  %s is defined in %d packages\n", name, len(t.packages[name]))
	}
	return nil
}

func share(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// visit counts one file.
func (t *tally) visit(path string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case d.IsDir() && d.Name() == "testdata":
		return fs.SkipDir
	case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		for line := range strings.SplitSeq(strings.TrimSpace(group.Text()), "\n") {
			t.comments++
			if idiom.MatchString(line) {
				t.idiomatic++
			}
		}
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name != "main" && f.Name.Name != "init" {
			t.count(f.Name.Name, filepath.Dir(path))
		}
	}
	return nil
}

func (t *tally) count(name, dir string) {
	t.functions++
	if words(name) == 1 {
		t.oneWord++
	}
	key := strings.ToLower(name)
	if t.packages[key] == nil {
		t.packages[key] = map[string]bool{}
	}
	t.packages[key][dir] = true
}

// words returns how many words a Go name is made of; an initialism is one.
func words(name string) int {
	n, upper := 0, true
	for i, r := range name {
		up := unicode.IsUpper(r)
		if i == 0 || up && !upper || r == '_' {
			n++
		}
		upper = up
	}
	return n
}

// mostDefined returns the n names that most packages define.
func (t *tally) mostDefined(n int) []string {
	names := slices.SortedFunc(maps.Keys(t.packages), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(t.packages[b]), len(t.packages[a])), strings.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

// reach counts the packages that ./workflows depends on, and how many of
// them belong to this module.
func reach(root string) (all, own int, err error) {
	cmd := exec.Command("go", "list", "-deps", "./workflows")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		all++
		if strings.HasPrefix(line, "github.com/ratchet-dev/ratchet") {
			own++
		}
	}
	return all, own, nil
}
