package workflows_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	activities "github.com/ratchet-dev/ratchet/activities/notify"
	notices "github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows/notify"
)

// A receiver that is away gets the notice when it is back (the test environment tries ten times at most); one that is
// gone, and a program that fails, do not hold the others up.
func TestANoticeIsDelivered(t *testing.T) {
	for name, tc := range map[string]struct {
		fails map[run.Channel]int // attempts that fail
		gone  bool
		want  map[run.Channel]bool
		tries map[run.Channel]int
	}{
		"at once": {nil, false, map[run.Channel]bool{run.CommandChannel: true, run.WebhookChannel: true}, map[run.Channel]int{run.CommandChannel: 1, run.WebhookChannel: 1}},
		"later":   {map[run.Channel]int{run.WebhookChannel: 8}, false, map[run.Channel]bool{run.CommandChannel: true, run.WebhookChannel: true}, map[run.Channel]int{run.WebhookChannel: 9}},
		"in part": {map[run.Channel]int{run.CommandChannel: 99, run.WebhookChannel: 1}, true, map[run.Channel]bool{run.CommandChannel: false, run.WebhookChannel: false}, map[run.Channel]int{run.CommandChannel: 3, run.WebhookChannel: 1}},
		"never":   {map[run.Channel]int{run.WebhookChannel: 9999}, false, map[run.Channel]bool{run.CommandChannel: true, run.WebhookChannel: false}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := temporaltest.Environment()
			var mu sync.Mutex // the channels are told at once
			tries := map[run.Channel]int{}
			e.RegisterActivityWithOptions(func(_ context.Context, in activities.SendInput) error {
				mu.Lock()
				defer mu.Unlock()
				tries[in.Channel]++
				switch {
				case in.Notice.ID != "notice-1":
					t.Errorf("the notice is %+v", in.Notice)
				case tries[in.Channel] > tc.fails[in.Channel]:
					return nil
				case tc.gone && in.Channel == run.WebhookChannel:
					return temporal.NewNonRetryableApplicationError("gone", activities.RefusedError, nil)
				}
				return errors.New("away")
			}, activity.RegisterOptions{Name: "SendNotice"})
			e.ExecuteWorkflow(notify.Notice, notify.Input{Notice: notices.Notice{ID: "notice-1", Kind: notices.Approval}, Channels: []run.Channel{run.CommandChannel, run.WebhookChannel}})
			var out notify.Result
			if err := e.GetWorkflowResult(&out); err != nil {
				t.Fatal(err)
			}
			for c, delivered := range tc.want {
				if (out.Outcomes[c] == notify.Delivered) != delivered {
					t.Errorf("%s: %s", c, out.Outcomes[c])
				}
			}
			for c, n := range tc.tries {
				if tries[c] != n {
					t.Errorf("%s was tried %d times, want %d", c, tries[c], n)
				}
			}
		})
	}
}
