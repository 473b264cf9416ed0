// Package initialize is the command `starter init`.
package initialize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/agentlist"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// initFlags holds the flags of `init`.
type initFlags struct {
	repo, provider, sandbox string
	checks, toolchains      []string
	timeout                 time.Duration
	force, dryRun           bool
}

// Report is the output of `init --json`.
type Report struct {
	Path     string        `json:"path"`
	Written  bool          `json:"written"`
	Content  string        `json:"content"`
	Provider string        `json:"provider,omitempty"`
	Agents   []string      `json:"agents"`
	Checks   []checkedOnce `json:"checks"`
	NotRun   string        `json:"notRun,omitempty"` // why the checks were not run
	Notes    []string      `json:"notes,omitempty"`
	Next     []string      `json:"next"`
}

// checkedOnce is a check and how it ended on the last commit.
type checkedOnce struct {
	Command string       `json:"command"`
	Why     string       `json:"why"`
	Status  check.Status `json:"status,omitempty"`
	Millis  int64        `json:"durationMs,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Output  []string     `json:"output,omitempty"` // the last lines, unless it passed
}

func New(c *factory.Factory) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write the settings for runs on a repository",
		Long: `Finds the checks of a repository and the agents of this machine, runs the checks
once on the last commit, in the sandbox and in a checkout of their own, and writes
` + settings.RepositoryFile + `. Runs read it from the last commit: commit it.`,
		Example: "  starter init\n  starter init --dry-run\n  starter init --check 'make test' --provider claude --force",
		Args:    usage.Args(0, "no arguments, only flags"),
		RunE:    c.Handle(func(ctx context.Context, _ []string) error { return initRepository(ctx, c, f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.repo, "repo", ".", "`directory` in the git repository, where the checks run")
	flags.StringVar(&f.provider, "provider", "", "`spec` of the provider; default: the first agent that is found")
	flags.StringArrayVar(&f.checks, "check", nil, "`command` that judges a result; repeat it for more; default: found in the repository")
	flags.DurationVar(&f.timeout, "check-timeout", 15*time.Minute, "limit of each check; the file gets a limit by how long they took")
	flags.StringVar(&f.sandbox, "sandbox", "", "`required` or off, as for runs; default: required, unless your settings say off")
	flags.StringArrayVar(&f.toolchains, "toolchain", nil, host.ToolchainUsage)
	flags.BoolVar(&f.force, "force", false, "replace a file that is there")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the file and write nothing")
	return cmd
}

func initRepository(ctx context.Context, c *factory.Factory, f initFlags) error {
	src, err := workspace.Inspect(ctx, f.repo, "HEAD")
	if err != nil {
		return err
	}
	if src.Bare && !f.dryRun {
		return fmt.Errorf("repository %s is bare: run init in a work tree of it, or commit the output of --dry-run as %s", src.Root, settings.RepositoryFile)
	}
	dir := filepath.Join(src.Root, filepath.FromSlash(src.Prefix))
	r := &Report{Path: filepath.Join(dir, settings.RepositoryFile), Agents: []string{}}
	switch _, err := os.Lstat(r.Path); {
	case err == nil && !f.force && !f.dryRun:
		return fmt.Errorf("%s is there already: give --force to replace it, or --dry-run to see what would be written", r.Path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := r.findChecks(f, dir); err != nil {
		return err
	}
	agents := make(chan []agent.Manifest, 1) // they are asked while the checks run
	go func() { agents <- agentlist.Local(ctx, c) }()
	if err := tryChecks(ctx, c, f, src, r); err != nil {
		return err
	}
	if err := r.chooseProvider(f.provider, <-agents); err != nil {
		return err
	}
	r.Content = r.content(src)
	r.Next = nextSteps(src, f.repo)
	if !f.dryRun {
		if err := writeSettings(r.Path, r.Content, f.force); err != nil {
			return err
		}
		r.Written = true
	}
	return printInit(c, r)
}

// findChecks takes the checks of the flags, or those that the repository offers.
func (r *Report) findChecks(f initFlags, dir string) error {
	for _, command := range f.checks {
		if strings.TrimSpace(command) == "" {
			return usage.Errorf("--check is empty: name a command")
		}
		r.Checks = append(r.Checks, checkedOnce{Command: command, Why: "--check"})
	}
	if len(r.Checks) > 0 {
		return nil
	}
	found, ok := check.Detect(os.DirFS(dir))
	for _, note := range found.Notes {
		r.Notes = append(r.Notes, display.Line(note))
	}
	for _, choice := range found.Choices {
		r.Checks = append(r.Checks, checkedOnce{Command: choice.Command, Why: choice.Why})
	}
	if !ok {
		reason := ""
		if len(r.Notes) > 0 {
			reason = " (" + strings.Join(r.Notes, "; ") + ")"
		}
		return fmt.Errorf("no check was found in %s%s: name a command with --check CMD", dir, reason)
	}
	return nil
}

// tryChecks runs the checks on the last commit. Where they may not start, it says why.
func tryChecks(ctx context.Context, c *factory.Factory, f initFlags, src workspace.Source, r *Report) error {
	policy, err := sandboxing.Choose(c, f.sandbox)
	if err != nil {
		return err
	}
	config, err := sandboxing.Host(c, f.toolchains)
	if err != nil {
		return err
	}
	runsDir, remove, err := dirForChecks(c)
	if err != nil {
		return err
	}
	defer remove()
	config.Sandbox, config.RunsDir = policy, runsDir
	in := activities.CheckInput{Timeout: f.timeout}
	in.RunID, in.Sandbox = "init", policy
	in.Repository = run.Repository{Path: src.Root, Prefix: src.Prefix, Base: src.Base}
	for _, once := range r.Checks {
		in.Commands = append(in.Commands, once.Command)
	}
	screen := c.ScreenOn(c.Err)
	work := screen.Work("runs the checks on the last commit")
	doing := ""
	report, err := config.CheckOnce(ctx, in, func(now string) {
		if doing != now {
			work.Step(display.Line(now))
		}
		doing = now
	})
	work.Stop()
	if refused, ok := errors.AsType[*activities.NotBoxed](err); ok {
		r.NotRun = refused.Reason
		return nil
	}
	if err != nil {
		return fmt.Errorf("run the checks: %w", err)
	}
	for i, result := range report.Checks {
		r.Checks[i].Status, r.Checks[i].Millis, r.Checks[i].Reason = result.Status, result.DurationMs, display.Line(result.Reason)
		if result.Status != check.Pass {
			r.Checks[i].Output = story.LastOutput(result)
		}
	}
	return nil
}

// dirForChecks returns the runs directory if there is one, so that runs begin with what the checks build; else
// a directory that remove removes.
func dirForChecks(c *factory.Factory) (dir string, remove func(), err error) {
	if info, err := os.Stat(c.RunsDir); err == nil && info.IsDir() {
		dir, err := filepath.Abs(c.RunsDir)
		return dir, func() {}, err
	}
	dir, err = os.MkdirTemp("", "ratchet-init-")
	return dir, func() { _ = git.RemoveTree(dir) }, err
}

// chooseProvider takes the provider of the flag, or the first agent that is there.
func (r *Report) chooseProvider(flag string, found []agent.Manifest) error {
	var first string
	for _, m := range found {
		if !m.Installed || m.Status == agent.Unsupported {
			continue
		}
		r.Agents = append(r.Agents, m.Label)
		if spec, ok := catalog.SpecOf(m); ok {
			first = cmp.Or(first, spec.String())
		}
	}
	r.Provider = first
	if flag == "" {
		return nil
	}
	if _, err := catalog.Parse(flag); err != nil {
		return &usage.Error{Err: err}
	}
	if why := settings.Loosens("provider", flag); why != "" {
		return usage.Errorf("--provider %s %s: a repository's file cannot choose it; put it into your own settings, or give it to starter run", display.Line(flag), why)
	}
	r.Provider = flag
	return nil
}

// writeSettings writes the file, and follows no link in its place.
func writeSettings(at, content string, force bool) error {
	write := file.Create
	if force {
		if info, err := os.Lstat(at); err == nil && info.IsDir() {
			return fmt.Errorf("%s is a directory: remove it", at)
		}
		write = file.Replace
	}
	if err := write(at, []byte(content)); err != nil {
		return fmt.Errorf("write %s: %w", at, err)
	}
	return os.Chmod(at, 0o644) // as git would check it out
}

// nextSteps are the commands that follow.
func nextSteps(src workspace.Source, repo string) []string {
	git, start := "git", "starter run '...'"
	if repo != "." {
		git = shellquote.Join("git", "-C", src.Root)
		start = shellquote.Join("starter", "run", "--repo", repo) + " '...'"
	}
	if src.Bare { // nothing can be added there
		return []string{start}
	}
	name := path.Join(src.Prefix, settings.RepositoryFile)
	return []string{
		git + " add " + shellquote.Join(name) + " && " + git + " commit -m 'Configure Ratchet'",
		start,
	}
}

func printInit(c *factory.Factory, r *Report) error {
	if c.JSON {
		return c.PrintJSON(r)
	}
	if !r.Written {
		c.Printf("%s", r.Content)
		return nil
	}
	s := c.Style()
	for _, note := range r.Notes {
		c.Printf("%s\n", s.Dim("no check: "+note))
	}
	for _, once := range r.Checks {
		mark := s.Bad("✗")
		switch once.Status {
		case "":
			mark = "-"
		case check.Pass:
			mark = s.Good("✓")
		}
		line := mark + " " + display.Line(once.describeEnd()) + " " + s.Dim("("+display.Line(once.Why)+")")
		c.Printf("%s\n", line)
		for _, said := range once.Output {
			c.Printf("%s\n", s.Dim("    │ "+said))
		}
	}
	if r.NotRun != "" {
		c.Printf("%s\n", s.Wait("the checks were not run: "+display.Line(r.NotRun)))
	}
	if len(r.Agents) > 0 {
		c.Printf("agents here: %s\n", display.Line(strings.Join(r.Agents, ", ")))
	} else {
		c.Printf("%s\n", s.Wait("no agent was found here: install one of those that `starter doctor --agents` lists, and name it as provider in the file"))
	}
	c.Printf("wrote %s\n\nnext:\n", display.Line(r.Path))
	for _, next := range r.Next {
		c.Printf("  %s\n", display.Line(next))
	}
	return nil
}
