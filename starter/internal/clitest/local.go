package clitest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// LocalFactory is a command line beside an engine of this user.
func LocalFactory(t *testing.T, f engine.File, interactive bool) (*factory.Factory, *bytes.Buffer) {
	t.Helper()
	home, runsDir := t.TempDir(), t.TempDir()
	f.Address, f.API = "127.0.0.1:1", "https://127.0.0.1:1"
	_, err := engine.MakeKey(runsDir)
	if err := errors.Join(err, engine.WriteFile(runsDir, f)); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	c := factory.New(console.Console{Err: &said, Out: &said, Environ: []string{"HOME=" + home}, Interactive: interactive}, nil)
	c.RunsDir = runsDir
	return c, &said
}
