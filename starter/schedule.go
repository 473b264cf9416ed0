package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/schedule"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	scheduleflow "github.com/ratchet-dev/ratchet/workflows/schedule"
)

// schedulePrefix begins the ids of our schedules, and firePrefix those of the workflows that they start.
const (
	schedulePrefix = "ratchet-"
	firePrefix     = "fire-"
)

var scheduleName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,39}$`)

// overlaps are the words of --overlap.
var overlaps = map[string]enums.ScheduleOverlapPolicy{
	"skip":   enums.SCHEDULE_OVERLAP_POLICY_SKIP,
	"queue":  enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,
	"cancel": enums.SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER,
	"allow":  enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
}

type scheduleFlags struct {
	cron, zone, overlap    string
	every, jitter, catchUp time.Duration
	paused                 bool
	run                    runFlags
}

func (c *cli) scheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Start runs by a calendar",
		Long: `Starts runs by a calendar, with Temporal's schedules. Each fire starts one run with
the goal and the settings that were given at create, on the last commit of the base
at that time. A fire that can start no run tells you by the channels of the worker.`,
		Example: "  starter schedule create nightly 'Update the dependencies' --cron '0 3 * * 1-5' --provider claude\n  starter schedule list",
	}
	cmd.AddCommand(c.scheduleCreate(), c.scheduleList(), c.scheduleShow(), c.schedulePause(), c.scheduleResume(), c.scheduleTrigger(), c.scheduleBackfill(), c.scheduleDelete())
	return cmd
}

func (c *cli) scheduleCreate() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "create NAME GOAL (--cron EXPRESSION | --every DURATION) [flags of run]",
		Short: "Create a schedule",
		Long: `Creates a schedule. The flags of ` + "`starter run`" + ` say what each run does, and the
