package check

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	// python names a file in quotes, so it alone may hold spaces.
	pythonFile = regexp.MustCompile(`File "([^"\n]+)", line \d+`)
	// located is a file with a position, or with a suffix of pytest or node: file.go:12, src/a.ts(3,5), test_a.py::test_b.
	located = regexp.MustCompile(`(?:file://)?([\w@.+~/\\$-]*[\w@+~$-]\.\w+)(?::\d+|\(\d+[,)]|::\w)`)
	// goPackage is the line by which go test names the package of the files it printed before.
	goPackage = regexp.MustCompile(`(?m)^(?:FAIL|---? FAIL:?)\t(\S+)(?:\t|\s|$)`)
)

// MentionedFiles returns the files of the repository that the output of the failed checks points at, in
// the order of their first mention, as slash-separated paths relative to dir. dir is the workspace as the
// commands saw it. exists reports whether such a path is a file of the repository; it is never called with
// a path outside the repository.
func MentionedFiles(r Report, dir string, exists func(string) bool) []string {
	var files []string
	for _, c := range r.Checks {
		if c.Status == Pass {
			continue
		}
		for _, part := range []string{c.Head, c.Tail} {
			for _, file := range findMentions(part, dir, exists) {
				if !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		}
	}
	return files
}

// Bounds of the search in one text, which is the output of a hostile program: a package's path, in bytes, and the
// paths that are looked up.
const (
	maxPackage = 512
	maxLookups = 20_000
)

// findMentions finds the files of one text.
func findMentions(text, dir string, exists func(string) bool) []string {
	type mention struct {
		at   int
		name string
	}
	var all []mention
	for _, form := range []*regexp.Regexp{pythonFile, located} {
		for _, m := range form.FindAllStringSubmatchIndex(text, -1) {
			all = append(all, mention{at: m[2], name: text[m[2]:m[3]]})
		}
	}
	slices.SortStableFunc(all, func(a, b mention) int { return a.at - b.at })

	packages, lookups := goPackages(text), 0
	found := func(file string) bool {
		lookups++
		return lookups <= maxLookups && exists(file)
	}
	var files []string
	for _, m := range all {
		name, ok := relativePath(m.name, dir)
		if !ok {
			continue
		}
		if file, ok := resolveName(name, packages, found); ok {
			files = append(files, file)
		}
		if lookups > maxLookups {
			break
		}
	}
	return files
}

// relativePath makes a name a clean path below dir. ok is false if it is not one.
func relativePath(name, dir string) (string, bool) {
	name = strings.ReplaceAll(name, `\`, "/")
	if strings.HasPrefix(name, "/") {
		below, ok := strings.CutPrefix(path.Clean(name), path.Clean(dir)+"/")
		return below, ok && dir != ""
	}
	name = path.Clean(name)
	return name, name != "." && name != ".." && !strings.HasPrefix(name, "../")
}

// resolveName finds the file of a name: the file itself, or a file in one of the packages that go test
// named, because go test prints the bare name.
func resolveName(name string, packages []string, exists func(string) bool) (string, bool) {
	if exists(name) {
		return name, true
	}
	if strings.Contains(name, "/") || !strings.HasSuffix(name, ".go") {
		return "", false
	}
	for _, pkg := range packages {
		for dir := pkg; dir != ""; {
			if file := dir + "/" + name; exists(file) { // both are clean
				return file, true
			}
			_, dir, _ = strings.Cut(dir, "/")
		}
	}
	return "", false
}

// goPackages returns the packages that the output of go test names.
func goPackages(text string) []string {
	var packages []string
	for _, m := range goPackage.FindAllStringSubmatch(text, -1) {
		if pkg := path.Clean(m[1]); len(pkg) <= maxPackage && !strings.HasPrefix(pkg, "/") && !slices.Contains(strings.Split(pkg, "/"), "..") {
			packages = append(packages, pkg)
		}
	}
	return packages
}
