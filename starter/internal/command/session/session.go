// Package session is the command `starter session`.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessionruns"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/background"
	"github.com/ratchet-dev/ratchet/starter/internal/deliveries"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Keep a conversation with an agent that outlives its process",
		Long: `A session is one conversation with an agent. It outlives the agent's process, the
worker and the engine: the agent is resumed, and nothing is said to it twice. It
works in a checkout of its own; nothing reaches your repository by itself. It
sleeps while it has no messages.

SESSION is the name of a session, such as shop-2, its number alone, or the beginning of
the name.`,
		Example: `  starter session start --provider claude --say 'Where is money rounded?'   # prints shop-2
  starter session say shop-2 'Write a test for it'
  starter review shop-2
  starter session diff shop-2 | git apply
  starter session retire shop-2`,
		Args: usage.Args(0, "a command: start, list, show, say, set, watch, interrupt, decide, diff, stop or retire"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(sessionStartCommand(c), sessionListCommand(c), sessionShowCommand(c), sessionSayCommand(c), sessionSetCommand(c), sessionWatchCommand(c),
		sessionInterruptCommand(c), sessionDecideCommand(c), sessionDiffCommand(c), sessionStopCommand(c), sessionRetireCommand(c))
	return cmd
}

// sessionFlags holds the flags of `session start`.
type sessionFlags struct {
	in       session.Input
	repo     string
	base     string
	tools    string
	sandbox  string
	maxCost  float64
	deliver  string
	say      string
	system   string
	env      []string
	options  newrun.OptionFlags
	provider string
}

func sessionStartCommand(c *factory.Factory) *cobra.Command {
	return sessionStartCommandWith(c, new(sessionFlags))
}

