package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/activities/schedule"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	scheduleflow "github.com/ratchet-dev/ratchet/workflows/schedule"
)

// Shown is a schedule as `schedule list` and `schedule show` print it.
type Shown struct {
	Name       string      `json:"name"`
	Goal       string      `json:"goal"`
	Repository string      `json:"repository"`
	Paused     bool        `json:"paused"`
	Note       string      `json:"note,omitempty"`
	Next       []time.Time `json:"next"`
	Last       []shownFire `json:"last"`
}

type shownFire struct {
	At     time.Time `json:"at"`
	RunID  string    `json:"runId,omitempty"`
	Ticket string    `json:"ticket,omitempty"`
	// Problem is why the fire has started nothing; empty: it has, or is about to.
	Problem string `json:"problem,omitempty"`
}

// onSchedule returns a command for one schedule that calls act.
func onSchedule(c *factory.Factory, use, short string, act func(ctx context.Context, t client.Client, h client.ScheduleHandle, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Example: "  starter schedule " + use + " nightly", Args: usage.Args(1, "the NAME of a schedule"),
		ValidArgsFunction: completeSchedule(c),
		RunE: c.Handle(func(ctx context.Context, args []string) error {
			if use != "show" {
				if err := c.MayDecide(); err != nil {
					return err
				}
			}
			t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
			if err != nil {
				return err
			}
			defer t.Close()
			err = act(ctx, t, t.ScheduleClient().GetHandle(ctx, schedulePrefix+args[0]), args[0])
			if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
				return fmt.Errorf("there is no schedule %s: `%s` lists them", display.Line(args[0]), c.Hint("schedule list"))
			}
			return err
		}),
	}
}

func completeSchedule(c *factory.Factory) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, client *runs.Client) (names []string) {
		list, _ := listSchedules(ctx, client.Temporal())
		for _, s := range list {
			names = append(names, s.Name)
		}
		return names
	})
}

func scheduleShow(c *factory.Factory) *cobra.Command {
	return onSchedule(c, "show", "Show a schedule, its next starts and its last runs", func(ctx context.Context, t client.Client, _ client.ScheduleHandle, name string) error {
		return showSchedule(ctx, c, t, name)
	})
}

func showSchedule(ctx context.Context, c *factory.Factory, t client.Client, name string) error {
	d, err := t.ScheduleClient().GetHandle(ctx, schedulePrefix+name).Describe(ctx)
	if err != nil {
		return err
	}
	s := Shown{Name: name, Paused: d.Schedule.State.Paused, Note: d.Schedule.State.Note, Next: d.Info.NextActionTimes}
	s.Goal, s.Repository = memoText(d.Memo, "goal"), memoText(d.Memo, "repository")
	for _, a := range d.Info.RecentActions {
		if a.StartWorkflowResult != nil {
			s.Last = append(s.Last, lookAtFire(ctx, t, memoText(d.Memo, "ticket"), a))
		}
	}
	if c.JSON {
		return c.PrintJSON(s)
	}
	printSchedule(c, s)
	for _, fire := range slices.Backward(s.Last) {
		at := fire.At.Local().Format(time.DateTime)
		switch {
		case fire.Problem != "":
			c.Printf("  could not start %s: %s\n", at, display.OneLine(fire.Problem, 300))
		case fire.Ticket != "":
			c.Printf("  ran %s: `%s`\n", at, c.Hint("ticket show %s", fire.Ticket))
		default:
			c.Printf("  ran %s: `%s`\n", at, c.Hint("status %s", fire.RunID))
		}
	}
	return nil
}

// lookAtFire returns what a fire has started. One that has ended says it in its result.
func lookAtFire(ctx context.Context, t client.Client, ticket string, a client.ScheduleActionResult) shownFire {
	shown := shownFire{At: a.ActualTime}
	id, execution := a.StartWorkflowResult.WorkflowID, a.StartWorkflowResult.FirstExecutionRunID
	if d, err := temporalclient.Describe(ctx, t, id, execution); err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		var out scheduleflow.Result
		if t.GetWorkflow(ctx, id, execution).Get(ctx, &out) == nil && out.Problem != nil {
			shown.Problem = out.Problem.Message
			return shown
		}
	}
	if shown.Ticket = ticket; ticket == "" {
		shown.RunID = string(schedule.IDOf(id))
	}
	return shown
}

func printSchedule(c *factory.Factory, s Shown) {
	next := "no next fire"
	switch {
	case s.Paused:
		next = "paused"
		if s.Note != "" {
			next += ": " + display.Line(s.Note)
		}
	case len(s.Next) > 0:
		next = "next " + s.Next[0].Local().Format(time.DateTime)
	}
	c.Printf("%s  %s  %s\n  %s\n", c.Style().Bold(s.Name), next, display.Line(s.Repository), display.Line(s.Goal))
}

