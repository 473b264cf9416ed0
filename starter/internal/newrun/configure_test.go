package newrun

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// TestEverySettingIsAFlag holds that a key of the files is the name of a flag that the manual has, and that a
// new flag is either a setting or named as none.
func TestEverySettingIsAFlag(t *testing.T) {
	var f Flags
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.Register(flags)
	manual, err := os.ReadFile("../../../docs/configuration.md")
	clitest.Must(t, err)
	for _, name := range settings.Names() {
		if flags.Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
		if !strings.Contains(string(manual), "`"+name+"`") {
			t.Errorf("docs/configuration.md does not have %s", name)
		}
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		if _, ok := settings.FlagOnly(flag.Name); !ok && !slices.Contains(settings.Names(), flag.Name) {
			t.Errorf("--%s is neither a setting nor said to be none", flag.Name)
		}
	})
}

// configured is a run of a repository and a user with these files, and what was said.
func configured(t *testing.T, user, repo string, args ...string) (run.Input, Flags, string) {
	t.Helper()
	return configuredBy(t, false, user, repo, args...)
}

// configuredBy is configured for a run that an agent starts, or a person.
func configuredBy(t *testing.T, agent bool, user, repo string, args ...string) (run.Input, Flags, string) {
	t.Helper()
	dir := clitest.Repository(t)
	if repo != "" {
		clitest.Write(t, filepath.Join(dir, settings.RepositoryFile), repo)
		clitest.Git(t, dir, "add", "-A")
		clitest.Git(t, dir, "commit", "-q", "-m", "settings")
	}
	c, said := clitest.LocalFactory(t, engine.File{}, false)
	path := c.SettingsPath()
	if user != "" {
		clitest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		clitest.Write(t, path, strings.ReplaceAll(user, "$REPO", dir))
	}
	f := Flags{ByAgent: agent}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.Register(flags)
	clitest.Must(t, flags.Parse(append([]string{"--repo", dir, "--goal", "Mend it"}, args...)))
	f.GoalGiven = true
	src, err := workspace.Inspect(t.Context(), f.Repo, f.Base)
	clitest.Must(t, err)
	clitest.Must(t, f.Configure(t.Context(), c, flags, src, f.Base))
	in, err := InputFrom(t.Context(), c, f, src)
	clitest.Must(t, err)
	return in, f, said.String()
}

func TestAFlagStandsAboveTheUserAboveTheRepository(t *testing.T) {
	const repo = "provider = 'anthropic:small'\ncheck = ['make test']\nmax-fix = 1\nmax-tokens = 1000\nbranch = 'agents/{slug}-{short}'\n"
	const user = "max-fix = 5\napprove = 'risky'\nenv = ['TOKEN']\n[repository.'$REPO']\nmax-cost = 2.5\napprove = 'never'\n"
	in, _, said := configured(t, user, repo, "--max-tokens", "7", "--commit-message", "S: {summary}")
	if *in.MaxFix != 5 || in.MaxTokens != 7 || in.Checks[0] != "make test" || in.Policy != run.Never || in.MaxCost != run.Dollars(2.5) ||
		in.CheckEnv[0] != "TOKEN" || in.Providers.Developer != "anthropic:small" || in.Naming.Branch != "agents/mend-it-"+in.RunID.Short() {
		t.Errorf("%+v", in)
	}
	for name, want := range map[string]run.Origin{
		"provider": run.FromRepository, "check": run.FromRepository, "max-fix": run.FromUser, "max-tokens": run.FromFlag, "approve": run.FromUser,
		"branch": run.FromRepository, "commit-message": run.FromFlag, "max-cost": run.FromUser, "sandbox": run.FromDefault, "env": run.FromUser,
	} {
		if in.Origins[name] != want {
			t.Errorf("%s is from %q, not %q", name, in.Origins[name], want)
		}
	}
	for _, line := range []string{"starter: approve never, as ", "starter: env TOKEN, as ", "check chosen: make test (.ratchet.toml)"} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not said in %q", line, said)
		}
	}
	if strings.Contains(said, "max-cost") {
		t.Errorf("what loosens nothing is said: %q", said)
	}
}

