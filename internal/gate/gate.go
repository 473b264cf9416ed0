// Package gate decides which risks a patch has, from the patch itself and before it is applied. Under the
// policy "risky", any one risk makes the run wait for a person.
package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// Facts hold the gate's knowledge of a patch. The zero Facts are a risk, because no
// patch was inspected.
type Facts struct {
	Files []File
	// Sensitive are reasons that the patch engine found: a CI workflow, a hook,
	// an executable.
	Sensitive []string
	// Guards are paths on which this run in particular depends.
	Guards []Guard
}

// File is one changed file: new, modified, renamed or deleted. New files count
// like any other.
type File struct {
	Path    string // slash-separated, relative
	OldPath string // of a rename or a copy; tested like Path, but not counted as a file
	Deleted bool
	Added   int // lines
	Removed int // lines
}

// Guard is a path of the repository that influences the result of a run.
type Guard struct {
	Path string // slash-separated, relative; a slash at its end stands for everything below it, a * for any part of one name
	Why  string // its role, in words that follow the path
}

// A patch of these sizes or more is risky (docs/contracts/run.md, 6).
const (
	ManyFiles = 20
	ManyLines = 500
)

const (
	maxNames  = 5  // paths named in one reason
	maxOthers = 20 // reasons of the patch engine
)

// FindRisks returns the reasons why a person should look at the patch first, in a stable order, one for
// each rule that the patch breaks. It quotes paths, so that the text cannot deceive. No reason means that
// the patch breaks no rule.
func FindRisks(f Facts) []string {
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
	add(len(f.Files) == 0, "the patch could not be inspected: no changed file was found")
	add(len(deleted) > 0, "deletes %s: %s", display.Count(len(deleted), "file", "files"), listNames(deleted))
	add(len(touched) > 0, "touches security-related paths: %s", listNames(touched))
	add(len(guarded) > 0, "touches files that decide the result: %s", listNames(guarded))
	add(len(f.Files) >= ManyFiles, "changes many files: %d (many: %d or more)", len(f.Files), ManyFiles)
	add(lines >= ManyLines, "changes many lines: %d (many: %d or more)", lines, ManyLines)
	risks = append(risks, f.Sensitive[:min(len(f.Sensitive), maxOthers)]...)
	add(len(f.Sensitive) > maxOthers, "and %d more reasons", len(f.Sensitive)-maxOthers)
	return risks
}

// securityWords are the path segments that stand for security, in lower case.
var securityWords = []string{
	"auth", "security", "secret", "secrets", "credential", "credentials",
	"token", "tokens", "permission", "permissions",
}

// securityNames returns the names of the file that are security-related, quoted and with the word that
// makes them so.
func securityNames(f File) []string {
	var names []string
	for _, name := range slices.Compact([]string{f.OldPath, f.Path}) {
		if why := securityWord(name); why != "" {
			names = append(names, fmt.Sprintf("%q (%s)", name, why))
		}
	}
	return names
}

// securityWord returns the word that makes the path a security path: a whole segment, or ".env" anywhere,
// in any case. It returns "" if there is none.
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

// guardedNames returns the names of the file that a guard covers, quoted and with the first guard's
// reason.
func guardedNames(f File, guards []Guard) []string {
	var names []string
	for _, name := range slices.Compact([]string{f.OldPath, f.Path}) {
		i := slices.IndexFunc(guards, func(g Guard) bool { return g.coversName(name) })
		if i >= 0 {
			names = append(names, fmt.Sprintf("%q (%s)", name, guards[i].Why))
		}
	}
	return names
}

// coversName reports whether g covers the name. Letter case does not count, because a work tree may be on
// a file system that ignores it.
func (g Guard) coversName(name string) bool {
	guard, name := strings.ToLower(g.Path), strings.ToLower(name)
	ok, err := path.Match(guard, name)
	return ok && err == nil || guard == name || strings.HasSuffix(guard, "/") && strings.HasPrefix(name, guard)
}

// listNames returns the first names, and the number of the others.
func listNames(names []string) string {
	text := strings.Join(names[:min(len(names), maxNames)], ", ")
	if more := len(names) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
