package workspace

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// disguise holds the replacements and grafts that make the user's git show something else in place
// of the objects that the run made. They have no other use. Our own git ignores both.
type disguise struct {
	replaced []ref    // by references below refs/replace
	grafted  []string // lines of info/grafts that give its commits other parents
}

func (d disguise) isNone() bool { return len(d.replaced)+len(d.grafted) == 0 }

func (d disguise) String() string {
	var said []string
	for _, r := range d.replaced {
		said = append(said, r.String())
	}
	for _, line := range d.grafted {
		said = append(said, "graft "+line)
	}
	return strings.Join(said, ", ")
}

// findDisguises returns the disguises among all replacements and grafts.
func (w *Workspace) findDisguises(ctx context.Context, replaced []ref, head run.Commit) (d disguise, err error) {
	grafts := w.graftLines()
	if len(replaced)+len(grafts) == 0 {
		return d, nil
	}
	out, err := w.repo.Run(ctx, "rev-list", "--objects", "--no-object-names", string(head), "^"+string(w.spec.Base))
	if err != nil {
		return d, err
	}
	made := map[string]bool{}
	for id := range strings.FieldsSeq(string(out)) {
		made[id] = true
	}
	for _, r := range replaced {
		if made[path.Base(r.name)] {
			d.replaced = append(d.replaced, r)
		}
	}
	for _, line := range grafts {
		if id, _, _ := strings.Cut(line, " "); made[id] {
			d.grafted = append(d.grafted, line)
		}
	}
	return d, nil
}

func (w *Workspace) graftsFile() string { return filepath.Join(w.repo.GitDir, "info", "grafts") }

// graftLines returns the lines of the user's info/grafts.
func (w *Workspace) graftLines() []string {
	text := readSmallFile(w.graftsFile())
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// removeDisguises removes the disguises, and leaves the user's own replacements and grafts as they are.
func (w *Workspace) removeDisguises(ctx context.Context, d disguise) error {
	if err := w.deleteRefs(ctx, d.replaced); err != nil || len(d.grafted) == 0 {
		return err
	}
	kept := slices.DeleteFunc(w.graftLines(), func(line string) bool { return slices.Contains(d.grafted, line) })
	if len(kept) == 0 {
		return os.Remove(w.graftsFile())
	}
	if err := git.Replace(w.graftsFile(), strings.Join(kept, "\n")+"\n"); err != nil {
		return fmt.Errorf("rewrite grafts: %w", err)
	}
	return nil
}

// deleteRefs deletes references, each only if it is unchanged since it was read.
func (w *Workspace) deleteRefs(ctx context.Context, refs []ref) error {
	for _, r := range refs {
		if err := w.repo.DeleteRef(ctx, git.Ref{Name: r.name, ID: r.id}); err != nil {
			return err
		}
	}
	return nil
}

// readSmallFile returns the text of a small regular file without its final line feeds. It returns the empty
// string for anything else.
func readSmallFile(name string) string {
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 8<<10 {
		return ""
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(b), "\n")
}
