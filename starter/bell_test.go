package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

func TestTheUsersFileSilencesTheBell(t *testing.T) {
	dir := t.TempDir()
	clitest.Must(t, os.MkdirAll(filepath.Join(dir, "ratchet"), 0o700))
	call := func() string {
		c, out := clitest.AtScreen(80, "XDG_CONFIG_HOME="+dir, "HOME="+dir)
		c.ScreenOn(c.Out).Call("it waits")
		return out.String()
	}
	if got := call(); !strings.HasPrefix(got, "\a\x1b]9;") {
		t.Errorf("without a file the terminal gets %q", got)
	}
	clitest.Must(t, os.WriteFile(filepath.Join(dir, "ratchet", "config.toml"), []byte("[notify]\nbell = false\n"), 0o600))
	if got := call(); got != "" {
		t.Errorf("the terminal gets %q", got)
	}
	c, out := clitest.AtScreen(0)
	c.ScreenOn(c.Out).Call("it waits")
	if out.Len() > 0 {
		t.Errorf("a pipe gets %q", out.String())
	}
}