func scheduleList(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the schedules", Example: "  starter schedule list", Args: usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
			if err != nil {
				return err
			}
			defer t.Close()
			list, err := listSchedules(ctx, t)
			if err != nil {
				return err
			}
			for _, s := range list {
				if c.JSON {
					if err := c.PrintJSON(s); err != nil {
						return err
					}
					continue
				}
				printSchedule(c, s)
			}
			if len(list) == 0 && !c.JSON {
				c.Printf("No schedules. `%s` creates one.\n", c.Hint("schedule create --help"))
			}
			return nil
		}),
	}
}

func listSchedules(ctx context.Context, t client.Client) (list []Shown, err error) {
	found, err := t.ScheduleClient().List(ctx, client.ScheduleListOptions{})
	if err != nil {
		return nil, err
	}
	for found.HasNext() {
		e, err := found.Next()
		if err != nil {
			return nil, err
		}
		name, ours := strings.CutPrefix(e.ID, schedulePrefix)
		if !ours {
			continue
		}
		list = append(list, Shown{Name: name, Paused: e.Paused, Note: e.Note, Next: e.NextActionTimes, Goal: memoText(e.Memo, "goal"), Repository: memoText(e.Memo, "repository")})
	}
	slices.SortFunc(list, func(a, b Shown) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func schedulePause(c *factory.Factory) *cobra.Command {
	return onSchedule(c, "pause", "Fire no more until resume; open runs continue", func(ctx context.Context, t client.Client, h client.ScheduleHandle, name string) error {
		if err := h.Pause(ctx, client.SchedulePauseOptions{Note: "paused by " + c.UserName()}); err != nil {
			return err
		}
		return showSchedule(ctx, c, t, name)
	})
}

func scheduleResume(c *factory.Factory) *cobra.Command {
	return onSchedule(c, "resume", "Fire again", func(ctx context.Context, t client.Client, h client.ScheduleHandle, name string) error {
		if err := h.Unpause(ctx, client.ScheduleUnpauseOptions{Note: "resumed by " + c.UserName()}); err != nil {
			return err
		}
		return showSchedule(ctx, c, t, name)
	})
}

func scheduleTrigger(c *factory.Factory) *cobra.Command {
	return onSchedule(c, "trigger", "Fire once, now", func(ctx context.Context, _ client.Client, h client.ScheduleHandle, name string) error {
		if err := h.Trigger(ctx, client.ScheduleTriggerOptions{}); err != nil {
			return err
		}
		return saySchedule(c, name, "starts now")
	})
}

func scheduleDelete(c *factory.Factory) *cobra.Command {
	return onSchedule(c, "delete", "Delete a schedule; its runs stay", func(ctx context.Context, _ client.Client, h client.ScheduleHandle, name string) error {
		if err := h.Delete(ctx); err != nil {
			return err
		}
		return saySchedule(c, name, "is deleted; its runs stay")
	})
}

func scheduleBackfill(c *factory.Factory) *cobra.Command {
	var from, to string
	cmd := onSchedule(c, "backfill", "Fire for each time of the past between --from and --to", func(ctx context.Context, _ client.Client, h client.ScheduleHandle, name string) error {
		start, err := parseTime(c, "from", from)
		if err != nil {
			return err
		}
		end, err := parseTime(c, "to", to)
		if err != nil {
			return err
		}
		if !start.Before(end) {
			return usage.Errorf("--from %s is not before --to %s", display.Line(from), display.Line(to))
		}
		if err := h.Backfill(ctx, client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{{Start: start, End: end, Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL}}}); err != nil {
			return err
		}
		return saySchedule(c, name, "makes up for its starts from "+start.Local().Format(time.DateTime)+" to "+end.Local().Format(time.DateTime)+", one after another")
	})
	cmd.Example = "  starter schedule backfill nightly --from 2026-11-20 --to 2026-11-27"
	cmd.Flags().StringVar(&from, "from", "", "`time` such as 2026-11-20 or 2026-11-20T15:00")
	cmd.Flags().StringVar(&to, "to", "", "`time` such as 2026-11-27; default: now")
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

// parseTime reads a time of this machine's time zone; empty means now.
func parseTime(c *factory.Factory, flag, text string) (time.Time, error) {
	if text == "" {
		return c.Now(), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usage.Errorf("--%s %q: want a time such as 2026-11-20 or 2026-11-20T15:00", flag, display.Line(text))
}

func saySchedule(c *factory.Factory, name, what string) error {
	if c.JSON {
		return c.PrintJSON(map[string]string{"name": name})
	}
	c.Printf("schedule %s %s\n", name, what)
	return nil
}

// memoText returns a text of a memo; empty if it has none.
func memoText(m *commonpb.Memo, key string) (text string) {
	if p, ok := m.GetFields()[key]; ok {
		_ = converter.GetDefaultDataConverter().FromPayload(p, &text)
	}
	return text
}
