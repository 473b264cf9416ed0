package child

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The directory of a file of credentials may not be written, as where the file is mounted by itself. Root is no exception.
func TestTokensGoIntoAFileThatCannotBeReplaced(t *testing.T) {
	const first, second = `{"a":{"type":"oauth","access":"1","refresh":"1","expires":1}}`, `{"a":{"type":"oauth","access":"2","refresh":"2","expires":2}}`
	for name, tt := range map[string]struct {
		mode  os.FileMode // of the file
		taken bool
	}{
		"the file can be written":  {0o666, true},
		"the file is only to read": {0o444, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "login-") // every user can reach it
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(dir, 0o700); os.RemoveAll(dir) })
			path := filepath.Join(dir, "auth.json")
			l := &loan{file: path, copy: filepath.Join(dir, "copy"), inside: []byte(first), outside: []byte(first)}
			for file, text := range map[string]string{path: first, l.copy: second} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for file, mode := range map[string]os.FileMode{path: tt.mode, l.copy: 0o444, dir: 0o555} {
				if err := os.Chmod(file, mode); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			for range 2 {
				_, err := asOther(func() (any, error) { return nil, l.exchangeTokens() })
				l.logError(&log, err)
			}
			if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), `"2"`) != tt.taken {
				t.Errorf("the file holds %s, %v", text, err)
			}
			if told := strings.Count(log.String(), "renewed tokens are not in "+path); told != map[bool]int{true: 0, false: 1}[tt.taken] {
				t.Errorf("the log has %q", log.String())
			}
		})
	}
}
