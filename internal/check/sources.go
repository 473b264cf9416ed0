package check

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Source is a file that influences the result of a check.
type Source struct {
	Path string // slash-separated, relative; a slash at its end stands for everything below it, a * for any part of one name
	Why  string // its role, in words that follow the path
}

// Bounds of one call of FindSources. It stops when it reaches them. It examines the
// commands themselves first.
const (
	maxSources = 200
	maxTexts   = 64
	maxDirs    = 8
	maxWork    = 100_000 // words and names that are examined
)

// FindSources returns the files that influence the results of the commands, apart from the code that the
// commands judge. These are the files that a command names, unless it only reads or compiles them, the
// files in which its program looks up its tasks, and the files that these run or include in turn. A file
// that a command names is included even if it is missing, because a patch that adds it influences the result
// too.
//
// read returns the text of a file of the repository; it is called with clean relative paths only.
// FindSources reads commands as shell commands and runs nothing. It does not see files that the commands
// find through variables or by searching.
func FindSources(commands []string, read func(name string) (text string, ok bool)) []Source {
	t := &tracer{read: read, texts: make(map[string]*string), followed: make(map[string]bool)}
	for _, c := range commands {
		t.why = fmt.Sprintf("named by the check %q", clipCommand(c))
		from := runDirs([]string{"."}, c)
		for _, words := range splitCommands(c) {
			t.addNamed(words, from)
		}
	}
	for _, c := range commands {
		t.why = fmt.Sprintf("read by the check %q", clipCommand(c))
		t.followScript(c, []string{"."})
	}
	return t.found
}

// clipCommand bounds a command in a reason.
func clipCommand(command string) string {
	const most = 60
	if len(command) <= most {
		return command
	}
	return strings.ToValidUTF8(command[:most], "") + "…"
}

// tracer follows commands into the files that they run.
type tracer struct {
	read     func(string) (string, bool)
	texts    map[string]*string // the texts read; nil for a missing file
	followed map[string]bool
	found    []Source
	work     int
	why      string // the reason for the files that it adds now
}

// addSource adds a file with the current reason.
func (t *tracer) addSource(name string) {
	known := slices.ContainsFunc(t.found, func(s Source) bool { return s.Path == name })
	if !known && len(t.found) < maxSources {
		t.found = append(t.found, Source{Path: name, Why: t.why})
	}
}

// readText reads a file, unless too many were read.
func (t *tracer) readText(name string) (string, bool) {
	p, seen := t.texts[name]
	if !seen && len(t.texts) < maxTexts {
		if text, ok := t.read(name); ok {
			p = &text
		}
		t.texts[name] = p
	}
	if p == nil {
		return "", false
	}
	return *p, true
}

// addNamed adds every word of a command that can be a file's name. A word that is not a file name does no
// harm, because no patch can change it. The files that a command reads or compiles are the code that it
// judges.
func (t *tracer) addNamed(words, from []string) {
	i := slices.IndexFunc(words, func(w string) bool { return !prefix.MatchString(w) })
	if i >= 0 && looker.MatchString(words[i]) {
		return
	}
	for i, w := range words {
		for _, name := range runBy(w, words[i+1:]) {
			t.eachPath(from, name, t.addSource)
		}
		t.eachPath(from, operandOf(w), t.addSource)
	}
}

// eachPath calls do with the path of name in each of the directories, if the path is in the repository.
func (t *tracer) eachPath(from []string, name string, do func(string)) {
	if strings.HasPrefix(name, "$") { // ${ROOT}/x: most likely the top
		_, name, _ = strings.Cut(name, "/")
	}
	if name == "" || strings.HasPrefix(name, "/") {
		return
	}
	for _, dir := range from {
		if t.work++; t.work > maxWork {
			return
		}
		if name, ok := relativePath(path.Join(dir, name), ""); ok {
			do(name)
		}
	}
}

// manifests are the files in which programs look up their tasks.
var manifests = map[string][]string{
	"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"}, "bmake": {"BSDmakefile", "makefile", "Makefile"}, "$MAKE": {"GNUmakefile", "makefile", "Makefile"},
	"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"}, "bun": {"package.json"},
	"just": {"justfile", ".justfile", "Justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"},
	"invoke": {"tasks.py", "tasks/__init__.py"}, "inv": {"tasks.py", "tasks/__init__.py"},
}

// followCommand adds the files that a simple command runs or looks tasks up in, if they are there, and
// follows them.
func (t *tracer) followCommand(words, from []string) {
	for _, w := range words {
		for _, file := range manifests[path.Base(w)] {
			t.eachPath(from, file, func(name string) { t.followFile(name, words, from) })
		}
	}
	for _, program := range programsOf(words) {
		t.eachPath(from, program, func(name string) { t.followFile(name, nil, from) })
	}
}

// followFile adds a file that is there and follows the commands that it runs. args are the words of the
// command that reads it.
func (t *tracer) followFile(name string, args, from []string) {
	text, ok := t.readText(name)
	key := strings.Join(append([]string{name}, args...), "\x00")
	if !ok || t.followed[key] || len(t.followed) > maxTexts {
		return
	}
	t.addSource(name)
	t.followed[key] = true
	defer func(why string) { t.why = why }(t.why)
	t.why = "run by " + name
	switch dir := path.Dir(name); {
	case path.Base(name) == "package.json":
		t.followNodeScripts(text, args, []string{dir})
	case isMakefile(name):
		t.followMakefile(name, text, args, from)
	case isScript(name, text):
		t.followScript(text, append(slices.Clone(from), dir))
	}
}

// followScript follows the commands of a script.
func (t *tracer) followScript(text string, from []string) {
	from = runDirs(from, text)
	for _, words := range splitCommands(text) {
		if t.work += len(words); t.work > maxWork {
			return
		}
		t.followCommand(words, from)
	}
}

// alongside lists the scripts of a package.json that a word of a command runs,
// in addition to the script of the same name.
var alongside = map[string][]string{
	"t": {"test"}, "tst": {"test"}, "it": {"install", "prepare", "test"},
	"install": {"prepare"}, "i": {"install", "prepare"}, "ci": {"install", "prepare"}, "add": {"install", "prepare"},
}

// followNodeScripts follows the scripts of a package.json that args ask for.
func (t *tracer) followNodeScripts(text string, args, from []string) {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &manifest) != nil {
		return
	}
	for _, word := range args {
		for _, name := range append(slices.Clone(alongside[word]), word) {
			for _, script := range []string{"pre" + name, name, "post" + name} {
				t.followScript(manifest.Scripts[script], from)
			}
		}
	}
}

// isScript reports whether the lines of a file are commands.
func isScript(name, text string) bool {
	switch base := strings.ToLower(path.Base(name)); {
	case base == "justfile", base == ".justfile", strings.HasPrefix(base, "taskfile."):
		return true
	case slices.Contains([]string{".sh", ".bash", ".zsh", ".ksh"}, path.Ext(base)):
		return true
	}
	first, _, _ := strings.Cut(text, "\n")
	return strings.HasPrefix(first, "#!") && strings.Contains(first, "sh")
}
