package inbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/ticket"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// engine has two runs, three sessions and a ticket that lists show as waiting. A run and a session were decided meanwhile,
// and the workflow of a session does not answer.
type engine struct{}

func (engine) Waiting(context.Context, ...run.Status) ([]runs.Listed, error) {
	return []runs.Listed{{ID: "r1", Name: "shop#1", Status: run.AwaitingApproval, Started: noon}, {ID: "r2", Name: "shop#2", Status: run.AwaitingInput, Started: noon}}, nil
}

func (engine) View(_ context.Context, id run.ID) (runs.View, error) {
	v := runs.View{Pending: &run.Pending{RunID: id, Status: run.Running}}
	v.State.UpdatedAt = noon.Add(3 * time.Minute)
	if id == "r1" {
		v.Pending.Status = run.AwaitingApproval
		v.Pending.Approval = &run.PendingApproval{ApprovalID: "apr-1", Summary: "Trim titles", Stat: run.Stat{Files: 1}}
	}
	return v, nil
}

func (engine) Asking(context.Context) ([]sessions.Listed, error) {
	return []sessions.Listed{{ID: "shop-1", Title: "flaky tests", Started: noon}, {ID: "shop-2", Provider: "codex", Started: noon.Add(9 * time.Minute)}, {ID: "shop-3", Started: noon}}, nil
}

func (engine) State(_ context.Context, id session.ID) (session.Snapshot, error) {
	s := session.Snapshot{Input: session.Input{ID: id}, State: session.Working, Since: noon.Add(2 * time.Minute)}
	switch id {
	case "shop-1":
		s.State = session.Asking
		s.Asks = []session.Ask{{ApprovalID: "apr-7", Permission: run.Permission{Tool: "Bash", Title: "make"}}}
	case "shop-2":
		return s, errors.New("no worker answers")
	}
	return s, nil
}

func (engine) AskingTickets(context.Context) ([]runs.TicketView, error) {
	return []runs.TicketView{{Name: "git.example/acme/shop#7", Since: noon.Add(time.Minute), State: ticket.State{Title: "Cents", Question: &ticket.Question{Key: "locked", Text: "the issue is locked"}}}}, nil
}

func TestAllThatWaitsIsInOneList(t *testing.T) {
	items, err := inbox.Inbox{Runs: engine{}, Sessions: engine{}, Tickets: engine{}}.Gather(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range inbox.Entries(items) {
		got = append(got, strings.Join([]string{string(e.Kind), e.Name, e.Wants, e.Wait, e.About, e.Command}, " | "))
	}
	want := []string{
		"ticket | acme/shop#7 | answer | locked | the issue is locked | starter review git.example/acme/shop#7",
		"session | shop-1 | allow | apr-7 | Bash: make | starter review shop-1",
		"run | shop#1 | approve | apr-1 | Trim titles | starter review shop#1",
		"session | shop-2 | answer |  |  | starter review shop-2",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if others, err := (inbox.Inbox{Runs: engine{}}).Gather(t.Context()); err != nil || len(others) != 1 {
		t.Errorf("runs alone: got %d, %v, want 1", len(others), err)
	}
}