settings of the repository and of yours complete them now, not at each fire.`,
		Example: "  starter schedule create nightly 'Update the dependencies' --cron '0 3 * * 1-5' --time-zone Europe/Berlin --provider claude\n" +
			"  starter schedule create docs --goal-file goal.md --every 24h --jitter 30m --approve always",
		Args: argsBetween(1, 2, "a NAME and the goal as one argument, in quotes"),
	}
	flags := cmd.Flags()
	f.run.registerFlags(flags)
	for _, name := range []string{"detach", "id"} {
		_ = flags.MarkHidden(name)
	}
	flags.StringVar(&f.cron, "cron", "", "`expression` of five fields: minute, hour, day of the month, month, day of the week")
	flags.DurationVar(&f.every, "every", 0, "`duration` between two fires, such as 6h")
	flags.StringVar(&f.zone, "time-zone", "UTC", "`name` of the time zone of --cron, such as Europe/Berlin")
	flags.StringVar(&f.overlap, "overlap", "skip", "what a fire does while the last run is open: `skip`, queue (one), cancel (the last run) or allow")
	flags.DurationVar(&f.jitter, "jitter", 0, "`duration` by which each fire may be late at random")
	flags.DurationVar(&f.catchUp, "catch-up", time.Hour, "`duration` for which a fire that was missed, as with the engine down, is made up for")
	flags.BoolVar(&f.paused, "paused", false, "create it paused")
	cmd.MarkFlagsOneRequired("cron", "every")
	cmd.MarkFlagsMutuallyExclusive("cron", "every")
	cmd.RunE = c.handleWith(func(ctx context.Context, args []string) error {
		f.run.takeGoal(flags, args[1:])
		return c.createSchedule(ctx, flags, args[0], &f)
	})
	return cmd
}

func (c *cli) createSchedule(ctx context.Context, flags *pflag.FlagSet, name string, f *scheduleFlags) error {
	if err := c.mayDecide(); err != nil {
		return err
	}
	if !scheduleName.MatchString(name) {
		return usageErrorf("%q is no name of a schedule: want letters, digits, - and _, at most 40", display.Line(name))
	}
	overlap, ok := overlaps[f.overlap]
	if !ok {
		return usageErrorf("--overlap %s: want skip, queue, cancel or allow", display.Line(f.overlap))
	}
	if _, err := time.LoadLocation(f.zone); err != nil {
		return usageErrorf("--time-zone %s: no such time zone: want a name such as Europe/Berlin", display.Line(f.zone))
	}
	if f.cron != "" && len(strings.Fields(f.cron)) != 5 {
		return usageErrorf("--cron %q: want five fields, such as '0 3 * * 1-5'", display.Line(f.cron))
	}
	if f.every < 0 || f.every > 0 && f.every < time.Minute {
		return usageErrorf("--every %s: want a minute or more", f.every)
	}
	plan, err := c.schedulePlan(ctx, flags, name, f)
	if err != nil {
		return err
	}
	t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.runsDir})
	if err != nil {
		return err
	}
	defer t.Close()
	if err := c.checkSandbox(plan.Input.Sandbox, false); err != nil {
		return err
	}
	if err := c.probeProviders(ctx, c.clientOf(t), &plan.Input); err != nil {
		return err
	}
	spec := client.ScheduleSpec{Jitter: f.jitter, TimeZoneName: f.zone}
	if f.cron != "" {
		spec.CronExpressions = []string{f.cron}
	} else {
		spec.Intervals = []client.ScheduleIntervalSpec{{Every: f.every}}
	}
	_, err = t.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: schedulePrefix + name, Spec: spec, Overlap: overlap, CatchupWindow: f.catchUp, Paused: f.paused,
		Memo:   map[string]any{"goal": display.OneLine(plan.Input.Goal, 100), "repository": plan.Input.Repository.Path},
		Action: &client.ScheduleWorkflowAction{ID: firePrefix + name, Workflow: scheduleflow.Fire, Args: []any{plan}, TaskQueue: c.queue},
	})
	if errors.Is(err, sdk.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("there is a schedule %s already: `%s` shows it", name, c.hintCommand("schedule show %s", name))
	}
	if err != nil {
		return fmt.Errorf("create the schedule: %w", err)
	}
	return c.showSchedule(ctx, t, name)
}

// schedulePlan returns what each fire starts: the input of a run without an id and a base.
func (c *cli) schedulePlan(ctx context.Context, flags *pflag.FlagSet, name string, f *scheduleFlags) (p schedule.Plan, err error) {
	if err := c.readGoalOf(&f.run); err != nil {
		return p, err
	}
	base := f.run.base
	if base == "" {
		base = "HEAD"
	}
	src, err := workspace.Inspect(ctx, f.run.repo, base)
	if err != nil {
		return p, err
	}
	if f.run.origins, err = c.configure(ctx, flags, src, base); err != nil {
		return p, err
	}
	f.run.limitGiven = flags.Changed("timeout")
	f.run.hurry()
	in, err := c.inputFrom(ctx, f.run, src)
	if err != nil {
		return p, err
	}
	in.RunID, in.Repository.Base = "", ""
	return schedule.Plan{Schedule: name, Input: in, Base: base, Branch: f.run.branch}, nil
}

// shownSchedule is a schedule as `schedule list` and `schedule show` print it.
type shownSchedule struct {
	Name       string      `json:"name"`
	Goal       string      `json:"goal"`
	Repository string      `json:"repository"`
	Paused     bool        `json:"paused"`
	Note       string      `json:"note,omitempty"`
	Next       []time.Time `json:"next"`
	Last       []shownFire `json:"last"`
}

type shownFire struct {
	At    time.Time `json:"at"`
	RunID string    `json:"runId"`
}

// onSchedule returns a command for one schedule that calls act.
func (c *cli) onSchedule(use, short string, act func(ctx context.Context, t client.Client, h client.ScheduleHandle, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Example: "  starter schedule " + use + " nightly", Args: exactArgs(1, "the NAME of a schedule"),
		ValidArgsFunction: c.completeSchedule,
		RunE: c.handleWith(func(ctx context.Context, args []string) error {
			if use != "show" {
				if err := c.mayDecide(); err != nil {
					return err
				}
			}
			t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.runsDir})
			if err != nil {
				return err
			}
			defer t.Close()
			err = act(ctx, t, t.ScheduleClient().GetHandle(ctx, schedulePrefix+args[0]), args[0])
			if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
				return fmt.Errorf("there is no schedule %s: `%s` lists them", display.Line(args[0]), c.hintCommand("schedule list"))
			}
			return err
		}),
	}
}

func (c *cli) completeSchedule(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	t, err := temporalclient.Dial(cmd.Context(), temporalclient.Options{RunsDir: c.runsDir})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer t.Close()
	list, _ := listSchedules(cmd.Context(), t)
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (c *cli) scheduleShow() *cobra.Command {
	return c.onSchedule("show", "Show a schedule, its next fires and its last runs", func(ctx context.Context, t client.Client, _ client.ScheduleHandle, name string) error {
		return c.showSchedule(ctx, t, name)
	})
}

func (c *cli) showSchedule(ctx context.Context, t client.Client, name string) error {
	d, err := t.ScheduleClient().GetHandle(ctx, schedulePrefix+name).Describe(ctx)
	if err != nil {
		return err
	}
	s := shownSchedule{Name: name, Paused: d.Schedule.State.Paused, Note: d.Schedule.State.Note, Next: d.Info.NextActionTimes}
	s.Goal, s.Repository = memoText(d.Memo, "goal"), memoText(d.Memo, "repository")
	for _, a := range d.Info.RecentActions {
		if a.StartWorkflowResult != nil {
			s.Last = append(s.Last, shownFire{a.ActualTime, string(schedule.IDOf(a.StartWorkflowResult.WorkflowID))})
		}
	}
	if c.json {
		return c.printJSON(s)
	}
	c.printSchedule(s)
	for _, fire := range slices.Backward(s.Last) {
		c.printf("  ran %s: `%s`\n", fire.At.Local().Format(time.DateTime), c.hintCommand("status %s", fire.RunID))
	}
	return nil
}

func (c *cli) printSchedule(s shownSchedule) {
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
	c.printf("%s  %s  %s\n  %s\n", c.style().Bold(s.Name), next, display.Line(s.Repository), display.Line(s.Goal))
}

func (c *cli) scheduleList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the schedules", Example: "  starter schedule list", Args: exactArgs(0, "no arguments"),
		RunE: c.handleWith(func(ctx context.Context, _ []string) error {
			t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.runsDir})
			if err != nil {
				return err
			}
			defer t.Close()
			list, err := listSchedules(ctx, t)
			if err != nil {
				return err
			}
			for _, s := range list {
				if c.json {
					if err := c.printJSON(s); err != nil {
						return err
					}
					continue
				}
				c.printSchedule(s)
			}
			if len(list) == 0 && !c.json {
				c.printf("No schedules. `%s` creates one.\n", c.hintCommand("schedule create --help"))
			}
			return nil
		}),
	}
}

func listSchedules(ctx context.Context, t client.Client) (list []shownSchedule, err error) {
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
		list = append(list, shownSchedule{Name: name, Paused: e.Paused, Note: e.Note, Next: e.NextActionTimes, Goal: memoText(e.Memo, "goal"), Repository: memoText(e.Memo, "repository")})
	}
	slices.SortFunc(list, func(a, b shownSchedule) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (c *cli) schedulePause() *cobra.Command {
	return c.onSchedule("pause", "Fire no more until resume; runs that are open go on", func(ctx context.Context, t client.Client, h client.ScheduleHandle, name string) error {
		if err := h.Pause(ctx, client.SchedulePauseOptions{Note: "paused by " + c.userName()}); err != nil {
			return err
		}
		return c.showSchedule(ctx, t, name)
	})
}

func (c *cli) scheduleResume() *cobra.Command {
	return c.onSchedule("resume", "Fire again", func(ctx context.Context, t client.Client, h client.ScheduleHandle, name string) error {
		if err := h.Unpause(ctx, client.ScheduleUnpauseOptions{Note: "resumed by " + c.userName()}); err != nil {
			return err
		}
		return c.showSchedule(ctx, t, name)
	})
}

func (c *cli) scheduleTrigger() *cobra.Command {
	return c.onSchedule("trigger", "Fire once, now", func(ctx context.Context, _ client.Client, h client.ScheduleHandle, name string) error {
		if err := h.Trigger(ctx, client.ScheduleTriggerOptions{}); err != nil {
			return err
		}
		return c.saySchedule(name, "fires now")
	})
}

func (c *cli) scheduleDelete() *cobra.Command {
	return c.onSchedule("delete", "Delete a schedule; its runs stay", func(ctx context.Context, _ client.Client, h client.ScheduleHandle, name string) error {
		if err := h.Delete(ctx); err != nil {
			return err
		}
		return c.saySchedule(name, "is deleted; its runs stay")
	})
}

func (c *cli) scheduleBackfill() *cobra.Command {
	var from, to string
	cmd := c.onSchedule("backfill", "Fire for each time of the past between --from and --to", func(ctx context.Context, _ client.Client, h client.ScheduleHandle, name string) error {
		start, err := c.parseTime("from", from)
		if err != nil {
			return err
		}
		end, err := c.parseTime("to", to)
		if err != nil {
			return err
		}
		if !start.Before(end) {
			return usageErrorf("--from %s is not before --to %s", display.Line(from), display.Line(to))
		}
		if err := h.Backfill(ctx, client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{{Start: start, End: end, Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL}}}); err != nil {
			return err
		}
		return c.saySchedule(name, "makes up for its fires from "+start.Local().Format(time.DateTime)+" to "+end.Local().Format(time.DateTime)+", one after another")
	})
	cmd.Example = "  starter schedule backfill nightly --from 2026-11-20 --to 2026-11-27"
	cmd.Flags().StringVar(&from, "from", "", "`time` such as 2026-11-20 or 2026-11-20T15:00")
	cmd.Flags().StringVar(&to, "to", "", "`time` such as 2026-11-27; default: now")
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

// parseTime reads a time of this machine's time zone; empty means now.
func (c *cli) parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return c.now(), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usageErrorf("--%s %q: want a time such as 2026-11-20 or 2026-11-20T15:00", flag, display.Line(text))
}

func (c *cli) saySchedule(name, what string) error {
	if c.json {
		return c.printJSON(map[string]string{"name": name})
	}
	c.printf("schedule %s %s\n", name, what)
	return nil
}

// memoText returns a text of a memo; empty if it has none.
func memoText(m *commonpb.Memo, key string) (text string) {
	if p, ok := m.GetFields()[key]; ok {
		_ = converter.GetDefaultDataConverter().FromPayload(p, &text)
	}
	return text
}
