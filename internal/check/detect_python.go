package check

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Signs of a test runner in the files of a Python project.
var (
	namesPytest   = regexp.MustCompile(`(?m)\bpytest\b`)
	namesUnittest = regexp.MustCompile(`(?m)^\s*(?:import|from) unittest\b`)
)

func (d *detector) detectPython() {
	for _, sign := range []struct {
		file string
		form *regexp.Regexp // nil: the file alone is enough
	}{
		{file: "pytest.ini"},
		{file: "tox.ini", form: regexp.MustCompile(`(?m)^\[pytest\]`)},
		{file: "pyproject.toml", form: regexp.MustCompile(`(?m)^\s*\[(?:project|build-system|tool\.poetry|tool\.pytest)[].]`)},
		{file: "setup.cfg", form: regexp.MustCompile(`(?m)^\[(?:metadata|options|tool:pytest)`)},
		{file: "setup.py"},
		{file: "conftest.py"},
	} {
		text, ok := d.readFile(sign.file)
		if !ok {
			continue
		}
		if sign.form == nil || sign.form.MatchString(text) {
			d.addChoice(d.pythonTest(), sign.file)
			return
		}
		d.addNote("%s describes no Python project", sign.file)
	}
	if d.hasFile("manage.py") && !d.saysPytest() {
		d.addChoice("python3 manage.py test", "manage.py")
		return
	}
	if names := d.pythonTests(); len(names) > 0 {
		d.addChoice(d.pythonTest(), names[0])
	}
}

// pythonTests returns files with tests.
func (d *detector) pythonTests() (names []string) {
	for _, pattern := range []string{"tests/test_*.py", "tests/*_test.py", "tests/*/test_*.py", "test/test_*.py", "test_*.py"} {
		if found, err := fs.Glob(d.repo, pattern); err == nil {
			names = append(names, found...)
		}
	}
	return names
}

// saysPytest reports whether a file of the project names pytest.
func (d *detector) saysPytest() bool {
	if slices.ContainsFunc([]string{"pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py"}, d.hasFile) {
		return true
	}
	requirements, _ := fs.Glob(d.repo, "*requirements*.txt")
	for _, name := range append(requirements, "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Pipfile", "uv.lock", "poetry.lock") {
		if text, ok := d.readFile(name); ok && namesPytest.MatchString(text) {
			return true
		}
	}
	return false
}

// pythonTest returns the command for the runner of the project: unittest where its tests import it and nothing names
// pytest, which need not be installed then.
func (d *detector) pythonTest() string {
	const pytest = "python3 -m pytest"
	names := d.pythonTests()
	if len(names) == 0 || d.saysPytest() {
		return pytest
	}
	for _, name := range names[:min(len(names), maxRead)] {
		text, ok := d.readFile(name)
		if !ok || namesPytest.MatchString(text) || !namesUnittest.MatchString(text) {
			return pytest
		}
	}
	dir, _, below := strings.Cut(names[0], "/")
	if below && !d.hasFile(dir+"/__init__.py") {
		return "python3 -m unittest discover -s " + dir
	}
	return "python3 -m unittest discover"
}

// maxRead is the most files with tests that are read.
const maxRead = 20
