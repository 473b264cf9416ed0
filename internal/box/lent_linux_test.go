package box_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
)

// A program replaces a file in a directory that is shown in the place of another, and the host finds that in the one that
// is shown. What else the spec shows there is as it says, and the directory in whose place it is stays as it was.
func TestADirectoryInThePlaceOfAnother(t *testing.T) {
	b := openBox(t)
	for name, script := range map[string]string{
		"the file is replaced":            `echo new > n && mv -f n login`,
		"the settings cannot be written":  `(echo evil > settings) 2>/dev/null; mv -f login n && echo new > login`,
		"nor can they be replaced":        `echo evil > n; mv -f n settings 2>/dev/null; rm -f settings 2>/dev/null; echo new > login`,
		"nor can the directory":           `mv ../state ../x 2>/dev/null; rm -rf ../state/sub 2>/dev/null; echo new > login`,
		"what is not named is not there":  `test ! -e secret && echo new > login`,
		"a directory below is writable":   `echo kept > sub/kept && echo new > login`,
		"a name in it is made for itself": `echo evil > secret && echo new > login`,
	} {
		t.Run(name, func(t *testing.T) {
			home, own := t.TempDir(), t.TempDir()
			state := mkdir(t, home, "state")
			sub := mkdir(t, state, "sub")
			for _, file := range []string{"login", "settings", "secret"} {
				write(t, filepath.Join(state, file), "old\n", 0o600)
			}
			write(t, filepath.Join(own, "login"), "lent\n", 0o600)
			s := box.Spec{
				Tree: t.TempDir(), Read: []string{filepath.Join(state, "settings")}, Write: []string{sub},
				Lent: []box.Loan{{From: own, Dir: state}},
			}
			if out, r := inBox(t, b, s, "cd '"+state+"' && "+script); r.ExitCode != 0 {
				t.Errorf("%q, %+v", out, r)
			}
			for path, want := range map[string]string{own + "/login": "new\n", state + "/login": "old\n", state + "/settings": "old\n", state + "/secret": "old\n"} {
				if got, err := os.ReadFile(path); err != nil || string(got) != want {
					t.Errorf("%s holds %q, %v", path, got, err)
				}
			}
		})
	}
}
