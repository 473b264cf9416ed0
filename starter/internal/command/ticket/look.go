package ticket

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

const wantsTicket = "one TICKET: the URL of its issue, a name from `starter ticket list`, or the number of the issue"

// onTicket returns a command for one ticket that calls act.
func onTicket(c *factory.Factory, use, short string, least, most int, act func(ctx context.Context, client *runs.Client, name string, more []string) error) *cobra.Command {
	verb, _, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use: use, Short: short, Example: "  starter ticket " + verb + " 7", Args: usage.ArgsBetween(least, most, wantsTicket),
		ValidArgsFunction: completeTicket(c),
		RunE: c.Handle(func(ctx context.Context, args []string) error {
			client, closeClient, err := c.Dial(ctx)
			if err != nil {
				return err
			}
			defer closeClient()
			name, err := findTicket(ctx, client, args[0])
			if err != nil {
				return err
			}
			return act(ctx, client, name, args[1:])
		}),
	}
}

// findTicket returns the name of the ticket that a word of the command line means.
func findTicket(ctx context.Context, client *runs.Client, word string) (string, error) {
	if repo, number, err := forge.ParseIssue(word); err == nil {
		return fmt.Sprintf("%s#%d", repo, number), nil
	}
	number := strings.TrimPrefix(word, "#")
	if _, err := strconv.Atoi(number); err != nil {
		return word, nil
	}
	list, err := client.Tickets(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, v := range list {
		if strings.HasSuffix(v.Name, "#"+number) {
			found = append(found, v.Name)
		}
	}
	switch len(found) {
	case 0:
		return "", &runs.NoTicketError{Name: word}
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%d tickets have the issue %s: name one: %s", len(found), number, strings.Join(found, " or "))
}

// completeTicket completes the names of tickets.
func completeTicket(c *factory.Factory) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, client *runs.Client) (names []string) {
		list, _ := client.Tickets(ctx)
		for _, v := range list {
			names = append(names, v.Name)
		}
		return names
	})
}

func ticketList(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tickets, the open ones first", Example: "  starter ticket list", Args: usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			client, closeClient, err := c.Dial(ctx)
			if err != nil {
				return err
			}
			defer closeClient()
			list, err := client.Tickets(ctx)
			if err != nil {
				return err
			}
			for _, v := range list {
				if err := printTicket(c, v); err != nil {
					return err
				}
			}
			if len(list) == 0 && !c.JSON {
				c.Printf("No tickets. `%s` starts one.\n", c.Hint("ticket URL"))
			}
			return nil
		}),
	}
}

func ticketShow(c *factory.Factory) *cobra.Command {
	return onTicket(c, "show TICKET", "Show a ticket, its run and its pull request", 1, 1, func(ctx context.Context, client *runs.Client, name string, _ []string) error {
		return showTicket(ctx, c, client, name)
	})
}

func ticketAnswer(c *factory.Factory) *cobra.Command {
	cmd := onTicket(c, "answer TICKET TEXT", "Answer the question of a ticket", 2, 2, func(ctx context.Context, client *runs.Client, name string, more []string) error {
		if strings.TrimSpace(more[0]) == "" {
			return usage.Errorf("the answer is empty: say continue, or what the next run should know")
		}
		if err := client.AnswerTicket(ctx, name, more[0]); err != nil {
			return err
		}
		return saidOfTicket(c, name, "has the answer")
	})
	cmd.Example = "  starter ticket answer 7 continue\n  starter ticket answer 7 'leave the public API alone'"
	return cmd
}

func ticketRetry(c *factory.Factory) *cobra.Command {
	return onTicket(c, "retry TICKET", "Try again what a ticket asks about, or begin a ticket that is over again", 1, 1, func(ctx context.Context, client *runs.Client, name string, _ []string) error {
		if err := client.RetryTicket(ctx, name); err != nil {
			return err
		}
		return saidOfTicket(c, name, "continues")
	})
}

func ticketStop(c *factory.Factory) *cobra.Command {
	return onTicket(c, "stop TICKET", "End a ticket and its run; branch and pull request stay", 1, 1, func(ctx context.Context, client *runs.Client, name string, _ []string) error {
		if err := client.StopTicket(ctx, name); err != nil {
			return err
		}
		return saidOfTicket(c, name, "ends")
	})
}

func saidOfTicket(c *factory.Factory, name, what string) error {
	if c.JSON {
		return c.PrintJSON(map[string]string{"name": name})
	}
	c.Printf("ticket %s %s\n", display.Line(name), what)
	return nil
}

func showTicket(ctx context.Context, c *factory.Factory, client *runs.Client, name string) error {
	v, err := client.Ticket(ctx, name)
	if err != nil {
		return err
	}
	return printTicket(c, v)
}

func printTicket(c *factory.Factory, v runs.TicketView) error {
	if c.JSON {
		return c.PrintJSON(v)
	}
	s, style := v.State, c.Style()
	stands := string(s.Step)
	if !v.Open {
		stands = string(s.End)
	}
	c.Printf("%s  %s  %s\n", style.Bold(display.Line(v.Name)), stands, display.Line(s.Title))
	line := func(label, text string) {
		if text != "" {
			c.Printf("  %-8s %s\n", label, display.Line(text))
		}
	}
	if s.Run != "" {
		line("run", fmt.Sprintf("%s, round %d", s.Name.Shown(s.Run), s.Rounds))
	}
	line("pull", s.URL)
	line("checks", s.Checks)
	line("approved", strings.Join(s.Approvers, ", "))
	line("calls", rateWords(v.Rate))
	line("end", s.Reason)
	line("problem", v.Problem)
	line("comment", s.Silent)
	if s.Question != nil {
		c.Printf("  %s %s\n", style.Wait("asks"), display.Line(s.Question.Text))
		c.Printf("  %s\n", style.Dim(fmt.Sprintf("`%s`, or `%s`", c.Hint("ticket retry %s", v.Name), c.Hint("ticket stop %s", v.Name))))
	}
	return nil
}

// rateWords says what is left of a server's limit of calls; empty: the server has not said.
func rateWords(r forge.Rate) string {
	if r.Limit == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d left until %s", r.Remaining, r.Limit, r.Reset.Local().Format(time.TimeOnly))
}
