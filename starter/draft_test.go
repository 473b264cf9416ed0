package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADraftStaysUntilItIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := newCLI(console{in: strings.NewReader(""), out: io.Discard, err: io.Discard, environ: []string{"PATH=" + os.Getenv("PATH"), "EDITOR=fail() { echo more >> $1; return $STATUS; }; fail", "STATUS=0"}})
	d, err := c.newDraft("ratchet-*.txt", "begun\n", "")
	must(t, err)
	if text, err := d.Edit(); text != "begun\nmore\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	c.environ = append(c.environ, "STATUS=3")
	if text, err := d.Edit(); text != "begun\nmore\nmore\n" || err == nil {
		t.Errorf("an editor that fails leaves %q, %v", text, err)
	}
	if dir := filepath.Dir(d.Path()); dir != os.Getenv("TMPDIR") {
		t.Errorf("the file is in %s", dir)
	}
	d.Remove()
	if _, err := os.Lstat(d.Path()); err == nil {
		t.Error("the file is there still")
	}
}