func TestAProviderForAllStandsAboveTheRolesOfLaterFiles(t *testing.T) {
	const repo = "provider = 'anthropic:small'\nplanner = 'openai:gpt-5'\nfixer = 'openai:gpt-5'\nevaluator = 'openai:judge'\ncheck = ['true']\n"
	in, _, _ := configured(t, "", repo, "--provider", "anthropic:large")
	want := run.Providers{Planner: "anthropic:large", Developer: "anthropic:large", Fixer: "anthropic:large", Evaluator: "openai:judge", Dir: in.Providers.Dir}
	if in.Providers.Planner != want.Planner || in.Providers.Fixer != want.Fixer || in.Providers.Developer != want.Developer || in.Providers.Evaluator != want.Evaluator {
		t.Errorf("%+v", in.Providers)
	}
	in, _, _ = configured(t, "", repo)
	if in.Providers.Planner != "openai:gpt-5" || in.Providers.Developer != "anthropic:small" {
		t.Errorf("without the flag %+v", in.Providers)
	}
}

// Words for one agent stay while it develops or fixes, and are not meant for a run that another does.
func TestWordsStayWithTheAgentThatTheyAreFor(t *testing.T) {
	const words = "mode = 'read-only'\nallow-tool = ['Bash(ls)']\ndeny-tool = ['WebFetch']\n"
	const claude, repo = "provider = 'claude'\n" + words, "provider = 'claude'\nmode = 'read-only'\ndeny-tool = ['WebFetch']\ncheck = ['true']\n"
	for name, tt := range map[string]struct {
		user, repo string
		args       []string
		stay       bool
		left       string
	}{
		"the developer keeps its role":      {user: claude, args: []string{"--fixer", "codex"}, stay: true},
		"the fixer keeps its role":          {user: claude, args: []string{"--developer", "codex"}, stay: true},
		"a rival has it":                    {user: claude, args: []string{"--developer", "codex", "--developer", "claude:opus", "--fixer", "codex"}, stay: true},
		"the default is named":              {user: claude, args: []string{"--provider", "claude"}, stay: true},
		"another model of it":               {user: claude, args: []string{"--provider", "claude:opus"}, stay: true},
		"another planner":                   {user: claude, args: []string{"--planner", "codex"}, stay: true},
		"words without an agent":            {user: words, args: []string{"--provider", "claude"}, stay: true},
		"words for the repository's agent":  {user: words, repo: repo, stay: true},
		"another agent for all":             {user: claude, args: []string{"--provider", "pi"}, left: "left out of your own settings: mode, allow-tool, deny-tool, for claude"},
		"another agent for both":            {user: claude, args: []string{"--developer", "codex", "--fixer", "codex"}, left: "left out of your own settings: mode"},
		"another of ACP":                    {user: "provider = 'acp:opencode acp'\n" + words, args: []string{"--provider", "acp:gemini --acp"}, left: "for acp:opencode acp"},
		"the repository's, another for all": {repo: repo, args: []string{"--provider", "codex"}, left: "left out of .ratchet.toml: mode, deny-tool, for claude"},
		"the repository's, for your fixer":  {user: "fixer = 'codex'\n", repo: repo, stay: true},
	} {
		if tt.repo == "" {
			tt.repo = "check = ['true']\n"
		}
		in, _, said := configured(t, tt.user, tt.repo, tt.args...)
		if stay := in.Options.Mode == "read-only" && slices.Equal(in.Options.NoTools, []string{"WebFetch"}); stay != tt.stay || !stay && (in.Options.Mode != "" || in.Options.NoTools != nil) {
			t.Errorf("%s: %+v", name, in.Options)
		}
		if !strings.Contains(said, tt.left) || tt.left == "" && strings.Contains(said, "left out") || strings.Count(said, "left out") > 1 {
			t.Errorf("%s: it said %q", name, said)
		}
	}
}

func TestWordsThatAnotherAgentDoesNotTakeAreRefused(t *testing.T) {
	const user = "provider = 'claude'\ndeny-tool = ['WebFetch']\ncheck = ['true']\n"
	in, _, _ := configured(t, user, "", "--fixer", "codex")
	err := checkWords(in)
	if err == nil || !strings.Contains(err.Error(), "provider codex takes no deny-tool") || !strings.Contains(err.Error(), "your own settings") || !strings.Contains(err.Error(), "--provider") {
		t.Error(err)
	}
	in, _, _ = configured(t, user, "", "--fixer", "pi")
	if err := checkWords(in); err != nil {
		t.Error(err)
	}
}

