package newrun

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// The repository of such a run is the agent's choice, and its checks run before a person has seen anything.
func TestARunOfAnAgentHasNothingThatOnlyAPersonMayChoose(t *testing.T) {
	user := "env = ['NPM_TOKEN']\ncheck-network = ['registry:npm']\napprove = 'never'\nsandbox = 'off'\ntools = 'allow'\nnetwork = true\nmode = 'yolo'\n" +
		"mcp = ['docs=npx docs']\nadd-dir = ['" + t.TempDir() + "', '" + t.TempDir() + ":rw']\nallow-tool = ['Bash']\ndeny-tool = ['WebFetch']\n" +
		"no-baseline = true\nmax-fix = 9\nmax-patch-files = 9000\nmax-tokens = 7\nprovider = 'command:/bin/true'\n[repository.'$REPO']\nenv = ['OTHER']\n"
	in, _, _ := configuredBy(t, true, user, "check = ['make test']\n")
	o := in.Options
	if in.Checks[0] != "make test" || in.CheckEnv != nil || in.CheckNetwork != nil || in.Policy != run.Always || in.Sandbox != run.SandboxRequired ||
		in.Tools != run.AskTools || in.Network || in.NoBaseline || *in.MaxFix != run.DefaultMaxFix || in.Patches.Files != 0 ||
		o.Mode != "" || o.Servers != nil || o.Dirs != nil || o.ReadDirs != nil || o.Tools != nil {
		t.Errorf("%+v", in)
	}
	if in.MaxTokens != 7 || in.Providers.Developer != "command:/bin/true" || !slices.Equal(o.NoTools, []string{"WebFetch"}) {
		t.Errorf("what lets less happen, and the user's provider: %+v", in)
	}
}

// The working directory of the tools is the agent's choice, too.
func TestARunOfAnAgentTakesNoProgramOfTheWorkingDirectory(t *testing.T) {
	here := t.TempDir()
	clitest.Must(t, proctest.WriteProgram(filepath.Join(here, "agent.py"), "#!/bin/sh\n"))
	t.Chdir(here)
	for _, spec := range []string{"command:./agent.py", "acp:./agent.py", "replay:."} {
		c, _ := clitest.LocalFactory(t, engine.File{}, false)
		f := Flags{Provider: spec, ByAgent: true}
		if err := chooseProviders(c, f, &run.Input{}); err == nil || !strings.Contains(err.Error(), "absolute path") {
			t.Errorf("%s: %v", spec, err)
		}
		f.ByAgent = false
		if err := chooseProviders(c, f, &run.Input{}); err != nil {
			t.Error(err)
		}
	}
}

// The program of a provider runs in the working directory, and no sandbox shows the home directory.
func TestTheProgramOfAProviderStartsBelowTheHome(t *testing.T) {
	home := t.TempDir()
	below := filepath.Join(home, "src")
	clitest.Must(t, os.Mkdir(below, 0o700))
	for _, row := range []struct {
		dir, spec string
		sandbox   run.Sandbox
		refused   bool
	}{
		{home, "command:/bin/true", run.SandboxRequired, true},
		{filepath.Dir(home), "command:/bin/true", run.SandboxRequired, true},
		{below, "command:/bin/true", run.SandboxRequired, false},
		{home, "command:/bin/true", run.SandboxOff, false},
		{home, "replay:/", run.SandboxRequired, false},
	} {
		t.Chdir(row.dir)
		c, _ := clitest.LocalFactory(t, engine.File{}, false)
		c.Environ = append([]string{"HOME=" + home}, c.Environ...)
		err := chooseProviders(c, Flags{Provider: row.spec}, &run.Input{Sandbox: row.sandbox})
		if refused := err != nil && strings.Contains(err.Error(), "name a directory below"); refused != row.refused || err != nil && !refused {
			t.Errorf("%s in %s, sandbox %s: got %v, want a refusal: %t", row.spec, row.dir, row.sandbox, err, row.refused)
		}
	}
}
