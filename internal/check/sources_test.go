package check_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/check"
)

// Finding B9: what a check runs is part of the exam.
func TestSources(t *testing.T) {
	for name, test := range map[string]struct {
		command string
		want    []string // among others
		not     []string
	}{
		"a script":                          {"./scripts/check.sh", []string{"scripts/check.sh"}, nil},
		"a script of an interpreter":        {"python tests/run.py --fast", []string{"tests/run.py"}, []string{"fast", "--fast"}},
		"a module of Python":                {"python3 -m tools.verify", []string{"tools/verify.py", "tools/verify/__main__.py"}, nil},
		"a program of Go":                   {"go run ./internal/verify", []string{"internal/verify/*.go"}, nil},
		"packages of Go are no program":     {"go test ./... ./verify", nil, []string{"verify/*.go", "*.go"}},
		"a file after a flag":               {"pytest -c cfg/test.ini --rootdir=x --junit=y/z.xml -ocfg/o.ini", []string{"cfg/test.ini", "y/z.xml", "cfg/o.ini"}, nil},
		"a file of a variable":              {"CONFIG=ci/x.conf ./run; $PWD/a.sh ${ROOT}/b.sh", []string{"ci/x.conf", "run", "a.sh", "b.sh"}, nil},
		"quoted commands":                   {`bash -c "cd web && ./check.sh; node 'a.js'"`, []string{"web/check.sh", "check.sh", "web/a.js"}, nil},
		"another directory":                 {"make -C sub -f t.mk test", []string{"sub/t.mk"}, nil},
		"names that lead outside":           {"/usr/bin/true ../x.sh ./../../y", nil, []string{"x.sh", "y", "usr/bin/true", "../x.sh"}},
		"a file pattern":                    {"sh tests/*.sh", []string{"tests/*.sh"}, nil},
		"a file that makes make do nothing": {"make test", []string{"test"}, nil},
		"behind other commands":             {"CI=1 timeout 60 poetry run python tools/t.py", []string{"tools/t.py"}, nil},
		"what is only looked at is judged":  {"test ! -e old.txt && grep -q two log.txt; if [ -f a.txt ]; then ! cat b.txt; fi; gcc -c src/a.c", nil, []string{"old.txt", "log.txt", "a.txt", "b.txt", "src/a.c"}},
		"what is compared decides":          {"./prog < in.txt | diff - expected.txt", []string{"prog", "in.txt", "expected.txt"}, nil},
		"a comment":                         {"./a.sh\n# ./b.sh", []string{"a.sh"}, []string{"b.sh"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range check.FindSources([]string{test.command, "true", ""}) {
				if slices.Contains(got, s.Path) {
					t.Errorf("got %q twice", s.Path)
				}
				got = append(got, s.Path)
			}
			for _, want := range test.want {
				if !slices.Contains(got, want) {
					t.Errorf("%q is not among %q", want, got)
				}
			}
			for _, not := range test.not {
				if slices.Contains(got, not) {
					t.Errorf("%q is among %q", not, got)
				}
			}
		})
	}
}

func TestSourcesSayHowTheyWereFound(t *testing.T) {
	want := check.Source{Path: "v.sh", Why: `named by the check "./v.sh"`}
	if got := check.FindSources([]string{"./v.sh"}); !slices.Equal(got, []check.Source{want}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func FuzzSources(f *testing.F) {
	f.Add("make -C sub test && sh -c 'cd x; ./y' - --a=$X/b")
	f.Fuzz(func(t *testing.T, command string) {
		found := check.FindSources([]string{command})
		if len(found) > 200 {
			t.Errorf("%d sources", len(found))
		}
		for _, s := range found {
			if s.Why == "" || s.Path == "" || path.IsAbs(s.Path) || path.Clean(s.Path) != s.Path || strings.HasPrefix(s.Path, "../") {
				t.Errorf("%+v", s)
			}
		}
	})
}
