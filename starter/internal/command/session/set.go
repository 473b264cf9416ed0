package session

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

func sessionSetCommand(c *factory.Factory) *cobra.Command {
	var model, mode, by string
	cmd := &cobra.Command{
		Use:   "set SESSION",
		Short: "Change the session's model or mode",
		Long: `Changes the model, the mode or both for all messages to come. What is not given
stays; an empty text leaves the choice to the agent. The current turn ends as it
began. An agent without a turn is ended: the next message resumes it with the
choice.`,
		Example: "  starter session set shop-2 --model opus\n  starter session set shop-2 --mode plan\n  starter session set shop-2 --model ''",
		Args:    usage.Args(1, sessionref.Wants), ValidArgsFunction: sessionref.Complete(c),
	}
	flags := cmd.Flags()
	flags.StringVar(&model, "model", "", "`model` from the next turn on")
	flags.StringVar(&mode, "mode", "", "`mode` from the next turn on, by the agent's own name; starter doctor --agents --json lists them")
	byflag.Add(c, flags, &by, "`name` of who says it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var change setup.Change
		if flags.Changed("model") {
			change.Model = &model
		}
		if flags.Changed("mode") {
			change.Mode = &mode
		}
		if change.IsZero() {
			return usage.Errorf("nothing to change: give --model, --mode, or both")
		}
		return sessionref.On(c, func(ctx context.Context, s sessionref.Found, _ []string) error {
			var chosen sessionflow.Chosen
			if err := s.Send(ctx, s.ID, sessionflow.ChooseUpdate, "", sessionflow.Choosing{Change: change, By: by}, &chosen); err != nil {
				return err
			}
			return printChosen(c, s.ID, chosen)
		})(cmd, args)
	}
	return cmd
}

func printChosen(c *factory.Factory, id session.ID, chosen sessionflow.Chosen) error {
	if c.JSON {
		return c.PrintJSON(struct {
			Session session.ID `json:"sessionId"`
			sessionflow.Chosen
		}{id, chosen})
	}
	when := ""
	if chosen.Later {
		when = ", once the current turn has ended"
	}
	c.Printf("session %s: %s%s\n", id, choiceText(chosen.Choice), when)
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
