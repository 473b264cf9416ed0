// Package register has the commands `starter register` and `starter hook`.
package register

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/register"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var remove, yes bool
	cmd := &cobra.Command{
		Use:   "register claude",
		Short: "Make your own Claude Code sessions reachable for messages",
		Long: `Adds hooks to your settings of Claude Code. Each session that you start from then on
is listed by starter peers, and a message to it (starter dispatch) wakes it: it
learns how many messages there are and reads them itself. Nothing is written before
you have agreed, in the terminal or by --yes; --remove takes the hooks out again.
The agents of runs are not concerned.`,
		Example:   "  starter register claude\n  starter register claude --remove",
		ValidArgs: []string{"claude"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "claude" {
				return errors.New("invalid program: want claude")
			}
			return nil
		},
		RunE: c.Handle(func(_ context.Context, _ []string) error {
			if err := c.MayDecide(); err != nil {
				return err
			}
			settings, err := register.SettingsOf(c.Getenv)
			if err != nil {
				return err
			}
			if remove {
				return unregisterClaude(c, settings, yes)
			}
			return registerClaude(c, settings, yes)
		}),
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "take the hooks out of the settings")
	cmd.Flags().BoolVar(&yes, "yes", false, "change the settings without asking")
	return cmd
}

func registerClaude(c *factory.Factory, settings register.Settings, yes bool) error {
	program, err := thisProgram(c)
	if err != nil {
		return err
	}
	change, err := settings.Install(program)
	if err != nil {
		return err
	}
	if change.None {
		c.Printf("%s has the hooks already. Sessions that you start are listed by starter peers.\n", settings.Path)
		return nil
	}
	if !yes {
		c.Printf("This would be added to %s:\n\n%s\n", settings.Path, display.Text([]byte(change.Entries)))
		if err := c.AskToAgree("Add it?"); err != nil {
			return err
		}
	}
	if err := change.Make(); err != nil {
		return err
	}
	if change.Disabled {
		fmt.Fprintln(c.Err, "starter: these settings say disableAllHooks, so no hook runs: take that out")
	}
	c.Printf("Done: sessions of Claude Code that you start from now on are listed by starter peers. To undo: starter register claude --remove\n")
	return nil
}

func unregisterClaude(c *factory.Factory, settings register.Settings, yes bool) error {
	change, err := settings.Remove()
	if err != nil {
		return err
	}
	if change.None {
		c.Printf("%s has no hooks of ours.\n", settings.Path)
		return nil
	}
	if !yes {
		if err := c.AskToAgree("Take the hooks of starter register out of " + settings.Path + "?"); err != nil {
			return err
		}
	}
	if err := change.Make(); err != nil {
		return err
	}
	c.Printf("Done: sessions that run now can be reached until they end.\n")
	return nil
}

// thisProgram returns a path of this program that stays: as the PATH has it, else its own.
func thisProgram(c *factory.Factory) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(c.Program, "go run") {
		return "", errors.New("`go run` removes this program when it exits: install it with `go install ./starter`, and use that one")
	}
	named, err := exec.LookPath(filepath.Base(self))
	if err != nil {
		return self, nil
	}
	a, errA := os.Stat(named)
	b, errB := os.Stat(self)
	if errA == nil && errB == nil && os.SameFile(a, b) && filepath.IsAbs(named) {
		return named, nil
	}
	return self, nil
}

// NewHook is called by Claude Code, as register has it in the settings. It disturbs no session:
// an obstacle is reported to the person there.
func NewHook(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "hook claude", Short: "Take an event of a Claude Code session", Hidden: true,
		Long:    "Is called by Claude Code with an event on standard input, as `starter register claude` has it in the settings.",
		Example: "  starter hook claude < event.json",
		Args:    usage.Args(1, "claude"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Began = true
			if !isPersonsSession(c) {
				return nil
			}
			dirs, err := dispatches.Registry(c)
			if err != nil {
				return err
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			mail, err := register.Hook{Dirs: dirs, Owner: marker.OwnerOf(clientProcess(c)), Now: c.Now(), Reader: readerCommand(program)}.Handle(cmd.Context(), c.In, c.Out)
			if err != nil || mail == nil {
				return err
			}
			fmt.Fprintln(c.Err, mail)
			return &exit.ChildError{Code: wakeCode}
		},
	}
}

// readerCommand returns the command line that reads a mailbox by this program, for the session's shell.
func readerCommand(program string) string { return shellquote.Join(program, "inbox", "read") }

// wakeCode is the exit code by which a hook of Claude Code has its standard error shown to the model, and the
// session woken.
const wakeCode = 2

// isPersonsSession reports whether a person has started the session of the hook: no run and no worker has, and no
// program that uses Claude Code as a library.
func isPersonsSession(c *factory.Factory) bool {
	if c.Getenv(proc.RunVariable) != "" || c.Supervised != nil && c.Supervised() {
		return false
	}
	return !strings.HasPrefix(c.Getenv("CLAUDE_CODE_ENTRYPOINT"), "sdk")
}

// clientProcess returns the process of Claude Code: the one that it names, if that is above this one, else the
// parent.
func clientProcess(c *factory.Factory) int {
	named, err := strconv.Atoi(c.Getenv("CLAUDE_PID"))
	const generations = 8
	for at, n := os.Getppid(), 0; err == nil && n < generations && process.Plausible(at); at, n = process.Parent(at), n+1 {
		if at == named {
			return named
		}
	}
	return os.Getppid()
}
