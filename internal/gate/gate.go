// Package gate decides what is risky about a patch, from the patch itself and
// before it is applied. Any one risk lets the policy "risky" wait for a person.
package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Facts are what the gate knows of a patch. The zero Facts are a risk: nothing
// was inspected.
type Facts struct {
	Files []File
	// Sensitive are reasons that the patch engine found: a CI workflow, a hook,
	// an executable.
	Sensitive []string
	// Guards are paths that this run in particular depends on.
	Guards []Guard
	// Failed says why the patch could not be inspected; empty when it was.
	Failed string
}

// File is one changed file: new, modified, renamed or deleted. New files count
// like any other.
type File struct {
	Path    string // slash-separated, relative
	OldPath string // of a rename or a copy; tested like Path, but no file of its own
	Deleted bool
	Added   int // lines
	Removed int // lines
}

// Guard is a path of the repository that decides what a run finds or keeps.
type Guard struct {
	Path string // slash-separated, relative; with a slash at its end all below it, with * any part of one name
	Why  string // what it is, in words that follow the path
}

// From these sizes on a patch is risky (docs/contracts/run.md, 6).
const (
	ManyFiles = 20
	ManyLines = 500
)

const (
	maxNames  = 5  // paths named in one reason
	maxOthers = 20 // reasons of the patch engine
)

// Risks returns the reasons why a person should look at the patch first, in a
// stable order, one for each rule that it breaks. Paths are quoted, so that
// what is shown cannot deceive. None means that no rule is broken.
func Risks(f Facts) []string {
	var risks []string
	add := func(when bool, format string, args ...any) {
		if when {
			risks = append(risks, fmt.Sprintf(format, args...))
		}
	}
	lines := 0
	var deleted, touched, guarded []string
	for _, file := range f.Files {
		lines += file.Added + file.Removed
		if file.Deleted {
			deleted = append(deleted, fmt.Sprintf("%q", file.Path))
		}
		touched = append(touched, securityNames(file)...)
		guarded = append(guarded, guardedNames(file, f.Guards)...)
	}
	add(f.Failed != "", "the patch could not be inspected: %s", f.Failed)
	add(f.Failed == "" && len(f.Files) == 0, "the patch could not be inspected: no changed file was found")
	add(len(deleted) > 0, "deletes %s: %s", count(len(deleted), "file"), named(deleted))
	add(len(touched) > 0, "touches security-related paths: %s", named(touched))
	add(len(guarded) > 0, "touches what decides the result: %s", named(guarded))
	add(len(f.Files) >= ManyFiles, "changes %d files, %d or more are many", len(f.Files), ManyFiles)
	add(lines >= ManyLines, "changes %d lines, %d or more are many", lines, ManyLines)
	risks = append(risks, f.Sensitive[:min(len(f.Sensitive), maxOthers)]...)
	add(len(f.Sensitive) > maxOthers, "and %d more reasons of the patch engine", len(f.Sensitive)-maxOthers)
	return risks
}

// securityWords are the path segments that stand for security, in lower case.
var securityWords = []string{
	"auth", "security", "secret", "secrets", "credential", "credentials",
	"token", "tokens", "permission", "permissions",
}

// securityNames returns those names of the file that say security, quoted and
// with the word that says so.
func securityNames(f File) []string {
	var names []string
	for _, name := range slices.Compact([]string{f.OldPath, f.Path}) {
		if why := securityWord(name); why != "" {
			names = append(names, fmt.Sprintf("%q (%s)", name, why))
		}
	}
	return names
}

// securityWord returns the word that makes the path a security path: a whole
// segment, or ".env" anywhere, in any case. Empty when there is none.
func securityWord(name string) string {
	name = strings.ToLower(name)
	for segment := range strings.SplitSeq(name, "/") {
		if slices.Contains(securityWords, segment) {
			return segment
		}
	}
	if strings.Contains(name, ".env") {
		return ".env"
	}
	return ""
}

// guardedNames returns those names of the file that a guard is about, quoted and
// with what the first one says.
func guardedNames(f File, guards []Guard) []string {
	var names []string
	for _, name := range slices.Compact([]string{f.OldPath, f.Path}) {
		i := slices.IndexFunc(guards, func(g Guard) bool { return g.covers(name) })
		if i >= 0 {
			names = append(names, fmt.Sprintf("%q (%s)", name, guards[i].Why))
		}
	}
	return names
}

// covers reports whether g is about the name. Letter case does not count: a work
// tree may lie where it does not.
func (g Guard) covers(name string) bool {
	guard, name := strings.ToLower(g.Path), strings.ToLower(name)
	ok, err := path.Match(guard, name)
	return ok && err == nil || guard == name || strings.HasSuffix(guard, "/") && strings.HasPrefix(name, guard)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func named(names []string) string {
	text := strings.Join(names[:min(len(names), maxNames)], ", ")
	if more := len(names) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
