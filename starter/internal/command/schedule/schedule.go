// Package schedule is the command `starter schedule`.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/activities/schedule"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	scheduleflow "github.com/ratchet-dev/ratchet/workflows/schedule"
)

// schedulePrefix begins the ids of our schedules.
const schedulePrefix = "ratchet-"

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
	issue                  string
	every, jitter, catchUp time.Duration
	paused                 bool
	run                    newrun.Flags
}

func New(c *factory.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Start runs by a calendar",
		Long: `Starts runs or tickets by a calendar, with Temporal's schedules. Each fire starts one
run with the goal and the settings that were given at create, on the last commit of the
base at that time, or the ticket of an issue. A fire that can start none, because the
repository, its base or a provider is missing, tells you by the channels of the worker.`,
		Example: "  starter schedule create nightly 'Update the dependencies' --cron '0 3 * * 1-5' --provider claude\n  starter schedule list",
	}
	cmd.AddCommand(scheduleCreate(c), scheduleList(c), scheduleShow(c), schedulePause(c), scheduleResume(c), scheduleTrigger(c), scheduleBackfill(c), scheduleDelete(c))
	return cmd
}

func scheduleCreate(c *factory.Factory) *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "create NAME (GOAL | --issue URL) (--cron EXPRESSION | --every DURATION) [flags of run]",
		Short: "Create a schedule",
		Long: `Creates a schedule. The flags of ` + "`starter run`" + ` say what each run does, and the
settings of the repository and of yours complete them now, not at each fire.`,
		Example: "  starter schedule create nightly 'Update the dependencies' --cron '0 3 * * 1-5' --time-zone Europe/Berlin --provider claude\n" +
			"  starter schedule create docs --goal-file goal.md --every 24h --jitter 30m --approve always\n" +
			"  starter schedule create issue7 --issue https://github.com/acme/shop/issues/7 --cron '0 1 * * *' --provider claude --max-cost 20",
		Args: usage.ArgsBetween(1, 2, "a NAME and the goal as one argument, in quotes"),
	}
	flags := cmd.Flags()
	f.run.Register(flags)
	newrun.AddCompletion(c, cmd, &f.run)
	for _, name := range []string{"detach", "id"} {
		_ = flags.MarkHidden(name)
	}
	flags.StringVar(&f.cron, "cron", "", "`expression` of five fields: minute, hour, day of the month, month, day of the week")
	flags.DurationVar(&f.every, "every", 0, "`duration` between two starts, such as 6h")
	flags.StringVar(&f.issue, "issue", "", "`URL` of an issue, whose ticket each fire starts in place of a run: see starter ticket")
	flags.StringVar(&f.zone, "time-zone", "UTC", "`name` of the time zone of --cron, such as Europe/Berlin")
	flags.StringVar(&f.overlap, "overlap", "skip", "what a fire does while the last run is open: `skip`, queue (one), cancel (the last run) or allow")
	flags.DurationVar(&f.jitter, "jitter", 0, "`duration` by which each fire may be late at random")
	flags.DurationVar(&f.catchUp, "catch-up", time.Hour, "`duration` for which a fire that was missed, as with the engine down, is made up for")
	flags.BoolVar(&f.paused, "paused", false, "create it paused")
	cmd.MarkFlagsOneRequired("cron", "every")
	cmd.MarkFlagsMutuallyExclusive("cron", "every")
	cmd.RunE = c.Handle(func(ctx context.Context, args []string) error {
		f.run.TakeGoal(flags, args[1:])
		return createSchedule(ctx, c, flags, args[0], &f)
	})
	return cmd
}

