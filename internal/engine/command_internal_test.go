package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A start on a full disk leaves an empty note of the server that wrote the database.
func TestWhoWroteADatabase(t *testing.T) {
	for wrote, refused := range map[string]bool{"": false, "1.32.0\n": false, "1.31.9\n": true, "1.33.0\n": true} {
		dir := t.TempDir()
		path := filepath.Join(dir, serverFile)
		if err := os.WriteFile(path, []byte(wrote), 0o600); err != nil {
			t.Fatal(err)
		}
		err := admitServer(dir, "1.32.1")
		b, readErr := os.ReadFile(path)
		if want := "1.32.1\n"; readErr != nil || (err != nil) != refused || !refused && string(b) != want || refused && string(b) != wrote {
			t.Errorf("%q: %v; it holds %q, %v", wrote, err, b, readErr)
		}
		if refused && !strings.Contains(err.Error(), "does not migrate") {
			t.Error(err)
		}
	}
}
