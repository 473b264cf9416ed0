package activities

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/layer"
	"github.com/ratchet-dev/ratchet/internal/toolchain"
)

// TestWithoutOverlaysAToolReadsTheUsersCacheOrBeginsCold decides as on a kernel without them.
func TestWithoutOverlaysAToolReadsTheUsersCacheOrBeginsCold(t *testing.T) {
	const users = "/home/kim/go/pkg/mod"
	for _, tc := range []struct {
		name     string
		cache    toolchain.Cache
		overlays bool
		variable string // relative to the cache of the run, or the user's own
		reads    int
	}{
		{"a layer over the user's cache", toolchain.Cache{Name: "go-mod", Variable: "V"}, true, "go-mod", 0},
		{"a tool that reads it", toolchain.Cache{Name: "go-mod", Variable: "V", Readable: true}, false, users, 1},
		{"a tool that must write", toolchain.Cache{Name: "go-build", Variable: "V"}, false, "go-build", 0},
		{"a variable for the directory above", toolchain.Cache{Name: "cargo/registry", Variable: "V", Above: 1}, true, "cargo", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			s := shelter{cache: filepath.Join(dir, "cache"), set: map[string]string{}}
			tc.cache.Dir = users
			repository := layer.Layer{}
			if tc.overlays {
				repository = layer.At(dir, "layer")
			}
			if err := s.addCache(tc.cache, dir, repository); err != nil {
				t.Fatal(err)
			}
			defer s.release()
			want := tc.variable
			if want != users {
				want = filepath.Join(s.cache, want)
			}
			if s.set["V"] != want || len(s.inside.Read) != tc.reads || (len(s.inside.Overlays) == 1) != tc.overlays {
				t.Errorf("variable %q, %+v", s.set["V"], s.inside)
			}
			for _, o := range s.inside.Overlays {
				if _, err := os.Stat(o.Target); err != nil || o.Lower != users {
					t.Errorf("%+v, %v", o, err)
				}
			}
		})
	}
}
