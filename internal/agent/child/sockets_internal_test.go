package child

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory in which agents of earlier sessions have left too much is named, with a remedy.
func TestFindSocketsEnds(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "sock-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"a", "b", "c"} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	for name, tt := range map[string]struct {
		most bounds
		says string // empty: all are found
	}{
		"as many as may be": {bounds{files: 4, sockets: 3}, ""},
		"too many sockets":  {bounds{files: 4, sockets: 2}, dir + " holds more than 2 sockets and unreadable directories, such as " + dir + "/c"},
		"too many files":    {bounds{files: 3, sockets: 3}, dir + " holds more than 3 files"},
	} {
		found, err := findSockets(dir, nil, tt.most)
		switch {
		case tt.says == "" && (err != nil || len(found) != 3):
			t.Errorf("%s: %q, %v", name, found, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), ": remove ")):
			t.Errorf("%s: %v", name, err)
		}
	}
}
