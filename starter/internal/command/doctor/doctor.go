// Package doctor is the command `starter doctor`.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/starter/internal/agentlist"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/localhost"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func findAdrift(ctx context.Context, c *factory.Factory, client *runs.Client) finding {
	text, err := runref.AdriftText(ctx, c, client)
	if err == nil && text != "" {
		err = errors.New(text)
	}
	return judge("records", false, "every run that is not over has its workflow", err)
}

// finding is the result of one examination by the doctor.
type finding struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Required bool   `json:"required"`
	Detail   string `json:"detail"`
}

// judge returns the finding of an examination that has an error for what is wrong, else the detail.
func judge(name string, required bool, detail string, err error) finding {
	if err != nil {
		detail = err.Error()
	}
	return finding{Name: name, OK: err == nil, Required: required, Detail: detail}
}

func New(c *factory.Factory) *cobra.Command {
	var sandbox string
	var agents, worker bool
	cmd := &cobra.Command{
		Use:        "doctor",
		SuggestFor: []string{"agents"},
		Short:      "Check what runs need, and say what is missing",
		Example:    "  starter doctor\n  starter doctor --json | jq '.[] | select(.ok | not)'\n  starter doctor --agents --worker --json | jq '.[] | select(.installed).kind'",
		Args:       usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			if agents {
				return listAgents(ctx, c, worker)
			}
			if worker {
				return usage.Errorf("--worker goes with --agents")
			}
			if sandbox != "" {
				if _, err := sandboxing.Choose(c, sandbox); err != nil {
					return err
				}
			}
			found := examine(
				func() []finding { return []finding{findGit(ctx)} },
				func() []finding { return []finding{findRunsDir(ctx, c), findDisk(c)} },
				func() []finding { return []finding{findBox(ctx, c, sandbox)} },
				func() []finding { return findEngine(ctx, c) },
				func() []finding { return append([]finding{findAgents(c)}, findKeys(c)...) },
			)
			if err := printFindings(c, found); err != nil {
				return err
			}
			if slices.ContainsFunc(found, func(f finding) bool { return f.Required && !f.OK }) {
				return &exit.StatusError{Status: run.Failed}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&agents, "agents", false, "list the coding agents alone, with what each can do, or why it cannot be used")
	cmd.Flags().BoolVar(&worker, "worker", false, "with --agents: look on the worker's machine, where agents run")
	cmd.Flags().StringVar(&sandbox, "sandbox", "", "`required` or off: off for a host whose runs have no sandbox; default: required, unless your settings say off")
	return cmd
}

// examine makes all examinations at once. What is wrong comes first, and first of all what runs need.
func examine(all ...func() []finding) []finding {
	found := make([][]finding, len(all))
	var wg sync.WaitGroup
	for i, one := range all {
		wg.Go(func() { found[i] = one() })
	}
	wg.Wait()
	list := slices.Concat(found...)
	slices.SortStableFunc(list, func(a, b finding) int { return a.rank() - b.rank() })
	return list
}

// rank orders findings by how much they matter.
func (f finding) rank() int {
	switch {
	case !f.OK && f.Required:
		return 0
	case !f.OK:
		return 1
	}
	return 2
}

// listAgents prints which agents there are.
func listAgents(ctx context.Context, c *factory.Factory, worker bool) error {
	work := c.ErrorScreen().Work("asks the agents that are installed")
	list, err := agentlist.List(ctx, c, worker)
	work.Stop()
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(list)
	}
	agentlist.Print(c, list)
	return nil
}

func printFindings(c *factory.Factory, found []finding) error {
	if c.JSON {
		return c.PrintJSON(found)
	}
	s := c.Style()
	var rows [][]string
	for _, f := range found {
		sign := s.Good("✓")
		switch {
		case !f.OK && f.Required:
			sign = s.Bad("✗")
		case !f.OK:
			sign = s.Dim("-")
		}
		rows = append(rows, []string{sign + " " + f.Name, story.OneLine(f.Detail, 300)})
	}
	c.Printf("%s", terminal.Table(rows))
	return nil
}

func findGit(ctx context.Context) finding {
	version, err := git.Version(ctx)
	return judge("git", true, version, err)
}

// findBox tests the sandbox as a worker of this user does. Without the box runs execute nothing, unless the
// user has decided for off.
func findBox(ctx context.Context, c *factory.Factory, flag string) finding {
	f := finding{Name: "sandbox", Required: true}
	policy, err := sandboxing.Choose(c, flag)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.Required = !policy.Off()
	var notes []string
	if policy.Off() {
		notes = append(notes, "runs go without it")
	}
	if os.Geteuid() == 0 {
		notes = append(notes, "a worker of this user runs as root: a user of its own is safer")
	}
	b, err := host.Config{Environ: c.Environ, RunsDir: c.RunsDir}.OpenBox(ctx)
	if err != nil {
		f.Detail = strings.Join(append([]string{err.Error()}, notes...), "; ")
		return f
	}
	caches := "overlays over the user's caches"
	if !b.Overlays() {
		caches = "no overlays: builds begin without the user's caches"
	}
	f.OK, f.Detail = true, strings.Join(append([]string{b.String() + " holds", b.Limits(), caches}, notes...), "; ")
	return f
}

