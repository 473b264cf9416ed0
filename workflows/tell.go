package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// teller provides the method value only.
var teller activities.Teller

// tellSession gives the session that the run's input names, if it names one, a batch that says what the run waits for or
// how it ended. A batch has the id of the run's last event, so that it is one batch however often it is given. A run
// depends on no session: an error is logged.
func (r *runner) tellSession(ctx workflow.Context) {
	s := r.s
	if s.Input.Tell == "" || s.State.LastEventID == nil {
		return
	}
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	parcel := activities.Parcel{
		ID: fmt.Sprintf("%s.%s", s.Input.RunID, *s.State.LastEventID), Profile: delivery.SafeProfile(), Jobs: []delivery.Job{jobOf(s)},
	}
	err := workflow.ExecuteActivity(tellContext(ctx, s.Input.Tell), teller.TellSession, activities.TellInput{Session: s.Input.Tell, Parcel: parcel}).Get(ctx, nil)
	if err != nil {
		r.log.Warn("result not sent to the session", "session", s.Input.Tell, "reason", report.ProblemOf(err).Message)
	}
}

// maxTold bounds the text about a run. With the words around it, a steer can carry it.
const maxTold = 3000

// jobOf returns what a session is told of the run. Everything in it that a model, a repository or a person wrote is data
// to its reader: see delivery.Batch.Text.
func jobOf(s *run.Snapshot) delivery.Job {
	j := delivery.Job{ID: string(s.Input.RunID), State: delivery.JobReady}
	var t strings.Builder
	line := func(what, text string) {
		if text != "" {
			t.WriteString(fmt.Sprintf("%s: %s\n", what, text))
		}
	}
	line("status", string(s.State.Status))
	line("goal", report.Summary(s.Input.Goal))
	if s.Commits > 0 {
		line("branch", fmt.Sprintf("%s, %d commits, %s", s.Input.BranchName(), s.Commits, s.Stat))
	}
	p := s.Pending()
	if p.Approval != nil {
		line("needs approval of", report.Summary(p.Approval.Summary))
		line("decide with", strings.Join(p.Approval.Commands, "; "))
	}
	if p.Question != nil {
		line("asks", report.Summary(p.Question.Question.Question))
		line("answer with", strings.Join(p.Question.Commands, "; "))
	}
	j.Summary = display.Clip(strings.TrimSuffix(t.String(), "\n"), maxTold)
	switch s.State.Status {
	case run.Failed, run.Canceled:
		j.State = delivery.JobFailed
		if e := s.State.LastError; e != nil {
			j.Reason = report.Summary(e.Message)
		}
	}
	return j
}

// tellContext returns a context for the activity that gives a session a batch. It is short: the run continues without.
func tellContext(ctx workflow.Context, session string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second, ScheduleToCloseTimeout: 30 * time.Second, Summary: "Send to session " + session,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
	})
}