func createSchedule(ctx context.Context, c *factory.Factory, flags *pflag.FlagSet, name string, f *scheduleFlags) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	if !scheduleName.MatchString(name) {
		return usage.Errorf("%q is not a name for a schedule: want letters, digits, - and _, at most 40", display.Line(name))
	}
	if _, ok := overlaps[f.overlap]; !ok {
		return usage.Errorf("--overlap %s: want skip, queue, cancel or allow", display.Line(f.overlap))
	}
	if _, err := time.LoadLocation(f.zone); err != nil {
		return usage.Errorf("--time-zone %s: no such time zone: want a name such as Europe/Berlin", display.Line(f.zone))
	}
	if f.cron != "" && len(strings.Fields(f.cron)) != 5 {
		return usage.Errorf("--cron %q: want five fields, such as '0 3 * * 1-5'", display.Line(f.cron))
	}
	if f.every < 0 || f.every > 0 && f.every < time.Minute {
		return usage.Errorf("--every %s: want a minute or more", f.every)
	}
	if f.issue != "" && f.overlap != "skip" {
		return usage.Errorf("--overlap %s with --issue: there is one ticket for each issue, want skip", display.Line(f.overlap))
	}
	plan, err := schedulePlan(ctx, c, flags, name, f)
	if err != nil {
		return err
	}
	t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
	if err != nil {
		return err
	}
	defer t.Close()
	if err := sandboxing.Check(c, plan.Input.Sandbox, false); err != nil {
		return err
	}
	if err := newrun.Probe(ctx, c, c.ClientOf(t), &plan.Input); err != nil {
		return err
	}
	_, err = t.ScheduleClient().Create(ctx, optionsOf(f, plan, c.Queue))
	if errors.Is(err, sdk.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("there is a schedule %s already: `%s` shows it", name, c.Hint("schedule show %s", name))
	}
	if err != nil {
		return fmt.Errorf("create the schedule: %w", err)
	}
	return showSchedule(ctx, c, t, name)
}

// optionsOf returns the schedule of flags that were checked.
func optionsOf(f *scheduleFlags, plan schedule.Plan, queue string) client.ScheduleOptions {
	spec := client.ScheduleSpec{Jitter: f.jitter, TimeZoneName: f.zone}
	if f.cron != "" {
		spec.CronExpressions = []string{f.cron}
	} else {
		spec.Intervals = []client.ScheduleIntervalSpec{{Every: f.every}}
	}
	memo := map[string]any{"goal": display.OneLine(plan.Input.Goal, 100), "repository": plan.Input.Repository.Shown()}
	if plan.Ticket != nil {
		memo["ticket"] = plan.Ticket.Name()
	}
	return client.ScheduleOptions{
		ID: schedulePrefix + plan.Schedule, Spec: spec, Overlap: overlaps[f.overlap], CatchupWindow: f.catchUp, Paused: f.paused, Memo: memo,
		Action: &client.ScheduleWorkflowAction{ID: schedule.FirePrefix + plan.Schedule, Workflow: scheduleflow.Fire, Args: []any{plan}, TaskQueue: queue},
	}
}

// schedulePlan returns what each fire starts: the input of a run without an id and a base, or a ticket.
func schedulePlan(ctx context.Context, c *factory.Factory, flags *pflag.FlagSet, name string, f *scheduleFlags) (p schedule.Plan, err error) {
	var t *schedule.Ticket
	if f.issue != "" {
		if t, err = ticketOf(f); err != nil {
			return p, err
		}
		f.run.Goal, f.run.GoalGiven = "Resolve "+f.issue, true
	}
	if err := newrun.ReadGoal(c, &f.run); err != nil {
		return p, err
	}
	in, base, err := f.run.PlannedInput(ctx, c, flags)
	if err != nil {
		return p, err
	}
	in.RunID, in.Repository.Base = "", ""
	p = schedule.Plan{Schedule: name, Input: in, Base: base, Branch: f.run.Branch, Ticket: t}
	if t != nil {
		t.Input, t.Base, t.Template, t.Bounds.Cost = in, base, f.run.Branch, in.MaxCost
		t.Input.Goal = ""
	}
	return p, nil
}

// ticketOf returns the ticket of an issue, with the bounds that `starter ticket` has by default.
func ticketOf(f *scheduleFlags) (*schedule.Ticket, error) {
	if f.run.GoalGiven {
		return nil, usage.Errorf("give a goal or --issue, not both")
	}
	repo, number, err := forge.ParseIssue(f.issue)
	if err != nil {
		return nil, &usage.Error{Err: err}
	}
	return &schedule.Ticket{
		Ticket: forgeacts.Ticket{Repository: repo, Issue: number}, Bounds: ticket.Bounds{Rounds: 3, Patience: 14 * 24 * time.Hour},
	}, nil
}