// findRunsDir examines the runs directory, or the nearest directory above it that exists.
func findRunsDir(ctx context.Context, c *factory.Factory) finding {
	detail, err := lookAtRunsDir(ctx, c.RunsDir)
	return judge("runs directory", true, detail, err)
}

func lookAtRunsDir(ctx context.Context, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	at := dir
	info, err := os.Stat(at)
	for errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", errors.New(at + " is not a directory: name another with --runs-dir")
	case unix.Access(at, unix.W_OK|unix.X_OK) != nil:
		return "", errors.New(at + " cannot be written: name another with --runs-dir")
	case at != dir:
		return dir + " will be made", nil
	}
	return dir, rundir.Check(ctx, dir)
}

func findEngine(ctx context.Context, c *factory.Factory) []finding {
	where := temporalclient.Options{RunsDir: c.RunsDir}
	target, err := temporalclient.Resolve(where)
	var t client.Client
	if err == nil {
		t, err = temporalclient.Dial(ctx, where)
	}
	reach := judge("engine", true, fmt.Sprintf("%s, namespace %s, named by %s", target.Address, target.Namespace, target.Source), err)
	if err != nil {
		return []finding{reach}
	}
	defer t.Close()
	return []finding{reach, findDoor(ctx, target), findAttributes(ctx, t, target.Namespace), findWorker(ctx, t, c.Queue), findAdrift(ctx, c, c.ClientOf(t))}
}

// findDoor examines whether the engine asks its callers who they are. Of a server that is not ours
// it knows what we show.
func findDoor(ctx context.Context, target temporalclient.Target) finding {
	f := finding{Name: "lock"}
	if target.Remote() {
		shown := target.Credentials()
		f.OK, f.Detail = shown != "", "that server sees: "+shown
		if shown == "" {
			f.Detail = "that server sees no credentials: whoever reaches it can approve, unless it knows its callers otherwise"
		}
		return f
	}
	at, err := temporalclient.Knock(ctx, target.RunsDir)
	switch {
	case err != nil:
		f.Detail = err.Error()
	case !at.Open:
		f.OK, f.Detail = true, "locked: other users of this machine and pages of other sites are refused"
	default:
		f.Detail = localhost.OpenWarning + "; start `starter up` again, without --open"
	}
	return f
}

func findAttributes(ctx context.Context, t client.Client, namespace string) finding {
	have, err := t.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(attribute.Types())) {
		if have.GetCustomAttributes()[name] != attribute.Types()[name] {
			missing = append(missing, name)
		}
	}
	if err == nil && len(missing) > 0 {
		err = errors.New("missing: " + strings.Join(missing, ", ") + "; `starter up` and `worker` register them")
	}
	return judge("search attributes", true, "registered", err)
}

func findWorker(ctx context.Context, t client.Client, queue string) finding {
	served, err := runs.New(t, queue).AwaitServed(ctx, dispatches.WorkerStart) // a worker that has just been started is found, too
	if err == nil && !served {
		err = runs.ErrNoWorker
	}
	return judge("worker", true, "serves task queue "+queue, err)
}

// findAgents looks for the programs of agents, and starts none. Only their own providers need them.
func findAgents(c *factory.Factory) finding {
	var there []string
	for _, text := range []string{"claude", "codex", "pi", "acp:opencode acp", "acp:gemini --acp"} {
		if spec, err := catalog.Parse(text); err == nil && spec.Validate(".", c.Environ) == nil {
			there = append(there, text)
		}
	}
	more := "; " + c.Hint("doctor --agents") + " asks what they can do"
	if len(there) == 0 {
		return finding{Name: "agents", Detail: "none of Claude Code, Codex, pi, opencode and Gemini is installed" + more}
	}
	return finding{Name: "agents", OK: true, Detail: "installed: " + strings.Join(there, ", ") + more}
}

// leastDisk is the free space, in bytes, below which runs may fail for want of it.
const leastDisk = 500 << 20

// findDisk examines the free space for the records of runs.
func findDisk(c *factory.Factory) finding {
	free, err := engine.FreeDisk(c.RunsDir)
	if err == nil && free < leastDisk {
		err = fmt.Errorf("%s free for %s: runs need some hundred MB; free disk space, or name another directory with --runs-dir", terminal.Bytes(int64(free)), c.RunsDir)
	}
	return judge("disk", true, terminal.Bytes(int64(free))+" free for the runs directory", err)
}

// findKeys names the keys of model APIs that are set here, and says nothing else about them.
func findKeys(c *factory.Factory) []finding {
	var set []string
	for _, name := range catalog.Keys() {
		if c.Getenv(name) != "" {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return nil
	}
	return []finding{{Name: "keys", OK: true, Detail: "set here: " + strings.Join(set, ", ") + "; a provider needs them in the worker's environment"}}
}
