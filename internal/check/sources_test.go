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
		commands []string
		files    map[string]string
		want     []string // among others
		not      []string
	}{
		"a script":                          {[]string{"./scripts/check.sh"}, nil, []string{"scripts/check.sh"}, nil},
		"a script of an interpreter":        {[]string{"python tests/run.py --fast"}, nil, []string{"tests/run.py"}, []string{"fast", "--fast"}},
		"a module of Python":                {[]string{"python3 -m tools.verify"}, nil, []string{"tools/verify.py", "tools/verify/__main__.py"}, nil},
		"a directory that is run":           {[]string{"node tools/verify"}, nil, []string{"tools/verify.js", "tools/verify/index.js"}, nil},
		"a program of Go":                   {[]string{"go run ./internal/verify"}, nil, []string{"internal/verify/*.go"}, nil},
		"packages of Go are no program":     {[]string{"go test ./... ./verify"}, nil, nil, []string{"verify/*.go", "*.go"}},
		"a file after a flag":               {[]string{"pytest -c cfg/test.ini --rootdir=x --junit=y/z.xml -ocfg/o.ini"}, nil, []string{"cfg/test.ini", "y/z.xml", "cfg/o.ini"}, nil},
		"a file of a variable":              {[]string{"CONFIG=ci/x.conf ./run", "$PWD/a.sh", "${ROOT}/b.sh"}, nil, []string{"ci/x.conf", "run", "a.sh", "b.sh"}, nil},
		"quoted commands":                   {[]string{`bash -c "cd web && ./check.sh; node 'a.js'"`}, nil, []string{"web/check.sh", "check.sh", "web/a.js"}, nil},
		"another directory":                 {[]string{"make -C sub test", "npm --prefix web test"}, map[string]string{"sub/Makefile": "test:\n\t./t.sh\n", "sub/t.sh": "true", "web/package.json": `{"scripts":{"test":"node t.js"}}`, "web/t.js": "x"}, []string{"sub/Makefile", "sub/t.sh", "web/package.json", "web/t.js"}, nil},
		"names that lead outside":           {[]string{"/usr/bin/true ../x.sh ./../../y"}, nil, nil, []string{"x.sh", "y", "usr/bin/true", "../x.sh"}},
		"a file pattern":                    {[]string{"sh tests/*.sh"}, nil, []string{"tests/*.sh"}, nil},
		"make":                              {[]string{"make test"}, map[string]string{"Makefile": "test: unit\n\t@echo\nunit:\n\t@bash scripts/unit.sh\nserve:\n\tnode src/server.js\n", "scripts/unit.sh": "./scripts/more.sh\n", "scripts/more.sh": "true", "src/server.js": "x"}, []string{"Makefile", "scripts/unit.sh", "scripts/more.sh"}, []string{"src/server.js"}},
		"make without a target":             {[]string{"make"}, map[string]string{"Makefile": ".PHONY: all\nall: ; ./first.sh\nother:\n\t./other.sh\n", "first.sh": "x", "other.sh": "x"}, []string{"first.sh"}, []string{"other.sh"}},
		"make that calls itself":            {[]string{"make test"}, map[string]string{"Makefile": "test:\n\t$(MAKE) unit\nunit:\n\t./unit.sh\n\t$(MAKE) test\n", "unit.sh": "x"}, []string{"unit.sh"}, nil},
		"a makefile that is included":       {[]string{"make test"}, map[string]string{"Makefile": "include build/rules.inc\n-include local.inc $(TOP)/x.inc\n", "build/rules.inc": "test:\n\t./t.sh\n", "t.sh": "x"}, []string{"build/rules.inc", "local.inc", "x.inc", "t.sh"}, nil},
		"what makes make skip a target":     {[]string{"make test"}, map[string]string{"Makefile": ".PHONY: lint\ntest: lint unit\nlint:\n\ttrue\nunit:\n\ttrue\nother:\n\ttrue\n"}, []string{"test", "test/", "unit", "unit/"}, []string{"lint", "lint/", "other"}},
		"phony by a variable, or by force":  {[]string{"make test unit"}, map[string]string{"Makefile": ".PHONY: $(ALL)\ntest:\n\ttrue\nunit: FORCE\n\ttrue\n"}, nil, []string{"test/", "unit/"}},
		"makefiles that include each other": {[]string{"make test"}, map[string]string{"Makefile": "include a.inc\n", "a.inc": "include Makefile\n"}, []string{"a.inc"}, nil},
		"a pattern rule":                    {[]string{"make test"}, map[string]string{"Makefile": "test: a.ok\n%.ok: %.in\n\t./judge $< > $@\n", "judge": "x"}, []string{"judge"}, nil},
		"a script of npm and those around":  {[]string{"npm test"}, map[string]string{"package.json": `{"scripts":{"pretest":"sh pre.sh","test":"npm run unit && tsc","unit":"node unit.mjs --x","start":"node src/index.js"}}`, "pre.sh": "x", "unit.mjs": "x", "src/index.js": "x"}, []string{"package.json", "pre.sh", "unit.mjs"}, []string{"src/index.js"}},
		"what npm runs when it installs":    {[]string{"npm ci && npm t"}, map[string]string{"package.json": `{"scripts":{"prepare":"node prep.js","preinstall":"node pre.js","test":"node t.js"}}`, "prep.js": "x", "t.js": "x"}, []string{"prep.js", "t.js"}, []string{"pre.js"}},
		"scripts that call each other":      {[]string{"npm test"}, map[string]string{"package.json": `{"scripts":{"test":"npm run a","a":"npm test"}}`}, []string{"package.json"}, nil},
		"a broken package.json":             {[]string{"npm test"}, map[string]string{"package.json": `{"scripts":`}, []string{"package.json"}, nil},
		"a script that sources another":     {[]string{"./check"}, map[string]string{"check": "#!/usr/bin/env bash\n# see ./comment.sh\nset -e\n. lib/env.sh\nif ./probe; then python3 tools/judge.py src/app.py; fi\n", "lib/env.sh": "x", "probe": "x", "tools/judge.py": "x", "src/app.py": "x", "comment.sh": "x"}, []string{"lib/env.sh", "probe", "tools/judge.py"}, []string{"src/app.py", "comment.sh"}},
		"a script beside the one it runs":   {[]string{"sh ci/check.sh"}, map[string]string{"ci/check.sh": "./more.sh\n", "ci/more.sh": "x"}, []string{"ci/more.sh"}, nil},
		"a compiler's files are the code":   {[]string{"make test"}, map[string]string{"Makefile": "test:\n\tgcc -o t src/main.c && ./t\n", "src/main.c": "x"}, nil, []string{"src/main.c"}},
		"just":                              {[]string{"just test"}, map[string]string{"justfile": "test:\n    ./t.sh\n", "t.sh": "x"}, []string{"justfile", "t.sh"}, nil},
		"invoke":                            {[]string{"invoke test"}, map[string]string{"tasks.py": "x"}, []string{"tasks.py"}, nil},
		"behind other commands":             {[]string{"CI=1 timeout 60 poetry run python tools/t.py"}, nil, []string{"tools/t.py"}, nil},
		"what is only looked at is judged":  {[]string{"test ! -e old.txt && grep -q two log.txt", "if [ -f a.txt ]; then ! cat b.txt; fi", "gcc -c src/a.c"}, nil, nil, []string{"old.txt", "log.txt", "a.txt", "b.txt", "src/a.c"}},
		"what is compared decides":          {[]string{"./prog < in.txt | diff - expected.txt"}, nil, []string{"prog", "in.txt", "expected.txt"}, nil},
		"nothing to be found":               {[]string{"true", ""}, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range check.FindSources(test.commands, func(file string) (string, bool) {
				if path.IsAbs(file) || path.Clean(file) != file || strings.HasPrefix(file, "..") {
					t.Errorf("asked about %q", file)
				}
				text, ok := test.files[file]
				return text, ok
			}) {
				if s.Why == "" || slices.Contains(got, s.Path) {
					t.Errorf("%+v", s)
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
	files := map[string]string{"Makefile": "include x.inc\ntest:\n\t./t.sh\n", "t.sh": "./u.sh\n", "u.sh": ""}
	want := map[string]string{"Makefile": `read by the check "make test"`, "x.inc": "included by Makefile", "t.sh": "run by Makefile", "u.sh": "run by t.sh", "v.sh": `named by the check "v.sh"`}
	for _, s := range check.FindSources([]string{"make test", "v.sh"}, func(file string) (string, bool) { text, ok := files[file]; return text, ok }) {
		if why, ok := want[s.Path]; ok && why != s.Why {
			t.Errorf("%s: got %q, want %q", s.Path, s.Why, why)
		}
		delete(want, s.Path)
	}
	if len(want) > 0 {
		t.Errorf("not found: %q", want)
	}
}

// The search for the sources ends soon, whatever the repository holds.
func TestSourcesOfAHostileRepository(t *testing.T) {
	for name, text := range map[string]string{
		"many targets":     strings.Repeat("a ", 60_000) + ":\n" + strings.Repeat("\t./x\n", 20_000),
		"many calls":       strings.Repeat("test:\n\tmake a; cd b; make c\n", 5_000),
		"many directories": strings.Repeat("test: ; cd a/b/c && ./x && cd d\n", 5_000),
		"many needs":       "test: " + strings.Repeat("b ", 40_000) + "\nb:\n.PHONY: " + strings.Repeat("c ", 40_000) + "\n",
		"many includes":    strings.Repeat("include x.mk Makefile y/z.mk\n", 8_000),
	} {
		t.Run(name, func(t *testing.T) {
			if n := len(check.FindSources([]string{"make test"}, func(string) (string, bool) { return text, true })); n > 200 {
				t.Errorf("%d sources", n)
			}
		})
	}
}

func FuzzSources(f *testing.F) {
	f.Add("make -C sub test && sh -c 'cd x; ./y' -", "include a.mk\ntest: b ; c\n\t@./d\n%.o:\n\t$(MAKE) e\n")
	f.Add("npm ci; npm t", `{"scripts":{"test":"node -r ./a b","prepare":"$X/y"}}`)
	f.Fuzz(func(t *testing.T, command, text string) {
		for _, s := range check.FindSources([]string{command}, func(string) (string, bool) { return text, true }) {
			if s.Why == "" || s.Path == "" || path.IsAbs(s.Path) || path.Clean(s.Path) != strings.TrimSuffix(s.Path, "/") || strings.HasPrefix(s.Path, "../") {
				t.Errorf("%+v", s)
			}
		}
	})
}
