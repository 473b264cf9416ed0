package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
)

// grantOf returns the input that `session start` makes of the flags, for a user and a repository with these files.
func grantOf(t *testing.T, environ []string, user, repo string, args ...string) (session.Input, error) {
	t.Helper()
	dir := clitest.Repository(t)
	if repo != "" {
		clitest.Write(t, filepath.Join(dir, settings.RepositoryFile), repo)
		clitest.Git(t, dir, "add", "-A")
		clitest.Git(t, dir, "commit", "-q", "-m", "settings")
	}
	c, _ := clitest.LocalFactory(t, engine.File{}, false)
	c.Environ = append(c.Environ, environ...)
	if user != "" {
		clitest.Must(t, os.MkdirAll(filepath.Dir(c.SettingsPath()), 0o700))
		clitest.Write(t, c.SettingsPath(), user)
	}
	var f sessionFlags
	cmd := sessionStartCommandWith(c, &f)
	clitest.Must(t, cmd.Flags().Parse(append([]string{"--repo", dir}, args...)))
	return sessionInput(t.Context(), c, &f)
}

// TestAPersonsSettingsDecideOfAnAgentsRuns holds that a grant has the settings of the user and the repository, and that
// none of them lets a run of an agent's do more than one that a person approves.
func TestAPersonsSettingsDecideOfAnAgentsRuns(t *testing.T) {
	const repo = "check = ['make test']\nmax-fix = 1\n"
	const user = "approve = 'never'\ntools = 'allow'\nsandbox = 'off'\nnetwork = true\nallow-tool = ['Bash']\nmax-cost = 2.5\nprovider = 'codex'\nbranch = 'agents/{slug}-{short}'\n"
	in, err := grantOf(t, nil, user, repo, "--provider", "claude", "--mcp", "ratchet", "--mcp", "docs=true")
	clitest.Must(t, err)
	g := in.Runs
	if r := g.Run; r.Policy != run.Always || r.Tools != run.AskTools || r.Sandbox != run.SandboxRequired || r.Network || r.Options.Tools != nil {
		t.Errorf("it is loose: %+v", r)
	}
	if r := g.Run; r.Providers.Developer != "codex" || r.MaxCost != run.Dollars(2.5) || r.Checks[0] != "make test" || *r.MaxFix != 1 || g.Branch != "agents/{slug}-{short}" {
		t.Errorf("it has other settings: %+v", g)
	}
	if len(in.Setup.Servers) != 1 || g.Run.RunID != "" || g.Run.Goal != "" || g.Run.Repository.Base != "" || g.Run.Naming.Branch != "" {
		t.Errorf("it is more than a template: %+v", in)
	}
	in, err = grantOf(t, nil, "tools = 'deny'\n", repo, "--provider", "claude", "--mcp", "ratchet")
	clitest.Must(t, err)
	if in.Runs.Run.Tools != run.DenyTools || in.Runs.Run.Providers.Fixer != "claude" {
		t.Errorf("without a provider, with tools denied: %+v", in.Runs.Run)
	}
}

func TestOnlyAPersonGrantsRuns(t *testing.T) {
	const repo = "check = ['true']\n"
	for name, tt := range map[string]struct {
		environ, args []string
		repo, want    string
	}{
		"a program of a run":         {[]string{proc.RunVariable + "=r-1"}, []string{"--provider", "claude", "--mcp", "ratchet"}, repo, "cannot decide"},
		"an agent without servers":   {nil, []string{"--provider", "pi", "--mcp", "ratchet"}, repo, "takes no MCP servers"},
		"two servers of one name":    {nil, []string{"--provider", "claude", "--mcp", "ratchet", "--mcp", "ratchet=true"}, repo, "two servers"},
		"nothing that judges":        {nil, []string{"--provider", "claude", "--mcp", "ratchet"}, "", "nothing would judge"},
		"a file of the repository's": {nil, []string{"--provider", "claude", "--mcp", "ratchet"}, "mcp = ['ratchet']\n", "NAME=COMMAND"},
	} {
		if in, err := grantOf(t, tt.environ, "", tt.repo, tt.args...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v", name, in.Runs, err)
		}
	}
	in, err := grantOf(t, nil, "", "check = ['true']\n", "--provider", "claude")
	clitest.Must(t, err)
	if in.Runs != nil {
		t.Errorf("without the flag: %+v", in.Runs)
	}
}

func TestASessionHasNoBudgetThatIsNoNumber(t *testing.T) {
	for _, budget := range []string{"nan", "-1"} {
		if _, err := grantOf(t, nil, "", "", "--provider", "claude", "--max-cost", budget); err == nil || !strings.Contains(err.Error(), "invalid --max-cost: want dollars, 0 or more") {
			t.Errorf("%s: %v", budget, err)
		}
	}
}
