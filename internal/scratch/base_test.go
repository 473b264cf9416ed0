package scratch_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// The tree that changes are proved on is the one that the run plans them on.
func TestBaseIsTheRunsTree(t *testing.T) {
	r := withSubmodule(t)
	for _, prefix := range []string{"", "lib", "lib/a", "nowhere"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			spec := apart(t, r)
			spec.Prefix = prefix
			_, want := runTree(t, spec, head(t, r))
			got, end, err := makeAt(t, spec).Base(t.Context())
			must(t, err)
			for _, name := range []string{"main.go", "main.go/x", "run.sh", "link", "link/one.txt", "sub", "sub/x", "lib", "lib/a", "a", "a/one.txt", "a/one.txt/x/y",
				"one.txt", "gone", "gone/x", "lib/gone", "li", "lib/a/one", "with space/ü ñ.txt"} {
				sameLookup(t, name, got, want)
			}
			for _, dir := range []string{".", "lib", "lib/a", "a", "b/deep", "gone"} {
				g, err1 := got.Names(dir)
				w, err2 := want.Names(dir)
				slices.Sort(w)
				if !slices.Equal(g, w) || errors.Is(err1, fs.ErrNotExist) != errors.Is(err2, fs.ErrNotExist) {
					t.Errorf("names in %s: %q, %v; want %q, %v", dir, g, err1, w, err2)
				}
			}
			must(t, end())
		})
	}
}

func sameLookup(t *testing.T, name string, got, want patch.Tree) {
	t.Helper()
	g, err1 := got.Lookup(name)
	w, err2 := want.Lookup(name)
	if g.Mode != w.Mode || string(g.Content) != string(w.Content) || errors.Is(err1, fs.ErrNotExist) != errors.Is(err2, fs.ErrNotExist) {
		t.Errorf("%s: %q, %v; want %q, %v", name, g.Content, err1, w.Content, err2)
	}
	e1, _ := errors.AsType[*patch.EntryError](err1)
	e2, _ := errors.AsType[*patch.EntryError](err2)
	if (e1 == nil) != (e2 == nil) || e1 != nil && *e1 != *e2 {
		t.Errorf("%s: %v, want %v", name, err1, err2)
	}
}
