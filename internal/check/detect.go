package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
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

// Detect finds the checks of a repository by the files at its top level, or, if these give none, in directories down to
// two levels below. Each kind of project gives one check. ok is false if there is none. Detect runs nothing. It notes files
// that it cannot read, and known build files that give no check.
func Detect(repo fs.FS) (_ Detected, ok bool) {
	d := detector{repo: repo}
	d.detectAll()
	if len(d.found.Choices) == 0 {
		d.detectBelow()
	}
	if len(d.found.Choices) == 0 {
		d.found.Notes = append(d.found.Notes, d.below...)
	}
	return d.found, len(d.found.Choices) > 0
}

// detectAll finds the checks of the top level.
func (d *detector) detectAll() {
	d.detectGo()
	d.detectNode()
	d.detectPython()
	d.detectCargo()
	d.detectJVM()
	d.detectMake()
	d.noteOthers()
}

// maxBelow is the most projects below the top level whose checks are taken.
const maxBelow = 4

// passedOver are directories that hold no project of the repository's own.
var passedOver = []string{"node_modules", "vendor", "third_party", "testdata", "fixtures", "examples", "docs", "dist", "build", "target"}

// plainDir matches a directory whose name needs no quotes in a shell.
var plainDir = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// detectBelow finds the checks of projects in the directories down to two levels below.
func (d *detector) detectBelow() {
	below := d.listProjects(".", 2)
	if len(below) > maxBelow {
		d.addNote("%d projects are in subdirectories: name their checks with --check, such as --check 'cd %s && ...'", len(below), below[0].dir)
		return
	}
	for _, p := range below {
		for _, c := range p.found.Choices {
			d.addChoice("cd "+p.dir+" && "+c.Command, p.dir+": "+c.Why)
		}
	}
}

// noteBelow repeats what was noted in directories without a check, if nothing was found in any.
func (d *detector) noteBelow(dir string, notes []string) {
	for _, note := range notes {
		if len(d.below) < maxBelow {
			d.below = append(d.below, dir+": "+note)
		}
	}
}

// project is a directory with checks of its own.
type project struct {
	dir   string
	found Detected
}

// listProjects returns the projects below dir, in the order of their names, but none inside of another.
func (d *detector) listProjects(dir string, levels int) (found []project) {
	entries, err := fs.ReadDir(d.repo, dir)
	if err != nil || levels == 0 {
		return nil
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if !e.IsDir() || !plainDir.MatchString(name) || slices.Contains(passedOver, e.Name()) {
			continue
		}
		sub, err := fs.Sub(d.repo, name)
		if err != nil {
			continue
		}
		in := detector{repo: sub}
		if in.detectAll(); len(in.found.Choices) > 0 {
			found = append(found, project{name, in.found})
			continue
		}
		d.noteBelow(name, in.found.Notes)
		found = append(found, d.listProjects(name, levels-1)...)
	}
	return found
}

// otherBuilds are build files from which no check is taken, and the command that they mostly stand for.
var otherBuilds = []struct{ patterns, command string }{
	{"justfile Justfile .justfile", "just test"},
	{"Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml", "task test"},
	{"mise.toml .mise.toml", "mise run test"}, {"noxfile.py", "nox"}, {"Pipfile", "pipenv run pytest"}, {"pixi.toml", "pixi run test"},
	{"Gemfile", "bundle exec rake test"}, {"Rakefile", "rake test"}, {"composer.json", "composer test"}, {"mix.exs", "mix test"}, {"rebar.config", "rebar3 eunit"},
	{"deno.json deno.jsonc", "deno test"}, {"elm.json", "elm-test"}, {"CMakeLists.txt", "cmake -B /tmp/b && cmake --build /tmp/b && ctest --test-dir /tmp/b"},
	{"configure.ac configure", "./configure && make check"}, {"meson.build", "meson setup /tmp/b && meson test -C /tmp/b"},
	{"MODULE.bazel WORKSPACE WORKSPACE.bazel", "bazel test //..."}, {"pants.toml", "pants test ::"}, {".buckconfig", "buck2 test //..."},
	{"*.sln *.slnx *.csproj *.fsproj *.vbproj", "dotnet test"}, {"Package.swift", "swift test"}, {"*.xcodeproj *.xcworkspace", "xcodebuild test"},
	{"build.sbt", "sbt test"}, {"build.xml", "ant test"}, {"project.clj", "lein test"}, {"deps.edn", "clojure -X:test"},
	{"pubspec.yaml", "dart test"}, {"stack.yaml package.yaml", "stack test"}, {"*.cabal", "cabal test"}, {"dune-project", "dune test"}, {"build.zig", "zig build test"},
	{"*.nimble", "nimble test"}, {"shard.yml", "crystal spec"}, {"Makefile.PL Build.PL cpanfile", "prove -l"}, {"DESCRIPTION", "R CMD check ."}, {"Earthfile", "earthly +test"},
}

