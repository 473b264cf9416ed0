package child_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// The first line of a script is its author's. Each row but the last ones is a stranger's wish.
func TestTheFirstLineOfAScriptShowsNoFileOfTheUser(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/keys/id", "key", 0o600)
	write(t, dir+"/home/program", "\x7fELF", 0o700)
	write(t, dir+"/path/runtime", "\x7fELF", 0o700)
	write(t, dir+"/path/plain", "text", 0o600)
	t.Chdir(dir) // the path of a socket must be short
	l, err := net.Listen("unix", "keys/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Symlink(dir+"/path/runtime", dir+"/home/runtime"); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		line string
		want []string
	}{
		"a directory":                       {"#!" + dir + "/keys", nil},
		"a file that is no program":         {"#!" + dir + "/keys/id", nil},
		"a socket":                          {"#!" + dir + "/keys/socket", nil},
		"a program in the home":             {"#!" + dir + "/home/program", nil},
		"a relative path":                   {"#!home/program", nil},
		"a directory, as a value for env":   {"#!/usr/bin/env -S -u " + dir + "/keys sh", nil},
		"a program, by its path to env":     {"#!/usr/bin/env " + dir + "/home/program", nil},
		"a file on PATH that is no program": {"#!/usr/bin/env plain", nil},
		"the directory of PATH":             {"#!/usr/bin/env .", nil},
		"a program on PATH":                 {"#!/usr/bin/env runtime", []string{"/path/runtime"}},
		"a program on PATH, by its path":    {"#!" + dir + "/path/runtime", []string{"/path/runtime"}},
		"a program on PATH, by a link":      {"#!" + dir + "/home/runtime", []string{"/home/runtime", "/path/runtime"}},
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "agent")
			write(t, script, tt.line+"\n", 0o700)
			want := []string{script}
			for _, path := range tt.want {
				want = append(want, dir+path)
			}
			if got := child.ProgramFiles([]string{script}, dir+"/path:/usr/bin"); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := child.ProgramFiles([]string{"/bin/sh", script}, dir+"/path:/usr/bin"); !slices.Equal(got, []string{script}) {
				t.Errorf("as an argument of a program: got %q", got)
			}
		})
	}
}
