package register

import (
	"testing"
)

func TestTheReaderIsACommandOfTheShell(t *testing.T) {
	for program, want := range map[string]string{"/usr/bin/starter": "/usr/bin/starter inbox read", "/home/kim/my tools/starter": "'/home/kim/my tools/starter' inbox read"} {
		if got := readerCommand(program); got != want {
			t.Errorf("%s: %s", program, got)
		}
	}
}