// An agent that starts a run names the provider, and lifts no denial by that.
func TestAnAgentLiftsNoDenial(t *testing.T) {
	const user = "provider = 'claude'\nmode = 'read-only'\nallow-tool = ['Bash']\ndeny-tool = ['WebFetch']\ncheck = ['true']\n"
	for provider, refused := range map[string]bool{"": false, "claude": false, "claude:opus": false, "pi": true, "codex": true, "anthropic:small": true} {
		var args []string
		if provider != "" {
			args = []string{"--provider", provider}
		}
		in, _, said := configuredBy(t, true, user, "", args...)
		if o := in.Options; o.Mode != "read-only" || !slices.Equal(o.NoTools, []string{"WebFetch"}) || o.Tools != nil {
			t.Errorf("%s: %+v, said %q", provider, o, said)
		}
		if err := checkWords(in); (err != nil) != refused {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

func TestWithoutFilesTheDefaultsStay(t *testing.T) {
	in, _, said := configured(t, "", "", "--provider", "anthropic:x", "--check", "true")
	if in.Policy != run.Always || in.Sandbox != run.SandboxRequired || in.Tools != run.AskTools || *in.MaxFix != run.DefaultMaxFix ||
		in.Naming != (run.Naming{}) || in.BranchName() != in.RunID.Branch() || said != "" {
		t.Errorf("%+v, said %q", in, said)
	}
	for name, origin := range in.Origins {
		if origin != run.FromDefault && name != "provider" && name != "check" {
			t.Errorf("%s is from %q", name, origin)
		}
	}
}

func TestOptionsOfAgents(t *testing.T) {
	more := t.TempDir()
	const repo = "provider = 'claude'\nmode = 'read-only'\ndeny-tool = ['Bash(curl *)']\nmax-output = 8000\ncheck = ['true']\n"
	user := "mcp = ['docs=npx -y docs']\nadd-dir = ['" + more + "']\n"
	in, _, said := configured(t, user, repo, "--allow-tool", "mcp__docs", "--temperature", "0")
	o := in.Options
	if o.Mode != "read-only" || o.NoTools[0] != "Bash(curl *)" || o.MaxOutputTokens != 8000 || o.Servers["docs"].Args[1] != "docs" ||
		o.ReadDirs[0] != more || len(o.Dirs) != 0 || o.Tools[0] != "mcp__docs" || o.Temperature == nil || *o.Temperature != 0 {
		t.Errorf("%+v", o)
	}
	for _, want := range []string{"mcp docs=npx -y docs", "add-dir " + more} {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not show %q", said, want)
		}
	}
	in, _, _ = configured(t, "", repo, "--provider", "codex")
	if o := in.Options; o.Mode != "" || len(o.NoTools) != 0 || o.MaxOutputTokens != 8000 || o.Temperature != nil {
		t.Errorf("the words of another agent: %+v", o)
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"a server without a name":    {[]string{"--mcp", "npx docs"}, "--mcp"},
		"a server twice":             {[]string{"--mcp", "a=x", "--mcp", "a=y"}, "two servers have the name a"},
		"a directory without a name": {[]string{"--add-dir", ":rw"}, "--add-dir"},
		"a change past the patch":    {[]string{"--add-dir", "REPO:rw"}, "only by patches"},
		"a change of all above":      {[]string{"--add-dir", "/:rw"}, "only by patches"},
		"a change of a part":         {[]string{"--add-dir", "REPO/.git:rw"}, "only by patches"},
		"two tools in one":           {[]string{"--allow-tool", "Bash,Write"}, "repeat the option"},
		"a temperature below":        {[]string{"--temperature", "-1"}, "0 to 2"},
		"a negative bound":           {[]string{"--max-output", "-1"}, "positive"},
		"a mode that is a flag":      {[]string{"--mode", "--yolo"}, "one word"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := clitest.Repository(t)
			c, _ := clitest.LocalFactory(t, engine.File{}, false)
			var f Flags
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			f.Register(flags)
			for i := range tt.args {
				tt.args[i] = strings.ReplaceAll(tt.args[i], "REPO", dir)
			}
			clitest.Must(t, flags.Parse(append([]string{"--repo", dir, "--goal", "Mend it", "--provider", "claude", "--check", "true"}, tt.args...)))
			f.GoalGiven = true
			_, err := Input(t.Context(), c, f)
			var usage *usage.Error
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}
