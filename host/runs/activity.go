package runs

import (
	"cmp"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// Activity is a step that a run is executing at this moment.
type Activity struct {
	Name    string          `json:"name"`
	Running bool            `json:"running"`           // a worker has it; false: it waits for a worker or for its next attempt
	Attempt int             `json:"attempt"`           // from 1
	Beat    report.Progress `json:"progress"`          // zero until the activity reports any
	Failure string          `json:"failure,omitempty"` // error of the previous attempt
	Since   time.Time       `json:"since,omitzero"`    // start of this attempt; when it is not running, its scheduling
	Next    time.Time       `json:"next,omitzero"`     // time of the next attempt
}

// steps names the activities of a run for people.
var steps = map[string]string{
	"Prepare":       "the branch",
	"Plan":          "the plan",
	"Propose":       "the patch",
	"TakePart":      "what was chosen of the patch",
	"KeepEdit":      "the edited patch",
	"Apply":         "the commit of the patch",
	"Check":         "the checks",
	"Try":           "the checks of an attempt",
	"Judge":         "the evaluation",
	"CheckBranch":   "the final check of the branch",
	"CleanUp":       "the removal of the worktree",
	"Record":        "the record",
	"SendToSession": "the message to the session",
}

// Step names the activity for people, as in "attempt 2 at the checks".
func (a Activity) Step() string { return cmp.Or(steps[a.Name], a.Name) }

func newActivity(a *workflow.PendingActivityInfo) Activity {
	out := Activity{
		Name:    a.GetActivityType().GetName(),
		Running: a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED,
		Attempt: int(a.GetAttempt()),
		Failure: a.GetLastFailure().GetMessage(),
		Since:   a.GetScheduledTime().AsTime(),
	}
	if a.GetLastFailure().GetTimeoutFailureInfo().GetTimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT {
		out.Failure = "the worker was restarted or did not respond"
	}
	if cause := a.GetLastFailure().GetCause().GetMessage(); cause != "" && out.Failure == "" {
		out.Failure = cause
	}
	if out.Running {
		out.Since = a.GetLastStartedTime().AsTime()
	} else if t := a.GetNextAttemptScheduleTime(); t != nil {
		out.Next = t.AsTime()
	}
	if p := a.GetHeartbeatDetails().GetPayloads(); len(p) > 0 {
		out.Beat = temporalclient.PayloadValue[report.Progress](p[0])
	}
	return out
}
