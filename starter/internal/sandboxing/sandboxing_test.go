package sandboxing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

func TestARunThatTheWorkerWouldRefuseIsNotStarted(t *testing.T) {
	const missing = "bubblewrap (bwrap) is not installed; fix: apt install bubblewrap"
	for _, tt := range []struct {
		name  string
		run   run.Sandbox
		local engine.File
		says  string // empty: it is started
	}{
		{"both require the box", run.SandboxRequired, engine.File{Sandbox: "required"}, ""},
		{"both say off", run.SandboxOff, engine.File{Sandbox: "off"}, ""},
		{"there is no box", run.SandboxRequired, engine.File{Sandbox: "required", NoBox: missing}, "apt install bubblewrap"},
		{"there is no box, and the run says off", run.SandboxOff, engine.File{Sandbox: "required", NoBox: missing}, "restart it with `starter up --sandbox off`"},
		{"the run alone says off", run.SandboxOff, engine.File{Sandbox: "required"}, "restart it with `starter up --sandbox off`"},
		{"the worker alone says off", run.SandboxRequired, engine.File{Sandbox: "off"}, "restart it with `starter up --sandbox required`"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Fits(tt.run, tt.local, "starter up", "starter run --sandbox off")
			if (err == nil) != (tt.says == "") {
				t.Fatal(err)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("says %q", err)
			}
		})
	}
}

func TestOffIsRememberedOnlyForAPersonWithoutABox(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "")
	without := engine.File{Sandbox: "required", NoBox: "none here"}
	for _, tt := range []struct {
		name        string
		local       engine.File
		policy      run.Sandbox
		flag        bool
		interactive bool
		remembered  bool
	}{
		{"a person says off where there is no box", without, run.SandboxOff, true, true, true},
		{"a script says it", without, run.SandboxOff, true, false, false},
		{"a person says off where there is one", engine.File{Sandbox: "required"}, run.SandboxOff, true, true, false},
		{"a person says required", without, run.SandboxRequired, true, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, said := clitest.LocalFactory(t, tt.local, tt.interactive)
			_ = Check(c, tt.policy, tt.flag)
			info, err := os.Stat(filepath.Join(c.Getenv("HOME"), ".config", "ratchet", "config.toml"))
			if (err == nil) != tt.remembered || err == nil && info.Mode().Perm() != 0o600 {
				t.Errorf("remembered: %v; said %q", err, said)
			}
			policy, err := Choose(c, "")
			if err != nil || policy.Off() != tt.remembered {
				t.Errorf("the next run is %q, %v", policy, err)
			}
		})
	}
}

func TestAFlagOverridesTheSettings(t *testing.T) {
	c, said := clitest.LocalFactory(t, engine.File{Sandbox: "required"}, false)
	path := c.SettingsPath()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, path, "sandbox = \"off\"\n")
	if p, err := Choose(c, "required"); err != nil || p.Off() {
		t.Errorf("%q, %v", p, err)
	}
	if p, err := Choose(c, ""); err != nil || !p.Off() || !strings.Contains(said.String(), path) {
		t.Errorf("%q, %v, said %q", p, err, said)
	}
	clitest.Write(t, path, "sandbox = off\n")
	if _, err := Choose(c, ""); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("of a broken file: %v", err)
	}
}
