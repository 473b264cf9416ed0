package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
)

// maxManifest bounds what is read of a file that may hold a check.
const maxManifest = 1 << 20

// Choice is a check that was found in a repository.
type Choice struct {
	Command string
	Why     string // for the user: the file that it comes from
}

// Detected is what a repository offers.
type Detected struct {
	Choices []Choice
	Notes   []string // files that look like a source of checks and are none, with the reason
}

// Commands are the commands alone.
func (d Detected) Commands() []string {
	var commands []string
	for _, c := range d.Choices {
		commands = append(commands, c.Command)
	}
	return commands
}

// Detect finds the checks of a repository in the files of its top level; each kind of project that is there gives one. ok is
// false when there is none. Nothing is run, and files that cannot be read are noted.
func Detect(repo fs.FS) (_ Detected, ok bool) {
	d := detector{repo: repo}
	d.golang()
	d.node()
	d.python()
	d.cargo()
	d.jvm()
	d.makefile()
	return d.found, len(d.found.Choices) > 0
}

type detector struct {
	repo  fs.FS
	found Detected
}

func (d *detector) choose(command, why string) {
	d.found.Choices = append(d.found.Choices, Choice{Command: command, Why: why})
}

func (d *detector) note(format string, args ...any) {
	d.found.Notes = append(d.found.Notes, fmt.Sprintf(format, args...))
}

func (d *detector) golang() {
	if d.has("go.mod") {
		d.choose("go test ./...", "go.mod")
	}
}

func (d *detector) cargo() {
	if d.has("Cargo.toml") {
		d.choose("cargo test", "Cargo.toml")
	}
}

// jvm prefers the wrapper that the repository brings along.
func (d *detector) jvm() {
	for _, tool := range []struct{ file, command string }{
		{"gradlew", "./gradlew test"},
		{"build.gradle", "gradle test"},
		{"build.gradle.kts", "gradle test"},
		{"mvnw", "./mvnw test"},
		{"pom.xml", "mvn test"},
	} {
		if d.has(tool.file) {
			d.choose(tool.command, tool.file)
			return
		}
	}
}

// makeTarget is a rule for test, alone or among others; an assignment (test := x) is none.
var makeTarget = regexp.MustCompile(`(?m)^(?:[^\s:=#][^:=#\n]*[ \t])?test(?:[ \t][^:=#\n]*)?::?(?:[^:=\n].*)?$`)

func (d *detector) makefile() {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} { // the order in which make looks
		text, ok := d.read(name)
		if !ok {
			continue
		}
		if makeTarget.MatchString(text) {
			d.choose("make test", "target test in "+name)
		} else {
			d.note("%s has no target test", name)
		}
		return
	}
}

// npmDefault is in the test script that npm init writes.
const npmDefault = "no test specified"

func (d *detector) node() {
	text, ok := d.read("package.json")
	if !ok {
		return
	}
	var manifest struct {
		PackageManager string `json:"packageManager"`
		Scripts        struct {
			Test string `json:"test"`
		} `json:"scripts"`
	}
	if err := json.Unmarshal([]byte(text), &manifest); err != nil {
		d.note("package.json cannot be read: %v", err)
		return
	}
	switch test := strings.TrimSpace(manifest.Scripts.Test); {
	case test == "":
		d.note("package.json has no test script")
	case strings.Contains(test, npmDefault):
		d.note("package.json has only the test script that npm init writes")
	default:
		manager, why := d.nodeManager(manifest.PackageManager)
		d.choose(nodeTest[manager], "test script in package.json, "+why)
	}
}

// nodeTest is how each package manager runs the script; bun test would start bun's own test runner.
var nodeTest = map[string]string{"npm": "npm test", "pnpm": "pnpm test", "yarn": "yarn test", "bun": "bun run test"}

// nodeManager is what the manifest declares, else what left its lock file, else npm.
func (d *detector) nodeManager(declared string) (manager, why string) {
	name, _, _ := strings.Cut(declared, "@")
	if nodeTest[name] != "" {
		return name, "packageManager is " + declared
	}
	for _, lock := range []struct{ file, manager string }{
		{"pnpm-lock.yaml", "pnpm"},
		{"yarn.lock", "yarn"},
		{"package-lock.json", "npm"},
		{"bun.lock", "bun"},
		{"bun.lockb", "bun"},
	} {
		if d.has(lock.file) {
			return lock.manager, "package manager by " + lock.file
		}
	}
	return "npm", "npm for want of a lock file"
}

func (d *detector) python() {
	const command = "python3 -m pytest"
	for _, sign := range []struct {
		file string
		form *regexp.Regexp // nil: the file alone is enough
	}{
		{file: "pytest.ini"},
		{file: "pyproject.toml", form: regexp.MustCompile(`(?m)^\s*\[(?:project|build-system|tool\.poetry|tool\.pytest)[].]`)},
		{file: "setup.cfg", form: regexp.MustCompile(`(?m)^\[(?:metadata|options|tool:pytest)`)},
		{file: "setup.py"},
		{file: "conftest.py"},
	} {
		text, ok := d.read(sign.file)
		if !ok {
			continue
		}
		if sign.form == nil || sign.form.MatchString(text) {
			d.choose(command, sign.file)
			return
		}
		d.note("%s describes no Python project", sign.file)
	}
	for _, pattern := range []string{"tests/test_*.py", "tests/*_test.py", "tests/*/test_*.py", "test_*.py"} {
		if names, err := fs.Glob(d.repo, pattern); err == nil && len(names) > 0 {
			d.choose(command, names[0])
			return
		}
	}
}

// has says whether a regular file of that name is there.
func (d *detector) has(name string) bool {
	info, err := fs.Stat(d.repo, name)
	return err == nil && info.Mode().IsRegular()
}

func (d *detector) read(name string) (string, bool) {
	if !d.has(name) {
		return "", false
	}
	text, err := readManifest(d.repo, name)
	if err != nil {
		d.note("%s cannot be read: %v", name, err)
	}
	return text, err == nil
}

func readManifest(repo fs.FS, name string) (string, error) {
	file, err := repo.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = errors.New("too long")
	}
	return string(text), err
}
