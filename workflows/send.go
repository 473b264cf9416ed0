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

// sender provides the method value only.
var sender activities.Sender

// sendToSession gives the session that the run's input names, if it names one, a batch that says what the run waits for or
// how it ended. A batch has the id of the run's last event, so that it is one batch however often it is given. A run
// depends on no session: an error is logged.
func (r *runner) sendToSession(ctx workflow.Context) {
	s := r.s
	if s.Input.Tell == "" || s.State.LastEventID == nil {
		return
	}
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	batch := activities.EnqueueInput{
		ID: fmt.Sprintf("%s.%s", s.Input.RunID, *s.State.LastEventID), Profile: delivery.SafeProfile(), Jobs: []delivery.Job{jobOf(s)},
	}
	err := workflow.ExecuteActivity(sendContext(ctx, s.Input.Tell), sender.SendToSession, activities.SendInput{Session: s.Input.Tell, Batch: batch}).Get(ctx, nil)
	if err != nil {
		r.log.Warn("result not sent to the session", "session", s.Input.Tell, "reason", report.ProblemOf(err).Message)
	}
}

// maxSummary bounds the text about a run. With the words around it, a steer can carry it.
const maxSummary = 3000

// jobOf describes the run for a session. Everything in it that a model, a repository or a person wrote is data
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
	j.Summary = display.Clip(strings.TrimSuffix(t.String(), "\n"), maxSummary)
	switch s.State.Status {
	case run.Failed, run.Canceled:
		j.State = delivery.JobFailed
		if e := s.State.LastError; e != nil {
			j.Reason = report.Summary(e.Message)
		}
	}
	return j
}

// sendContext returns a context for the activity that gives a session a batch. It is short: the run continues without.
func sendContext(ctx workflow.Context, session string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second, ScheduleToCloseTimeout: 30 * time.Second, Summary: "Send to session " + session,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
	})
}
