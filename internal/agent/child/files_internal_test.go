package child

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// An agent at work may put a fifo in the place of a file after the look at its kind. No start waits for a writer.
func TestReadHashbang(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("script"), []byte("#!/bin/sh -e\necho\n"), 0o600), os.WriteFile(at("text"), []byte("#"), 0o600),
		os.Symlink("script", at("link")), os.Symlink("none", at("broken")), unix.Mkfifo(at("fifo"), 0o600), os.Symlink("fifo", at("piped")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"script": "/bin/sh -e\n", "link": "/bin/sh -e\n", "text": "", "broken": "", "none": "", "fifo": "", "piped": "", ".": "",
	} {
		if line, ok := readHashbang(at(name)); ok != (want != "") || ok && line != want {
			t.Errorf("%s: %q, %t", name, line, ok)
		}
	}
}
