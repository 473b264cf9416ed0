// Package exploretest has files of a run in memory, for tests.
package exploretest

import (
	"context"
	"io/fs"
	"maps"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/provider"
)

// Files are texts by their paths.
type Files map[string]string

// Files implements explore.Files.
func (f Files) Files(context.Context) ([]string, error) { return slices.Sorted(maps.Keys(f)), nil }

// Read implements explore.Files.
func (f Files) Read(_ context.Context, path string, limit int64) ([]byte, int64, error) {
	text, ok := f[path]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return []byte(text[:min(int64(len(text)), limit)]), int64(len(text)), nil
}

// Site returns a site that has these files and nothing else. Its other methods
// panic.
func (f Files) Site() provider.Site { return fakeSite{files: f} }

type fakeSite struct {
	provider.Site
	files Files
}

func (s fakeSite) Files(ctx context.Context) ([]string, error) { return s.files.Files(ctx) }

func (s fakeSite) Read(ctx context.Context, path string, limit int64) ([]byte, int64, error) {
	return s.files.Read(ctx, path, limit)
}
