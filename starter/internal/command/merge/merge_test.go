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

func TestWhoMadeACommit(t *testing.T) {
	event := func(phase run.Phase, p run.Payload) run.Event {
		return run.Event{Phase: phase, Type: p.Type(), Payload: p}
	}
	got := makersOf([]run.Event{
		event(run.Plan, run.PhaseStarted{Provider: "codex"}),
		event(run.Execute, run.PhaseStarted{Provider: "claude:opus"}),
		event(run.Execute, run.PatchProduced{}),
		event(run.Execute, run.ApprovalRequested{ApprovalID: "a1", Choices: []run.Choice{{ApprovalID: "a2", Provider: "acp:/opt/bin/opencode acp"}}}),
		event(run.Execute, run.ApprovalGranted{ApprovalID: "a2", By: "kim"}),
		event(run.Execute, run.PatchApplied{Commit: "c1"}),
		event(run.Fix, run.PhaseStarted{Provider: "claude:opus"}),
		event(run.Fix, run.PatchProduced{}),
		event(run.Fix, run.PatchApplied{Commit: "c2"}),
		event(run.Fix, run.PhaseStarted{Provider: "replay:answers"}),
		event(run.Fix, run.PatchApplied{Commit: "c3"}),
	})
	if len(got.approved) != 1 || got.approved["c1"] != "kim" {
		t.Errorf("approved: got %v, want c1 by kim", got.approved)
	}
	if len(got.wrote) != 2 || got.wrote["c1"] != "opencode" || got.wrote["c2"] != "Claude Code" {
		t.Errorf("written: got %v, want c1 by opencode and c2 by Claude Code", got.wrote)
	}
}

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
