// Package gate decides what is risky about a patch, from the patch itself and
// before it is applied. Any one risk lets the policy "risky" wait for a person.
package gate

import (
	"fmt"
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

// From these sizes on a patch is risky (contract, section 6).
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
	var deleted, touched []string
	for _, file := range f.Files {
		lines += file.Added + file.Removed
		if file.Deleted {
			deleted = append(deleted, fmt.Sprintf("%q", file.Path))
		}
		touched = append(touched, guardedNames(file)...)
	}
	add(f.Failed != "", "the patch could not be inspected: %s", f.Failed)
	add(f.Failed == "" && len(f.Files) == 0, "the patch could not be inspected: no changed file was found")
	add(len(deleted) > 0, "deletes %s: %s", count(len(deleted), "file"), named(deleted))
	add(len(touched) > 0, "touches security-related paths: %s", named(touched))
	add(len(f.Files) >= ManyFiles, "changes %d files, %d or more are many", len(f.Files), ManyFiles)
	add(lines >= ManyLines, "changes %d lines, %d or more are many", lines, ManyLines)
	risks = append(risks, f.Sensitive[:min(len(f.Sensitive), maxOthers)]...)
	add(len(f.Sensitive) > maxOthers, "and %d more reasons of the patch engine", len(f.Sensitive)-maxOthers)
	return risks
}

// guarded are the path segments that stand for security, in lower case.
var guarded = []string{
	"auth", "security", "secret", "secrets", "credential", "credentials",
	"token", "tokens", "permission", "permissions",
}

// guardedNames returns those names of the file that say security, quoted and
// with the word that says so.
func guardedNames(f File) []string {
	var names []string
	for _, path := range slices.Compact([]string{f.OldPath, f.Path}) {
		if why := guardedBy(path); why != "" {
			names = append(names, fmt.Sprintf("%q (%s)", path, why))
		}
	}
	return names
}

// guardedBy returns the word that makes the path a security path: a whole
// segment, or ".env" anywhere, in any case. Empty when there is none.
func guardedBy(path string) string {
	path = strings.ToLower(path)
	for segment := range strings.SplitSeq(path, "/") {
		if slices.Contains(guarded, segment) {
			return segment
		}
	}
	if strings.Contains(path, ".env") {
		return ".env"
	}
	return ""
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