// sessionStartCommandWith returns the command that sets f.
func sessionStartCommandWith(c *factory.Factory, f *sessionFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start --provider AGENT",
		Short: "Start a session and print its name",
		Long: `Starts a session with an agent. Its checkout is made from a commit of the
repository, and stays its own: see ` + "`starter session diff`" + `. The agent starts with the
first message.`,
		Example: `  starter session start --provider claude
  starter session start --provider codex:gpt-5 --repo ~/src/shop --say 'Explain how totals are computed'
  starter session start --provider claude --mcp ratchet --say 'Have a run fix the flaky tests'
  starter session start --provider claude --mode plan --mcp docs='npx -y docs-server' --system 'Answer in French'`,
		Args: usage.Args(0, "no arguments, only flags"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error { return startSession(ctx, c, f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.provider, "provider", "", "`spec` of the agent: "+agentForms())
	flags.StringVar(&f.repo, "repo", ".", "`directory` in the git repository whose checkout the session gets")
	flags.StringVar(&f.base, "base", "", "`commit` of the checkout; default: the last one, with nothing uncommitted beside it")
	flags.StringVar((*string)(&f.in.ID), "id", "", "`name` of the session; default: the repository's and a number, such as shop-2")
	flags.StringVar(&f.in.Title, "title", "", "`text` for lists, in one line")
	flags.StringVar(&f.say, "say", "", "first `message`; the command does not wait for its answer")
	flags.StringVar(&f.tools, "tools", string(run.AskTools), "who lets the agent use tools beyond changing files: `ask` a person, allow, deny")
	flags.BoolVar(&f.in.Network, "network", false, "let the agent's tools reach the network, where its sandbox can tell")
	flags.StringVar(&f.sandbox, "sandbox", "", "`required` or off: run the agent in the sandbox, or let it do what the worker's user can; off must be said by the worker, too; default: required, unless your settings say off")
	flags.Int64Var(&f.in.MaxTokens, "max-tokens", 0, "token budget, after which the session asks; 0 is none")
	flags.Float64Var(&f.maxCost, "max-cost", 0, "budget in dollars, where prices are known, after which the session asks; 0 is none")
	flags.StringVar(&f.deliver, "deliveries", "strict-safe", "what may be delivered by itself: `strict-safe`, for a session that can neither write nor ask nor reach the network, or trusted-all: see starter deliveries")
	flags.StringVar(&f.system, "system", "", "`text` that joins the agent's system prompt")
	flags.StringArrayVar(&f.env, "env", nil, "`variable` for the agent: NAME of one of the worker, or NAME=value, which is recorded; repeat it for more")
	f.options.Register(flags)
	f.options.Grants = true
	flags.Lookup("mcp").Usage = "`name=command` of an MCP server that the agent starts, in its sandbox, or " + sessionruns.ServerName + ": the tools by which it starts runs here, whose patches you approve; repeat it for more"
	return cmd
}

func startSession(ctx context.Context, c *factory.Factory, f *sessionFlags) error {
	in, err := sessionInput(ctx, c, f)
	if err != nil {
		return err
	}
	t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
	if err != nil && background.StartIfAway(ctx, c, err, string(in.Sandbox)) == nil {
		t, err = temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
	}
	if err != nil {
		return err
	}
	defer t.Close()
	if err := sandboxing.Check(c, in.Sandbox, false); err != nil {
		return err
	}
	if err := probeAgent(ctx, c.ClientOf(t), in); err != nil {
		return err
	}
	if err := readyGrant(ctx, c, c.ClientOf(t), in.Runs); err != nil {
		return err
	}
	in.Notify = newrun.ChannelsHere(c)
	s := sessionref.Client(c, t)
	if err := s.Begin(ctx, &in, c.RunsDir); err != nil {
		return err
	}
	if f.say != "" {
		m := session.Message{ID: uuid.NewString(), Text: f.say, By: c.UserName()}
		if err := sayOnce(ctx, s, in.ID, m); err != nil {
			return fmt.Errorf("session %s was started; its first message: %w", in.ID, err)
		}
	}
	if served, err := c.ClientOf(t).Served(ctx); err == nil && !served {
		fmt.Fprintf(c.Err, "starter: the session waits: %s\n", runs.ErrNoWorker)
	}
	if c.JSON {
		return c.PrintJSON(map[string]string{"sessionId": string(in.ID), "workflowId": in.ID.WorkflowID()})
	}
	c.Printf("%s\n", in.ID)
	return nil
}

// probeAgent asks the worker whether the agent can start there. If no worker answers, the session itself shows why its
// agent cannot start.
func probeAgent(ctx context.Context, client *runs.Client, in session.Input) error {
	found, err := client.Probe(ctx, activities.ProbeInput{Specs: []string{in.Provider}, Dir: in.Dir, Sandbox: in.Sandbox})
	if err != nil {
		return ctx.Err()
	}
	return errors.Join(newrun.ProblemsOf(found)...)
}

// agentForms lists the forms of the specs of agents.
func agentForms() string {
	var forms []string
	for _, t := range setup.Kinds(func(t setup.Traits) bool { return t.Agent }) {
		forms = append(forms, t.Form())
	}
	return strings.Join(forms, ", ")
}

// sessionInput returns the input of a session by its flags, or an error that lists their faults. It starts
// nothing.
func sessionInput(ctx context.Context, c *factory.Factory, f *sessionFlags) (session.Input, error) {
	in := f.in
	if f.provider == "" {
		return in, usage.Errorf("no agent given: name one with --provider, such as claude; `starter doctor --agents` lists those here")
	}
	spec, err := catalog.Parse(f.provider)
	if err != nil {
		return in, &usage.Error{Err: err}
	}
	if !spec.Agent() {
		return in, usage.Errorf("--provider %s keeps no session: use %s", f.provider, setup.ListKinds(func(t setup.Traits) bool { return t.Agent }, "or"))
	}
	src, err := workspace.Inspect(ctx, f.repo, f.base)
	if err != nil {
		return in, err
	}
	if in.Setup, err = f.options.Read(); err != nil {
		return in, err
	}
	in.Setup.System, in.Setup.Env = f.system, f.env
	if err := in.Setup.Validate(spec.Kind); err != nil {
		return in, &usage.Error{Err: err}
	}
	if err := in.Tools.UnmarshalText([]byte(f.tools)); err != nil {
		return in, usage.Errorf("--tools: %w", err)
	}
	if in.Sandbox, err = sandboxing.Choose(c, f.sandbox); err != nil {
		return in, err
	}
	if in.Dir, err = filepath.Abs("."); err != nil {
		return in, err
	}
	if in.Deliveries, err = deliveries.Mode(c, f.deliver); err != nil {
		return in, err
	}
	if !(f.maxCost >= 0) { // nan is no budget
		return in, usage.Errorf("invalid --max-cost: want dollars, 0 or more")
	}
	in.Model, spec.Model = spec.Model, "" // the model can be changed later
	in.Provider, in.MaxCost = spec.String(), run.Dollars(f.maxCost)
	in.Repository = run.Repository{Path: src.Root, Prefix: src.Prefix, Base: src.Base}
	if f.options.Granted {
		if in.Runs, err = newGrant(ctx, c, in, src, spec); err != nil {
			return in, err
		}
	}
	trial := in // one without an id gets its name when it begins
	trial.ID = cmp.Or(in.ID, "trial")
	if err := trial.Validate(); err != nil {
		return in, &usage.Error{Err: err}
	}
	return in, nil
}

func sessionListCommand(c *factory.Factory) *cobra.Command {
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the sessions, the newest first",
		Example: "  starter session list\n  starter session list --all --json | jq -r '.[].sessionId'",
		Args:    usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			if limit < 1 {
				return usage.Errorf("--max %d: want at least 1", limit)
			}
			t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
			if err != nil {
				return err
			}
			defer t.Close()
			found, err := sessionref.Client(c, t).List(ctx, all, limit)
			if err != nil {
				return err
			}
			return printSessions(c, found)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "retired ones, too")
	cmd.Flags().IntVar(&limit, "max", 100, "at most so `many`")
	return cmd
}

func printSessions(c *factory.Factory, found []sessions.Listed) error {
	if c.JSON {
		return c.PrintJSON(found)
	}
	if len(found) == 0 {
		c.Printf("No sessions. `%s` starts one.\n", c.Hint("session start --help"))
		return nil
	}
	s := c.Style()
	rows := [][]string{{s.Dim("SESSION"), s.Dim("STATE"), s.Dim("AGENT"), s.Dim("AGE"), s.Dim("TITLE")}}
	for _, l := range found {
		rows = append(rows, []string{string(l.ID), sessionStateIn(s, l.State), story.OneLine(agentText(l), 30), display.Age(c.Now().Sub(l.Started)), story.OneLine(cmp.Or(l.Title, l.Repository), 50)})
	}
	c.Printf("%s", terminal.Table(rows))
	return nil
}

// agentText names the agent of a session and its model, if one is chosen.
func agentText(l sessions.Listed) string {
	if l.Model == "" || strings.HasSuffix(l.Provider, ":"+l.Model) {
		return l.Provider
	}
	return l.Provider + " " + l.Model
}

// sessionStateIn returns a state in its colour.
func sessionStateIn(s terminal.Style, state session.State) string {
	switch state {
	case session.Idle, session.Working:
		return s.Good(string(state))
	case session.Asking:
		return s.Wait(string(state))
	case session.Dead, session.Lost, session.Foreign, session.Unable:
		return s.Bad(string(state))
	}
	return string(state)
}

// textArgument returns a message that is one argument, or standard input for -. It allows some blanks beyond the limit of
// a message, and refuses a longer input: no message is cut.
func textArgument(c *factory.Factory, arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	const most = session.MaxMessage + 4096
	b, err := c.ReadInput("-", most)
	if err == nil && len(b) > most {
		err = usage.Errorf("the message is too long: at most %d bytes can be said, put the rest into a file of the repository", session.MaxMessage)
	}
	return strings.TrimSpace(string(b)), err
}

var decisionWords = []string{string(run.Approve), string(run.Reject)}

func isDecision(word string) bool { return slices.Contains(decisionWords, word) }
