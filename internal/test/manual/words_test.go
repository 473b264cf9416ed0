package manual_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// forbidden are private words, and phrases that a reader must read twice, with what to write instead. Upper and lower case
// are the same. docs/glossary.md has the words for people.
var forbidden = []struct{ word, instead string }{
	{`(un)?box(es|ed)?`, "sandbox"},
	{`gates?`, "approval"},
	{`fixer`, "the agent"},
	{`doorbells?`, "mail notice"},
	{`citizens?`, "session"},
	{`sittings?`, "agent process"},
	{`parcels?|desk|disputes?`, "message, result, record mismatch"},
	{`unasked|untold`, "automatic, unreported"},
	{`mend(s|ed|ing)?`, "fix"},
	{`settle[sd]?`, "decide, resolve"},
	{`heed|lent|anew|whichever`, "a common word"},
	{`(any|no|some)body`, "a person, another program, or the passive voice"},
	{`shall`, "should, must"},
	{`(is|are) none of`, "unknown, invalid"},
	{`(is|are|was) no`, "invalid, is not a"},
	{`there (is|are) none`, "what is missing"},
	{`nothing of (it|them)`, "what is not done"},
	{`(be|been|is|are|not|unless) told`, "reported, or who reads it"},
	{`knows? no`, "does not know"},
	{`for want of`, "because there is no"},
	{`go(es)? on|gone on`, "continue"},
	{`under way|at work`, "in progress, running"},
}

// allowed are the texts that may have a forbidden word.
var allowed = map[string]string{
	"- fixer: ": "the role, as --fixer and the settings name it",
	"ratchet approval\nrun %s\ngate %d\nbase %s\npatch %s\n":              "hashed into the id of an approval, and not shown",
	"ratchet permission\nrun %s\ngate %d\nattempt %d\ncall %s\ntool %s\n": "the same",
}

var (
	patterns = func() (list []*regexp.Regexp) {
		for _, f := range forbidden {
			list = append(list, regexp.MustCompile(`(?i)(?:^|[\s("'`+"`"+`,;:*])(`+f.word+`)(?:$|[\s)"'`+"`"+`,;:.!?*])`))
		}
		return list
	}()
	plain = regexp.MustCompile(`(?i)\bthere (is|are|was) no |\b(is|are|was) no longer `) // "is no", but easy to read
)

// texts returns the string literals of a Go file that a person or an agent may read: those with a blank, for names, keys
// and codes have none, and the descriptions in struct tags.
func texts(path string, src any) (list []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			tags[field.Tag] = true
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, bad := strconv.Unquote(lit.Value)
		if tags[lit] {
			text = reflect.StructTag(text).Get("jsonschema")
		}
		if err = bad; strings.Contains(text, " ") {
			list = append(list, text)
		}
		return err == nil
	})
	return list, err
}

// markup is everything in a template of the review page that a person does not read.
var markup = regexp.MustCompile(`\{\{[^}]*\}\}|<[^>]*>`)

// misread returns the first forbidden word of a text, and what to write instead; both empty if it has none.
func misread(text string) (word, instead string) {
	if allowed[text] != "" {
		return "", ""
	}
	text = plain.ReplaceAllString(strings.Join(strings.Fields(text), " "), "no ")
	for i, p := range patterns {
		if m := p.FindStringSubmatch(text); m != nil {
			return m[1], forbidden[i].instead
		}
	}
	return "", ""
}

func TestTextsHaveNoPrivateWords(t *testing.T) {
	const root = "../../.."
	count, used := 0, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name == "internal/test" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		case strings.HasSuffix(path, ".html"):
			src, err := os.ReadFile(path)
			if word, instead := misread(markup.ReplaceAllString(string(src), " ")); word != "" {
				t.Errorf("%s: got %q, want other words: %s", name, word, instead)
			}
			return err
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		list, err := texts(path, nil)
		for _, text := range list {
			count++
			used[text] = true
			if word, instead := misread(text); word != "" {
				t.Errorf("%s: got %q in %q, want other words: %s", name, word, text, instead)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if count < 2000 {
		t.Errorf("got %d texts, want at least 2000", count)
	}
	for text := range allowed {
		if !used[text] {
			t.Errorf("no file has the allowed text %q", text)
		}
	}
}

func TestThePrivateWordsAreFound(t *testing.T) {
	for _, planted := range []string{
		`"start it outside of the box"`, "`unboxed  `", `"the Fixer reads it"`, `"x is none of the keys"`, `"before anybody is paid"`, `"How shall the run\ngo on?"`,
		`"mend it"`, `"%q is no address"`, `"a " + "doorbell rings"`, `"nothing of them is applied"`, `"the gate, then"`,
	} {
		list, err := texts("x.go", "package x\n\n// box\nvar a, b = 1, f("+planted+")\n")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(text string) bool { word, _ := misread(text); return word != "" }) {
			t.Errorf("got nothing in %s, want a forbidden word", planted)
		}
	}
	tagged := "package x\n\ntype T struct{ A string `json:\"box here\" jsonschema:\"the citizen it is for\"` }\n"
	if list, err := texts("x.go", tagged); err != nil || !slices.Equal(list, []string{"the citizen it is for"}) {
		t.Errorf("got %q, %v; want the description alone", list, err)
	}
	for _, fine := range []string{`"box"`, `"there is no socket"`, `"the branch is no longer checked out"`, `"a .php-cs-fixer.php"`, `"the aggregate of all"`, `"- fixer: "`} {
		list, err := texts("x.go", "package x\n\nvar a = "+fine+" // nobody reads the box\n")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range list {
			if word, _ := misread(text); word != "" {
				t.Errorf("got %q in %s, want nothing", word, fine)
			}
		}
	}
}
