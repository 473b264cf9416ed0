package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A start on a full disk leaves an empty note of the server that wrote the database.
func TestWhoWroteADatabase(t *testing.T) {
	for wrote, say := range map[string]string{
		"": "", "1.32.0\n": "", "1.31.9\n": "does not migrate", "1.33.0\n": "does not migrate",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, serverFile)
		if err := os.WriteFile(path, []byte(wrote), 0o600); err != nil {
			t.Fatal(err)
		}
		err := admitServer(dir, "1.32.1")
		b, readErr := os.ReadFile(path)
		refused := say != ""
		if want := "1.32.1\n"; readErr != nil || (err != nil) != refused || !refused && string(b) != want || refused && string(b) != wrote {
			t.Errorf("%q: %v; it holds %q, %v", wrote, err, b, readErr)
		}
		if refused && err != nil && !strings.Contains(err.Error(), say) {
			t.Errorf("%q: got %v, want %q in it", wrote, err, say)
		}
	}
}
