package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

func (c *cli) sessionSetCommand() *cobra.Command {
	var model, mode, by string
	cmd := &cobra.Command{
		Use:   "set SESSION",
		Short: "Change the session's model or mode",
		Long: `Changes the model, the mode or both for all messages to come. What is not given
stays; an empty text leaves the choice to the agent. A turn under way ends as it
began. An agent without a turn is ended: the next message resumes it with the
choice.`,
		Example: "  starter session set 0198c5e2 --model opus\n  starter session set 0198c5e2 --mode plan\n  starter session set 0198c5e2 --model ''",
		Args:    exactArgs(1, wantsSession), ValidArgsFunction: c.completeSession(),
	}
	flags := cmd.Flags()
	flags.StringVar(&model, "model", "", "`model` from the next turn on")
	flags.StringVar(&mode, "mode", "", "`mode` from the next turn on, by the agent's own name; starter agents --json lists them")
	c.byFlag(flags, &by, "`name` of who says it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var change setup.Change
		if flags.Changed("model") {
			change.Model = &model
		}
		if flags.Changed("mode") {
			change.Mode = &mode
		}
		if change.IsZero() {
			return usageErrorf("nothing to change: give --model, --mode, or both")
		}
		return c.onSession(func(ctx context.Context, s foundSession, _ []string) error {
			var chosen sessionflow.Chosen
			if err := s.Send(ctx, s.id, sessionflow.ChooseUpdate, "", sessionflow.Choosing{Change: change, By: by}, &chosen); err != nil {
				return err
			}
			return c.printChosen(s.id, chosen)
		})(cmd, args)
	}
	return cmd
}

func (c *cli) printChosen(id session.ID, chosen sessionflow.Chosen) error {
	if c.json {
		return c.printJSON(struct {
			Session session.ID `json:"sessionId"`
			sessionflow.Chosen
		}{id, chosen})
	}
	when := ""
	if chosen.Later {
		when = ", once the turn under way has ended"
	}
	c.printf("session %s: %s%s\n", id, choiceText(chosen.Choice), when)
	return nil
}

// choiceText describes the choice in words.
func choiceText(chosen setup.Choice) string {
	name := func(what, word string) string {
		if word == "" {
			return "the agent's own " + what
		}
		return what + " " + story.OneLine(word, 100)
	}
	return name("model", chosen.Model) + ", " + name("mode", chosen.Mode)
}
