package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/draft"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

func TestADraftStaysUntilItIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := factory.New(console.Console{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Environ: []string{"PATH=" + os.Getenv("PATH"), "EDITOR=fail() { echo more >> $1; return $STATUS; }; fail", "STATUS=0"}}, nil)
	d, err := draft.New(c, "ratchet-*.txt", "begun\n", "")
	clitest.Must(t, err)
	if text, err := d.Edit(); text != "begun\nmore\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	c.Environ = append(c.Environ, "STATUS=3")
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
