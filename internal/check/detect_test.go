package check_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ratchet-dev/ratchet/internal/check"
)

func repository(files map[string]string) fstest.MapFS {
	repo := fstest.MapFS{}
	for name, text := range files {
		repo[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o755}
	}
	return repo
}

const (
	jest    = `{"scripts":{"test":"jest"}}`
	depends = `{"devDependencies":{"jest":"^30"},"scripts":{"test":"jest"}}`
)

func TestDetect(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
		say   string // a part of a reason or a note
	}{
		"nothing":                              {nil, nil, ""},
		"go":                                   {map[string]string{"go.mod": "module x"}, []string{"go test ./..."}, "go.mod"},
		"go below the top level":               {map[string]string{"sub/go.mod": "module x"}, []string{"cd sub && go test ./..."}, "sub: go.mod"},
		"projects two levels below":            {map[string]string{"go/go.mod": "", "js/fmt/package.json": jest, "js/fmt/a/b/go.mod": "", "vendor/x/go.mod": "", ".x/go.mod": ""}, []string{"cd go && go test ./...", "cd js/fmt && npm test"}, ""},
		"projects below one of the top level":  {map[string]string{"go.mod": "", "js/package.json": jest}, []string{"go test ./..."}, ""},
		"a directory that needs quotes":        {map[string]string{"a b/go.mod": "", "$(x)/go.mod": ""}, nil, ""},
		"many projects below":                  {map[string]string{"a/go.mod": "", "b/go.mod": "", "c/go.mod": "", "d/go.mod": "", "e/go.mod": ""}, nil, "5 projects are in subdirectories"},
		"a workspace of go":                    {map[string]string{"go.work": "go 1.26\n\nuse ./a\n", "a/go.mod": ""}, []string{"go test ./a/..."}, "go.work"},
		"a workspace of several modules":       {map[string]string{"go.work": "go 1.26\nuse (\n\t. // this\n\t./b/c\n)\n", "go.mod": ""}, []string{"go test ./...", "go test ./b/c/..."}, ""},
		"a workspace of none":                  {map[string]string{"go.work": "go 1.26\n", "go.mod": ""}, []string{"go test ./..."}, ""},
		"node with a byte order mark":          {map[string]string{"package.json": "\ufeff" + jest}, []string{"npm test"}, ""},
		"unittest alone":                       {map[string]string{"tests/test_a.py": "import unittest\n", "pyproject.toml": "[project]\n"}, []string{"python3 -m unittest discover -s tests"}, "pyproject.toml"},
		"unittest in a package":                {map[string]string{"tests/__init__.py": "", "tests/test_a.py": "from unittest import TestCase\n"}, []string{"python3 -m unittest discover"}, ""},
		"unittest beside pytest":               {map[string]string{"tests/test_a.py": "import unittest\n", "requirements-dev.txt": "pytest==8\n"}, []string{"python3 -m pytest"}, ""},
		"pytest in one of the tests":           {map[string]string{"tests/test_a.py": "import unittest\n", "tests/test_b.py": "import pytest\n"}, []string{"python3 -m pytest"}, ""},
		"tox.ini with options for pytest":      {map[string]string{"tox.ini": "[pytest]\n"}, []string{"python3 -m pytest"}, "tox.ini"},
		"django":                               {map[string]string{"manage.py": "import django\n"}, []string{"python3 manage.py test"}, "manage.py"},
		"a just file":                          {map[string]string{"justfile": "test:\n"}, nil, "found justfile: name its check, such as --check 'just test'"},
		"a hidden just file":                   {map[string]string{".justfile": "test:\n"}, nil, "found .justfile: name its check, such as --check 'just test'"},
		"a task file for others":               {map[string]string{"Taskfile.dist.yml": ""}, nil, "found Taskfile.dist.yml"},
		"a solution in XML":                    {map[string]string{"x.slnx": ""}, nil, "dotnet test"},
		"a workspace of bazel":                 {map[string]string{"WORKSPACE.bazel": ""}, nil, "bazel test //..."},
		"nox":                                  {map[string]string{"noxfile.py": ""}, nil, "found noxfile.py"},
		"leiningen":                            {map[string]string{"project.clj": ""}, nil, "lein test"},
		"autoconf":                             {map[string]string{"configure.ac": ""}, nil, "make check"},
		"gradle by its settings":               {map[string]string{"settings.gradle.kts": ""}, []string{"gradle test"}, ""},
		"a build file below":                   {map[string]string{"src/App/App.csproj": ""}, nil, "src/App: found App.csproj: name its check"},
		"a build file below beside a check":    {map[string]string{"a/go.mod": "", "b/Gemfile": ""}, []string{"cd a && go test ./..."}, ""},
		"pyproject with a byte order mark":     {map[string]string{"pyproject.toml": "\ufeff[project]\n"}, []string{"python3 -m pytest"}, ""},
		"a workspace with a byte order mark":   {map[string]string{"go.work": "\ufeffuse ./a\r\n", "a/go.mod": ""}, []string{"go test ./a/..."}, ""},
		"a script of another name":             {map[string]string{"package.json": `{"scripts":{"test:unit":"x"}}`}, nil, "name another, such as --check 'npm run test:unit'"},
		"make with a target check":             {map[string]string{"Makefile": "check:\n\ttrue\n"}, nil, "such as --check 'make check'"},
		"a composer file":                      {map[string]string{"composer.json": "{}"}, nil, "found composer.json"},
		"a mix file":                           {map[string]string{"mix.exs": ""}, nil, "found mix.exs"},
		"a configuration of deno":              {map[string]string{"deno.json": "{}"}, nil, "found deno.json"},
		"a gem file":                           {map[string]string{"Gemfile": ""}, nil, "found Gemfile"},
		"a solution":                           {map[string]string{"x.sln": ""}, nil, "found x.sln: name its check, such as --check 'dotnet test'"},
		"a build file beside a check":          {map[string]string{"go.mod": "", "CMakeLists.txt": ""}, []string{"go test ./..."}, "found CMakeLists.txt"},
		"gradle's wrapper with CR LF":          {map[string]string{"gradlew": "#!/bin/sh\r\n", "build.gradle": ""}, []string{"gradle test"}, "end in CR LF"},
		"cargo":                                {map[string]string{"Cargo.toml": ""}, []string{"cargo test"}, "Cargo.toml"},
		"node without a lock file":             {map[string]string{"package.json": jest}, []string{"npm test"}, "npm, because there is no lock file"},
		"node with npm's lock file":            {map[string]string{"package.json": jest, "package-lock.json": ""}, []string{"npm test"}, "package-lock.json"},
		"node with pnpm's lock file":           {map[string]string{"package.json": jest, "pnpm-lock.yaml": ""}, []string{"pnpm test"}, "pnpm-lock.yaml"},
		"node with yarn's lock file":           {map[string]string{"package.json": jest, "yarn.lock": ""}, []string{"yarn test"}, "yarn.lock"},
		"node with bun's lock file":            {map[string]string{"package.json": jest, "bun.lock": ""}, []string{"bun run test"}, "bun.lock"},
		"npm with dependencies":                {map[string]string{"package.json": depends, "package-lock.json": ""}, []string{"npm ci --prefer-offline --no-audit --no-fund && npm test"}, ""},
		"npm with a lock file of its package":  {map[string]string{"package.json": depends, "npm-shrinkwrap.json": ""}, []string{"npm ci --prefer-offline --no-audit --no-fund && npm test"}, ""},
		"npm with workspaces":                  {map[string]string{"package.json": `{"workspaces":["a"],"scripts":{"test":"x"}}`, "package-lock.json": ""}, []string{"npm ci --prefer-offline --no-audit --no-fund && npm test"}, ""},
		"dependencies without a lock file":     {map[string]string{"package.json": depends}, []string{"npm test"}, ""},
		"pnpm with dependencies":               {map[string]string{"package.json": `{"dependencies":{"x":"1"},"scripts":{"test":"x"}}`, "pnpm-lock.yaml": ""}, []string{"pnpm install --frozen-lockfile --prefer-offline && pnpm test"}, ""},
		"pnpm with a workspace":                {map[string]string{"package.json": jest, "pnpm-lock.yaml": "", "pnpm-workspace.yaml": ""}, []string{"pnpm install --frozen-lockfile --prefer-offline && pnpm test"}, ""},
		"yarn 1 with dependencies":             {map[string]string{"package.json": depends, "yarn.lock": ""}, []string{"yarn install --frozen-lockfile --prefer-offline && yarn test"}, ""},
		"yarn 2 on with dependencies":          {map[string]string{"package.json": depends, "yarn.lock": "", ".yarnrc.yml": ""}, []string{"yarn install --immutable && yarn test"}, ""},
		"lock files in their order":            {map[string]string{"package.json": jest, "yarn.lock": "", "pnpm-lock.yaml": "", "package-lock.json": ""}, []string{"pnpm test"}, ""},
		"declared manager beats the lock file": {map[string]string{"package.json": `{"packageManager":"yarn@4.1.0+sha224.abc","scripts":{"test":"x"}}`, "pnpm-lock.yaml": ""}, []string{"yarn test"}, "yarn@4.1.0"},
		"declared manager that nobody knows":   {map[string]string{"package.json": `{"packageManager":"vlt@1","scripts":{"test":"x"}}`, "pnpm-lock.yaml": ""}, []string{"pnpm test"}, ""},
		"node with the placeholder of npm":     {map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, nil, "npm init"},
		"node without a test script":           {map[string]string{"package.json": `{"scripts":{"build":"x"}}`}, nil, "no test script"},
		"node with broken JSON":                {map[string]string{"package.json": `{"scripts":`}, nil, "cannot read"},
		"node with a script of the wrong type": {map[string]string{"package.json": `{"scripts":{"test":3}}`}, nil, "cannot read"},
		"package.json beyond all measure":      {map[string]string{"package.json": strings.Repeat(" ", 2<<20) + jest}, nil, "too long"},
		"pytest.ini":                           {map[string]string{"pytest.ini": ""}, []string{"python3 -m pytest"}, "pytest.ini"},
		"pyproject of a project":               {map[string]string{"pyproject.toml": "[project]\nname = 'x'\n"}, []string{"python3 -m pytest"}, "pyproject.toml"},
		"pyproject with options for pytest":    {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n"}, []string{"python3 -m pytest"}, ""},
		"pyproject of a linter alone":          {map[string]string{"pyproject.toml": "[tool.ruff]\n"}, nil, "no Python project"},
		"setup.cfg with options for pytest":    {map[string]string{"setup.cfg": "[tool:pytest]\n"}, []string{"python3 -m pytest"}, ""},
		"tests in Python":                      {map[string]string{"tests/test_a.py": ""}, []string{"python3 -m pytest"}, "tests/test_a.py"},
		"tests in Python beside the code":      {map[string]string{"test_a.py": ""}, []string{"python3 -m pytest"}, ""},
		"tests in another language":            {map[string]string{"tests/a.c": ""}, nil, ""},
		"gradle's wrapper":                     {map[string]string{"gradlew": "", "build.gradle": "", "pom.xml": ""}, []string{"./gradlew test"}, ""},
		"gradle in Kotlin":                     {map[string]string{"build.gradle.kts": ""}, []string{"gradle test"}, ""},
		"maven":                                {map[string]string{"pom.xml": ""}, []string{"mvn test"}, ""},
		"make":                                 {map[string]string{"Makefile": "all: x\n\ntest: all\n\t./run\n"}, []string{"make test"}, "target test in Makefile"},
		"make with several targets in a rule":  {map[string]string{"Makefile": "check test lint: all\n"}, []string{"make test"}, ""},
		"make with a double colon":             {map[string]string{"Makefile": "test::\n\ttrue\n"}, []string{"make test"}, ""},
		"make with Windows line ends":          {map[string]string{"Makefile": "test:\r\n\ttrue\r\n"}, []string{"make test"}, ""},
		"make without the target":              {map[string]string{"Makefile": ".PHONY: test\ntest-all: x\nmytest:\n"}, nil, "no target test"},
		"make with a variable of that name":    {map[string]string{"Makefile": "test := x\ntest ::= y\n# test: no\n\ttest: recipe\n"}, nil, "no target test"},
		"make reads the first of its files":    {map[string]string{"GNUmakefile": "all:\n", "Makefile": "test:\n"}, nil, "GNUmakefile"},
		"several kinds":                        {map[string]string{"go.mod": "", "package.json": jest, "Makefile": "test:\n"}, []string{"go test ./...", "npm test", "make test"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := check.Detect(repository(test.files))
			if !slices.Equal(got.CommandList(), test.want) || ok != (len(test.want) > 0) {
				t.Fatalf("got %+v, %t; want %q", got, ok, test.want)
			}
			said := strings.Join(got.Notes, "\n")
			for _, c := range got.Choices {
				if c.Why == "" {
					t.Errorf("%s is chosen for no reason", c.Command)
				}
				said += "\n" + c.Why
			}
			if !strings.Contains(said, test.say) {
				t.Errorf("said %q; want %q", said, test.say)
			}
		})
	}
}

func TestAWrapperThatIsNotExecutable(t *testing.T) {
	repo := fstest.MapFS{"gradlew": {Mode: 0o644}}
	if got, _ := check.Detect(repo); !slices.Equal(got.CommandList(), []string{"sh ./gradlew test"}) {
		t.Errorf("got %+v, want a check by sh", got)
	}
}

func TestDetectPassesOverWhatIsNoFile(t *testing.T) {
	repo := fstest.MapFS{
		"go.mod":       {Mode: fs.ModeDir | 0o755},
		"package.json": {Mode: fs.ModeNamedPipe | 0o644},
	}
	if got, ok := check.Detect(repo); ok {
		t.Errorf("got %+v", got)
	}
}
