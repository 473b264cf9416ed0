package scratch

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// Unfit is one thing that was done in the checkout and that a patch cannot
// carry, in words for whoever did it.
type Unfit struct {
	Path   string // relative to Prefix, and so perhaps with leading ".."; empty when it is about all of it
	Reason string
}

// UnfitError is all that a patch cannot carry. It is never empty. Undoing what
// it names helps; trying again does not.
type UnfitError struct{ Files []Unfit }

// shown is how many files the text of an error names.
const shown = 50

// Error has a line for each file, the first ones if there are many.
func (e *UnfitError) Error() string {
	var b strings.Builder
	b.WriteString("a patch cannot carry all that was done:")
	for _, f := range e.Files[:min(len(e.Files), shown)] {
		if f.Path == "" {
			fmt.Fprintf(&b, "\n- %s", f.Reason)
		} else {
			fmt.Fprintf(&b, "\n- %s: %s", patch.Display(f.Path), f.Reason)
		}
	}
	if more := len(e.Files) - shown; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

// relative is a path of the tree as seen from prefix.
func relative(prefix, name string) string {
	rel, err := filepath.Rel("/"+prefix, "/"+name)
	if err != nil { // not between two absolute paths
		return name
	}
	return filepath.ToSlash(rel)
}

// unfits collects what is unfit.
type unfits struct {
	prefix string
	noted  []Unfit
}

func (u *unfits) add(name, format string, args ...any) {
	if name != "" {
		name = relative(u.prefix, name)
	}
	u.noted = append(u.noted, Unfit{name, fmt.Sprintf(format, args...)})
}

// err is nil when nothing is unfit.
func (u *unfits) err() error {
	if len(u.noted) == 0 {
		return nil
	}
	slices.SortStableFunc(u.noted, func(a, b Unfit) int { return cmp.Compare(a.Path, b.Path) })
	return &UnfitError{slices.Compact(u.noted)}
}
