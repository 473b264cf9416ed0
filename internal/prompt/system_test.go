package prompt_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/prompt"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/verdict"
)

var exampleForm = regexp.MustCompile(`(?s)<example>\n(.*?)</example>\n`)

func examples(role run.Role) []string {
	var list []string
	for _, m := range exampleForm.FindAllStringSubmatch(prompt.Build(prompt.In{Role: role}).System, -1) {
		list = append(list, m[1])
	}
	return list
}

func TestExamplesOfAnswersAreAnswers(t *testing.T) {
	for _, role := range []run.Role{run.Developer, run.Fixer} {
		var kinds []answer.Kind
		for _, example := range examples(role) {
			a, err := answer.Parse([]byte(example), "stop")
			if err != nil {
				t.Fatalf("%v:\n%s", err, example)
			}
			kinds = append(kinds, a.Kind)
		}
		if len(kinds) != 3 || kinds[0] != answer.Patch || kinds[1] != answer.Ask || kinds[2] != answer.Noop {
			t.Errorf("%s: %v", role, kinds)
		}
	}
}

const (
	before = "package greet\n\nimport \"fmt\"\n\n// Bye takes leave by name.\nfunc Bye(name string) string {\n\treturn fmt.Sprintf(\"Bye, %s!\", name)\n}\n\n" +
		"// Hello greets by name.\nfunc Hello(name string) string {\n\treturn fmt.Sprintf(\"Hello, %s!\", name)\n}\n"
	after = "package greet\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\n// Bye takes leave by name.\nfunc Bye(name string) string {\n\treturn fmt.Sprintf(\"Bye, %s!\", name)\n}\n\n" +
		"// Hello greets by name.\nfunc Hello(name string) string {\n\tname = strings.TrimSpace(name)\n\tif name == \"\" {\n\t\tname = \"world\"\n\t}\n\treturn fmt.Sprintf(\"Hello, %s!\", name)\n}\n"
)

// The diff of the example obeys every rule that stands below it: a strict
// reader applies it.
func TestExampleOfAPatchApplies(t *testing.T) {
	_, rest, _ := strings.Cut(examples(run.Developer)[0], "[PATCH_BEGIN]\n")
	diff, _, _ := strings.Cut(rest, "[PATCH_END]\n")
	files, preamble, err := gitdiff.Parse(strings.NewReader(diff))
	if err != nil || preamble != "" || len(files) != 2 || !files[1].IsNew {
		t.Fatalf("%d files, preamble %q: %v", len(files), preamble, err)
	}
	var out bytes.Buffer
	if err := gitdiff.Apply(&out, strings.NewReader(before), files[0]); err != nil || out.String() != after {
		t.Errorf("%v:\n%s", err, &out)
	}
	if err := gitdiff.Apply(new(bytes.Buffer), strings.NewReader(""), files[1]); err != nil {
		t.Error(err)
	}
}

func TestExampleOfAVerdictIsOne(t *testing.T) {
	list := examples(run.Evaluator)
	if len(list) != 1 {
		t.Fatalf("%d examples", len(list))
	}
	v, err := verdict.Parse(list[0])
	if err != nil || v.Decision != verdict.Fix || len(v.Reasons) != 3 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A model that repeats its prompt has decided nothing, and above all it has
// not passed the run.
func TestEchoOfThePromptIsNoAnswer(t *testing.T) {
	p := prompt.Build(input(run.Evaluator))
	for name, text := range map[string]string{"system": p.System, "user": p.User, "all": p.Flatten()} {
		if v, err := verdict.Parse(text); err == nil {
			t.Errorf("%s prompt: %+v", name, v)
		}
	}
	for line := range strings.Lines(p.Flatten()) {
		if v, err := verdict.Parse(line); err == nil && v.Decision == verdict.Pass {
			t.Errorf("%q passes", line)
		}
	}
	for _, role := range []run.Role{run.Developer, run.Fixer} {
		p := prompt.Build(input(role))
		for name, text := range map[string]string{"system": p.System, "all": p.Flatten()} {
			if a, err := answer.Parse([]byte(text), "stop"); err == nil {
				t.Errorf("%s, %s prompt: %s", role, name, a.Kind)
			}
		}
	}
}

func TestExampleOfAPlanHasItsHeadings(t *testing.T) {
	list := examples(run.Planner)
	if len(list) != 1 {
		t.Fatalf("%d examples", len(list))
	}
	for _, part := range []string{"# Plan\n", "\n## Goal\n", "\n## Steps\n- [ ] ", "\n## Verification\n"} {
		if !strings.Contains(list[0], part) {
			t.Errorf("%q is missing", part)
		}
	}
}
