package check

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Source is a file that decides what a check finds.
type Source struct {
	Path string // slash-separated, relative; with a slash at its end all below it, with * any part of one name
	Why  string // what it is, in words that follow the path
}

// Bounds of what one call of Sources looks at; beyond them it stops looking. The
// commands themselves come first.
const (
	maxSources = 200
	maxTexts   = 64
	maxDirs    = 8
	maxWork    = 100_000 // words and names that are looked at
)

// Sources are the files that decide what the commands find, apart from the code
// that they judge: those that a command names, unless it only looks at them or
// compiles them, those in which its program looks up what to do, and those that these run or include in turn. A file that a
// command names is among them though it is not there, for whoever makes it
// decides as well.
//
// read gives the text of a file of the repository; it is asked about clean
// relative paths only. Commands are read as a shell's and nothing is run: what
// they find through variables or by searching stays unseen.
func Sources(commands []string, read func(name string) (text string, ok bool)) []Source {
	t := &tracer{read: read, texts: make(map[string]*string), followed: make(map[string]bool)}
	for _, c := range commands {
		t.why = fmt.Sprintf("named by the check %q", clipped(c))
		from := dirs([]string{"."}, c)
		for _, words := range simple(c) {
			t.named(words, from)
		}
	}
	for _, c := range commands {
		t.why = fmt.Sprintf("read by the check %q", clipped(c))
		t.lines(c, []string{"."})
	}
	return t.found
}

// clipped bounds a command in a reason.
func clipped(command string) string {
	const most = 60
	if len(command) <= most {
		return command
	}
	return strings.ToValidUTF8(command[:most], "") + "…"
}

// tracer follows commands into the files that they run.
type tracer struct {
	read     func(string) (string, bool)
	texts    map[string]*string // what was read; nil: nothing is there
	followed map[string]bool
	found    []Source
	work     int
	why      string // what led to where it is
}

func (t *tracer) add(name string) {
	known := slices.ContainsFunc(t.found, func(s Source) bool { return s.Path == name })
	if !known && len(t.found) < maxSources {
		t.found = append(t.found, Source{Path: name, Why: t.why})
	}
}

// text reads a file, unless too many were read.
func (t *tracer) text(name string) (string, bool) {
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

// named notes every word of a command that can be a file's name; those that are
// none are nothing that a patch could change. What a command looks at or compiles
// is what it judges.
func (t *tracer) named(words, from []string) {
	i := slices.IndexFunc(words, func(w string) bool { return !prefix.MatchString(w) })
	if i >= 0 && looker.MatchString(words[i]) {
		return
	}
	for i, w := range words {
		for _, name := range runBy(w, words[i+1:]) {
			t.each(from, name, t.add)
		}
		t.each(from, operand(w), t.add)
	}
}

// each calls do with what name is in each of the directories, as far as it lies
// in the repository.
func (t *tracer) each(from []string, name string, do func(string)) {
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
		if name, ok := relative(path.Join(dir, name), ""); ok {
			do(name)
		}
	}
}

// manifests are the files in which programs look up what to run.
var manifests = map[string][]string{
	"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"}, "bmake": {"BSDmakefile", "makefile", "Makefile"}, "$MAKE": {"GNUmakefile", "makefile", "Makefile"},
	"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"}, "bun": {"package.json"},
	"just": {"justfile", ".justfile", "Justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"},
	"invoke": {"tasks.py", "tasks/__init__.py"}, "inv": {"tasks.py", "tasks/__init__.py"},
}

// command notes the files that a simple command runs or looks things up in, as
// far as they are there, and follows them.
func (t *tracer) command(words, from []string) {
	for _, w := range words {
		for _, file := range manifests[path.Base(w)] {
			t.each(from, file, func(name string) { t.run(name, words, from) })
		}
	}
	for _, program := range programs(words) {
		t.each(from, program, func(name string) { t.run(name, nil, from) })
	}
}

// run notes a file that is there and follows it into what it runs. args are the
// words of the command that reads it.
func (t *tracer) run(name string, args, from []string) {
	text, ok := t.text(name)
	key := strings.Join(append([]string{name}, args...), "\x00")
	if !ok || t.followed[key] || len(t.followed) > maxTexts {
		return
	}
	t.add(name)
	t.followed[key] = true
	defer func(why string) { t.why = why }(t.why)
	t.why = "run by " + name
	switch dir := path.Dir(name); {
	case path.Base(name) == "package.json":
		t.scripts(text, args, []string{dir})
	case isMakefile(name):
		t.makefile(name, text, args, from)
	case isScript(name, text):
		t.lines(text, append(slices.Clone(from), dir))
	}
}

// lines follows the commands of a script.
func (t *tracer) lines(text string, from []string) {
	from = dirs(from, text)
	for _, words := range simple(text) {
		if t.work += len(words); t.work > maxWork {
			return
		}
		t.command(words, from)
	}
}

// alongside are the scripts of a package.json that a word of a command runs,
// apart from the one of its name.
var alongside = map[string][]string{
	"t": {"test"}, "tst": {"test"}, "it": {"install", "prepare", "test"},
	"install": {"prepare"}, "i": {"install", "prepare"}, "ci": {"install", "prepare"}, "add": {"install", "prepare"},
}

// scripts follows those scripts of a package.json that args ask for.
func (t *tracer) scripts(text string, args, from []string) {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &manifest) != nil {
		return
	}
	for _, word := range args {
		for _, name := range append(slices.Clone(alongside[word]), word) {
			for _, script := range []string{"pre" + name, name, "post" + name} {
				t.lines(manifest.Scripts[script], from)
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
