// Package factory gives the commands what they share: the console, the engine with its client of runs, and the
// place of the user's settings. It holds no helper of a command: those are functions in packages of one topic
// each.
package factory

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/store"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Factory is one run of the program.
type Factory struct {
	*console.Console
	RunsDir string
	Server  string // address of a server that may be on another machine; empty: the engine of the runs directory
	Queue   string // the task queue of the host whose disk holds the runs
	Began   bool   // the command line was understood
	Failed  error  // of the command

	namespace string                              // of the engine or server that was resolved last
	execute   func(context.Context, *Factory) int // the whole program, for commands that call others
}

// New returns the factory of one command line, and execute is what runs one.
func New(c console.Console, execute func(context.Context, *Factory) int) *Factory {
	return &Factory{Console: c.Open(), execute: execute}
}

// Fork returns the factory of another command line of the same program.
func (c *Factory) Fork(of console.Console) *Factory { return New(of, c.execute) }

// Run runs the command line, and returns its exit code.
func (c *Factory) Run(ctx context.Context) int { return c.execute(ctx, c) }

// Handle returns a cobra handler that calls handle. It records that the command line was
// understood.
func (c *Factory) Handle(handle func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c.Began = true
		if err := c.checkRunsDir(); err != nil {
			return err
		}
		return handle(cmd.Context(), args)
	}
}

func (c *Factory) Dial(ctx context.Context) (*runs.Client, func(), error) {
	o := temporalclient.Options{RunsDir: c.RunsDir}
	target, err := c.ResolveEngine()
	if err != nil {
		return nil, nil, err
	}
	t, err := target.Dial(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return c.ClientOf(t), t.Close, nil
}

// Complete completes the first argument for the shell with what list returns. It offers nothing without an engine.
func (c *Factory) Complete(list func(context.Context, *runs.Client) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		client, closeClient, err := c.Dial(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer closeClient()
		return list(cmd.Context(), client), cobra.ShellCompDirectiveNoFileComp
	}
}

// ResolveEngine finds the engine of this command, and takes over its runs directory: the variables of `starter env` may
// name an engine of another one, where its records are.
func (c *Factory) ResolveEngine() (temporalclient.Target, error) {
	target, err := temporalclient.Resolve(temporalclient.Options{RunsDir: c.RunsDir})
	if err != nil {
		return target, err
	}
	c.namespace = target.Namespace
	if target.Remote() {
		c.Server = target.Address
	}
	if target.Host != "" && c.Queue == temporalclient.TaskQueue { // that is the home machine's, and its disk is another
		c.Queue = temporalclient.QueueOf(target.Host)
	}
	if target.RunsDir != "" {
		c.RunsDir = target.RunsDir
	}
	return target, c.shareRecords()
}

// storePatience is how long a command waits for the bucket.
const storePatience = 10 * time.Second

// shareRecords gives the runs directory the bucket that the environment names, where the records of other hosts are.
func (c *Factory) shareRecords() error {
	url := c.Getenv(store.Variable)
	if url == "" || rundir.Bucket(c.RunsDir) != nil {
		return nil
	}
	b, err := store.Open(context.Background(), url, storePatience)
	if err != nil {
		return err
	}
	return rundir.Share(c.RunsDir, b)
}

func (c *Factory) ClientOf(t client.Client) *runs.Client {
	r := runs.New(t, c.Queue)
	r.Namespace = c.namespace
	r.RunsDir, r.MayDecide, r.Here, r.By = c.RunsDir, c.MayDecide, HereLabel, c.UserName()
	return r
}

// OpenRecord returns the directory of a run on this host.
func (c *Factory) OpenRecord(id run.ID) (*rundir.Dir, error) {
	return rundir.OfRun(c.RunsDir, id)
}

func (c *Factory) RecordedEvents(id run.ID) ([]run.Event, error) {
	dir, err := c.OpenRecord(id)
	if err != nil {
		return nil, err
	}
	return dir.Events()
}

// Hint returns a command line of this program that reaches the same engine.
func (c *Factory) Hint(format string, args ...any) string {
	line := cmp.Or(c.Program, "starter") + " " + fmt.Sprintf(format, args...)
	if c.RunsDir != c.DefaultRunsDir() {
		line += " --runs-dir " + shellquote.Join(c.RunsDir)
	}
	return line
}

// HereLabel returns the label of the repository around the working directory; empty if there is none.
func HereLabel(ctx context.Context) string {
	root, err := workspace.Root(ctx, ".")
	if err != nil {
		return ""
	}
	return run.Label(root)
}

// DefaultRunsDir returns the runs directory of a command that names none; see rundir.DefaultDir.
func (c *Factory) DefaultRunsDir() string { return rundir.DefaultDir(c.Getenv) }

// checkRunsDir refuses a command line that leads to no runs directory.
func (c *Factory) checkRunsDir() error {
	if c.RunsDir == "" {
		return usage.Errorf("no runs directory, because neither XDG_STATE_HOME nor HOME names a directory: give --runs-dir DIR")
	}
	return c.shareRecords()
}

// AskToAgree asks the person at the terminal. Anything but yes is an error, after which nothing is done.
func (c *Factory) AskToAgree(question string) error {
	if !c.Interactive {
		return usage.Errorf("nothing was changed: this is not a terminal, so agree with --yes")
	}
	c.Printf("%s [y/N] ", question)
	line, _ := bufio.NewReader(c.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed")
}

// Call runs a command of this program in this process, without a terminal, and returns its output. In args, untrusted
// values must follow an equals sign or the end of the flags, so that they are not read as flags.
func (c *Factory) Call(ctx context.Context, args ...string) ([]byte, error) {
	args = append([]string{args[0], "--runs-dir=" + c.RunsDir, "--task-queue=" + c.Queue}, args[1:]...)
	var out, said bytes.Buffer
	child := c.Fork(console.Console{
		Program: c.Program, Args: args, In: strings.NewReader(""), Out: &out, Err: &said, Environ: c.Environ, Now: c.Now,
		Width: func() int { return 0 }, Supervised: c.Supervised,
	})
	if code := child.Run(ctx); code != 0 && child.Failed == nil {
		return nil, fmt.Errorf("it ended with exit code %d", code)
	}
	return out.Bytes(), child.Failed
}
