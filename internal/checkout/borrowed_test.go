package checkout_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/checkout"
)

func TestBorrowed(t *testing.T) {
	top := t.TempDir()
	dir := func(name, alternates string) string {
		t.Helper()
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Join(path, "objects", "info"), 0o700); err != nil {
			t.Fatal(err)
		}
		if alternates != "" {
			if err := os.WriteFile(filepath.Join(path, "objects", "info", "alternates"), []byte(alternates), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	whole := dir("whole", "")
	fork := dir("fork", "# of whole\n../../whole/objects\n../../whole/objects/\n\"quoted\"\n/no/such\n")
	round := dir("round", top+"/round/objects\n")
	for name, test := range map[string]struct {
		of   string
		want []string
	}{
		"a repository that borrows nothing":   {whole, nil},
		"one that borrows":                    {fork, []string{whole + "/objects"}},
		"one that borrows from one that does": {dir("tree", fork+"/objects\n"), []string{fork + "/objects", whole + "/objects"}},
		"one that borrows from itself":        {round, []string{round + "/objects"}},
		"a directory that is no repository":   {top, nil},
	} {
		if got, err := checkout.Borrowed(test.of); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
		}
	}
}
