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

// maxManifest bounds the bytes read of a file that may hold a check.
const maxManifest = 1 << 20

// Choice is a check that was found in a repository.
type Choice struct {
	Command string
	Why     string // for the user: the file that it comes from
}

// Detected holds the checks that a repository offers.
type Detected struct {
	Choices []Choice
	Notes   []string // files that look like a source of checks but are not, with the reason
}

// CommandList returns the commands alone.
func (d Detected) CommandList() []string {
	var commands []string
	for _, c := range d.Choices {
		commands = append(commands, c.Command)
	}
	return commands
}

// Detect finds the checks of a repository in the files of its top level. Each kind of project that is
// there gives one check. ok is false if there is none. Detect runs nothing, and notes files that it cannot
// read.
func Detect(repo fs.FS) (_ Detected, ok bool) {
	d := detector{repo: repo}
	d.detectGo()
	d.detectNode()
	d.detectPython()
	d.detectCargo()
	d.detectJVM()
	d.detectMake()
	return d.found, len(d.found.Choices) > 0
}

// detector collects the checks of a repository.
type detector struct {
	repo  fs.FS
	found Detected
}

// addChoice adds a check.
func (d *detector) addChoice(command, why string) {
	d.found.Choices = append(d.found.Choices, Choice{Command: command, Why: why})
}

// addNote adds a note.
func (d *detector) addNote(format string, args ...any) {
	d.found.Notes = append(d.found.Notes, fmt.Sprintf(format, args...))
}

func (d *detector) detectGo() {
	if d.hasFile("go.mod") {
		d.addChoice("go test ./...", "go.mod")
	}
}

func (d *detector) detectCargo() {
	if d.hasFile("Cargo.toml") {
		d.addChoice("cargo test", "Cargo.toml")
	}
}

// detectJVM prefers the wrapper that the repository contains.
func (d *detector) detectJVM() {
	for _, tool := range []struct{ file, command string }{
		{"gradlew", "./gradlew test"},
		{"build.gradle", "gradle test"},
		{"build.gradle.kts", "gradle test"},
		{"mvnw", "./mvnw test"},
		{"pom.xml", "mvn test"},
	} {
		if d.hasFile(tool.file) {
			d.addChoice(tool.command, tool.file)
			return
		}
	}
}

// makeTarget is a rule for test, alone or among others; an assignment (test := x) is not a rule.
var makeTarget = regexp.MustCompile(`(?m)^(?:[^\s:=#][^:=#\n]*[ \t])?test(?:[ \t][^:=#\n]*)?::?(?:[^:=\n].*)?$`)

func (d *detector) detectMake() {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} { // the order in which make looks
		text, ok := d.readFile(name)
		if !ok {
			continue
		}
		if makeTarget.MatchString(text) {
			d.addChoice("make test", "target test in "+name)
		} else {
			d.addNote("%s has no target test", name)
		}
		return
	}
}

// npmDefault is part of the test script that npm init writes.
const npmDefault = "no test specified"

func (d *detector) detectNode() {
	text, ok := d.readFile("package.json")
	if !ok {
		return
	}
	var manifest struct {
		PackageManager  string          `json:"packageManager"`
		Dependencies    map[string]any  `json:"dependencies"`
		DevDependencies map[string]any  `json:"devDependencies"`
		Workspaces      json.RawMessage `json:"workspaces"`
		Scripts         struct {
			Test string `json:"test"`
		} `json:"scripts"`
	}
	if err := json.Unmarshal([]byte(text), &manifest); err != nil {
		d.addNote("package.json cannot be read: %v", err)
		return
	}
	switch test := strings.TrimSpace(manifest.Scripts.Test); {
	case test == "":
		d.addNote("package.json has no test script")
	case strings.Contains(test, npmDefault):
		d.addNote("package.json has only the test script that npm init writes")
	default:
		manager, why := d.nodeManager(manifest.PackageManager)
		command := nodeTest[manager]
		workspaces := len(manifest.Workspaces) > 0 || d.hasFile("pnpm-workspace.yaml") // their packages may depend on others
		if install := d.nodeInstall(manager); install != "" && (workspaces || len(manifest.Dependencies)+len(manifest.DevDependencies) > 0) {
			command = install + " && " + command
		}
		d.addChoice(command, "test script in package.json, "+why)
	}
}

// nodeTest is how each package manager runs the script; bun test would start bun's own test runner.
var nodeTest = map[string]string{"npm": "npm test", "pnpm": "pnpm test", "yarn": "yarn test", "bun": "bun run test"}

// nodeInstall returns the command that makes node_modules, which no commit has, as the lock file says: from the
// caches where they have all of it. It is empty without a lock file.
func (d *detector) nodeInstall(manager string) string {
	switch {
	case manager == "npm" && (d.hasFile("package-lock.json") || d.hasFile("npm-shrinkwrap.json")):
		return "npm ci --prefer-offline --no-audit --no-fund"
	case manager == "pnpm" && d.hasFile("pnpm-lock.yaml"):
		return "pnpm install --frozen-lockfile --prefer-offline"
	case manager == "yarn" && d.hasFile("yarn.lock") && d.hasFile(".yarnrc.yml"):
		return "yarn install --immutable"
	case manager == "yarn" && d.hasFile("yarn.lock"):
		return "yarn install --frozen-lockfile --prefer-offline"
	}
	return ""
}

// nodeManager returns the package manager that the manifest declares, else the one whose lock file is
// there, else npm.
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
		if d.hasFile(lock.file) {
			return lock.manager, "package manager by " + lock.file
		}
	}
	return "npm", "npm for want of a lock file"
}

func (d *detector) detectPython() {
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
		text, ok := d.readFile(sign.file)
		if !ok {
			continue
		}
		if sign.form == nil || sign.form.MatchString(text) {
			d.addChoice(command, sign.file)
			return
		}
		d.addNote("%s describes no Python project", sign.file)
	}
	for _, pattern := range []string{"tests/test_*.py", "tests/*_test.py", "tests/*/test_*.py", "test_*.py"} {
		if names, err := fs.Glob(d.repo, pattern); err == nil && len(names) > 0 {
			d.addChoice(command, names[0])
			return
		}
	}
}

// hasFile reports whether a regular file of that name is there.
func (d *detector) hasFile(name string) bool {
	info, err := fs.Stat(d.repo, name)
	return err == nil && info.Mode().IsRegular()
}

// readFile reads a file of the repository. It notes a file that it cannot read.
func (d *detector) readFile(name string) (string, bool) {
	if !d.hasFile(name) {
		return "", false
	}
	text, err := readManifest(d.repo, name)
	if err != nil {
		d.addNote("%s cannot be read: %v", name, err)
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
