package merge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
)

func TestAMergesChecksSeeToolchains(t *testing.T) {
	need.Sandbox(t)
	dir, tools := clitest.Repository(t), t.TempDir()
	clitest.Write(t, filepath.Join(tools, "bin", "frobnicate"), "#!/bin/sh\n")
	clitest.Must(t, os.Chmod(filepath.Join(tools, "bin", "frobnicate"), 0o700))
	head := run.Commit(strings.TrimSpace(clitest.Git(t, dir, "rev-parse", "HEAD")))
	c, _ := clitest.LocalFactory(t, engine.File{}, false)
	c.Environ = append(c.Environ, "PATH="+os.Getenv("PATH"))
	of := run.Input{RunID: "r1", Checks: []string{"frobnicate"}, Repository: run.Repository{Path: dir, Base: head}}
	config, err := sandboxing.Host(c, []string{tools})
	clitest.Must(t, err)
	if got, err := checkMerged(t.Context(), c, config, of, head); err != nil || len(got) != 1 {
		t.Errorf("with the toolchain: %+v, %v", got, err)
	}
	config, err = sandboxing.Host(c, nil)
	clitest.Must(t, err)
	if _, err := checkMerged(t.Context(), c, config, of, head); err == nil || !strings.Contains(err.Error(), "frobnicate") {
		t.Errorf("the control: without it %v", err)
	}
}