// noteOthers notes the build files from which no check is taken.
func (d *detector) noteOthers() {
	for _, b := range otherBuilds {
		for pattern := range strings.FieldsSeq(b.patterns) {
			if names, err := fs.Glob(d.repo, pattern); err == nil && len(names) > 0 {
				d.addNote("found %s: name its check, such as --check '%s'", names[0], b.command)
				break
			}
		}
	}
}

// detector collects the checks of a repository.
type detector struct {
	repo  fs.FS
	found Detected
	below []string // notes on directories below that have no check
}

// addChoice adds a check.
func (d *detector) addChoice(command, why string) {
	d.found.Choices = append(d.found.Choices, Choice{Command: command, Why: why})
}

// addNote adds a note.
func (d *detector) addNote(format string, args ...any) {
	d.found.Notes = append(d.found.Notes, fmt.Sprintf(format, args...))
}

// useLine matches a module that a go.work file uses, alone or in a block.
var useLine = regexp.MustCompile(`(?m)^\s*(?:use\s+)?"?(\.[^\s"()]*)"?\s*(?://.*)?$`)

// maxModules is the most modules of a workspace that have a check each.
const maxModules = 8

// detectGo adds one check for each module of a workspace, because the pattern ./... covers only the module at the top.
func (d *detector) detectGo() {
	if text, ok := d.readFile("go.work"); ok {
		var patterns []string
		for _, m := range useLine.FindAllStringSubmatch(text, -1) {
			if dir := path.Clean(m[1]); dir == "." {
				patterns = append(patterns, "./...")
			} else if plainDir.MatchString(dir) {
				patterns = append(patterns, "./"+dir+"/...")
			}
		}
		if len(patterns) > maxModules {
			patterns = []string{strings.Join(patterns, " ")}
		}
		for _, p := range patterns {
			d.addChoice("go test "+p, "go.work")
		}
		if len(patterns) > 0 {
			return
		}
	}
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
		{"settings.gradle", "gradle test"},
		{"settings.gradle.kts", "gradle test"},
		{"mvnw", "./mvnw test"},
		{"pom.xml", "mvn test"},
	} {
		if !d.hasFile(tool.file) {
			continue
		}
		if strings.HasPrefix(tool.command, "./") {
			text, ok := d.readFile(tool.file)
			if first, _, _ := strings.Cut(text, "\n"); ok && strings.HasSuffix(first, "\r") {
				d.addNote("the lines of %s end in CR LF, so no shell can run it; fix: git add --renormalize %s", tool.file, tool.file)
				continue
			}
		}
		if strings.HasPrefix(tool.command, "./") && !d.isExecutable(tool.file) {
			d.addChoice("sh "+tool.command, tool.file+", which is not executable")
		} else {
			d.addChoice(tool.command, tool.file)
		}
		return
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
			d.addNote("%s has no target test: name another, such as --check 'make check'", name)
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
		d.addNote("cannot read package.json: %v", err)
		return
	}
	switch test := strings.TrimSpace(manifest.Scripts.Test); {
	case test == "":
		d.addNote("package.json has no test script: name another, such as --check 'npm run test:unit'")
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
	return "npm", "npm, because there is no lock file"
}

// isExecutable reports whether a file has an executable bit.
func (d *detector) isExecutable(name string) bool {
	info, err := fs.Stat(d.repo, name)
	return err == nil && info.Mode().Perm()&0o111 != 0
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
		d.addNote("cannot read %s: %v", name, err)
	}
	return strings.TrimPrefix(text, "\ufeff"), err == nil
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
