package scratch

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// Unfit is one change in the checkout that a patch cannot carry, in words for its author.
type Unfit struct {
	Path   string // relative to Prefix, perhaps with leading ".."; empty when it concerns the whole checkout
	Reason string
}

// UnfitError lists every change that a patch cannot carry. It is never empty. Undoing these changes
// helps; trying again does not.
type UnfitError struct{ Files []Unfit }

// shown is the number of files that the text of an error names.
const shown = 50

// Error returns a line for each file, the first ones if there are many.
func (e *UnfitError) Error() string {
	var b strings.Builder
	b.WriteString("a patch cannot contain all changes:")
	for _, f := range e.Files[:min(len(e.Files), shown)] {
		if f.Path == "" {
			fmt.Fprintf(&b, "\n- %s", f.Reason)
		} else {
			fmt.Fprintf(&b, "\n- %s: %s", display.Line(f.Path), f.Reason)
		}
	}
	if more := len(e.Files) - shown; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

// relativeTo returns a path of the tree as seen from prefix.
func relativeTo(prefix, name string) string {
	rel, err := filepath.Rel("/"+prefix, "/"+name)
	if err != nil { // impossible between two absolute paths
		return name
	}
	return filepath.ToSlash(rel)
}

// unfits collects unfit changes.
type unfits struct {
	prefix string
	noted  []Unfit
}

func (u *unfits) add(name, format string, args ...any) {
	if name != "" {
		name = relativeTo(u.prefix, name)
	}
	u.noted = append(u.noted, Unfit{name, fmt.Sprintf(format, args...)})
}

// err returns nil when nothing is unfit.
func (u *unfits) err() error {
	if len(u.noted) == 0 {
		return nil
	}
	slices.SortStableFunc(u.noted, func(a, b Unfit) int { return cmp.Compare(a.Path, b.Path) })
	return &UnfitError{slices.Compact(u.noted)}
}
