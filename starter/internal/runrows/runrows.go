// Package runrows makes the rows of lists of runs, and asks the runs what they wait for.
package runrows

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Bounds of describing rows.
const (
	asking      = 8               // runs that are asked at once for what they wait for
	patience    = 3 * time.Second // for the answers of one look
	mostWorking = 40              // runs at work that are asked what they do
)

func Of(found []runs.Listed) []board.Row {
	rows := make([]board.Row, len(found))
	for i, l := range found {
		rows[i] = board.Row{Listed: l}
	}
	return rows
}

// OfTickets returns rows for the tickets that ask.
func OfTickets(asking []runs.TicketView) (rows []board.Row) {
	for _, v := range asking {
		_, short, _ := strings.Cut(v.Name, "/")
		rows = append(rows, board.Row{
			Listed: runs.Listed{ID: run.ID("ticket-" + v.Name), Name: run.Name(short), Status: run.AwaitingInput, Repository: v.Repository, Goal: v.State.Title, Started: v.Since},
			Title:  v.State.Question.Text, Ticket: v.Name,
		})
	}
	return rows
}

// Describe fills in what the waiting rows wait for, what the first working rows do, and what both have used.
func Describe(ctx context.Context, client *runs.Client, rows []board.Row) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	slots := make(chan struct{}, asking)
	var asking sync.WaitGroup
	working := 0
	for i := range rows {
		if rows[i].Ticket != "" { // which is known
			continue
		}
		describe := DescribeWait
		switch board.GroupOf(rows[i].Listed) {
		case board.Done:
			continue
		case board.Working:
			if working++; working > mostWorking {
				continue
			}
			describe = describeWork
		}
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			describe(ctx, client, &rows[i])
		})
	}
	asking.Wait()
}

func DescribeWait(ctx context.Context, client *runs.Client, r *board.Row) {
	v, err := client.View(ctx, r.ID)
	if err != nil || v.Pending == nil {
		return
	}
	switch p := v.Pending; {
	case p.Approval != nil:
		r.Title, r.Stat, r.Tool = p.Approval.Summary, p.Approval.Stat, p.Approval.Permission != nil
	case p.Question != nil:
		r.Title = p.Question.Question.Question
	}
	r.Since, r.Used = v.State.UpdatedAt, v.Facts.Usage
}

// describeWork fills in what a run at work does and has used, the calls in progress included.
func describeWork(ctx context.Context, client *runs.Client, r *board.Row) {
	facts, err := client.Facts(ctx, r.ID)
	if err != nil {
		return
	}
	r.Used = facts.Usage
	e, err := client.Describe(ctx, r.ID)
	if err != nil {
		return
	}
	doing := ""
	for _, a := range e.Activities {
		r.Used = r.Used.Add(a.Beat.Used)
		doing = cmp.Or(a.Beat.Doing, doing)
	}
	if doing != "" {
		r.Title = terminal.Clip(r.Goal, 40) + " · " + doing
	}
}

// Title returns the line above the wait of a run.
func Title(s terminal.Style, r board.Row) string {
	return s.Accent("▸ ") + s.Bold(r.Name.Shown(r.ID)) + s.Dim("  "+story.OneLine(r.Goal, 120))
}

// Print prints the runs, and the tickets that ask. As JSON it prints the runs alone.
func Print(ctx context.Context, c *factory.Factory, client *runs.Client, found []runs.Listed, asking ...runs.TicketView) error {
	if c.JSON {
		return c.PrintJSON(found)
	}
	if len(found)+len(asking) == 0 {
		c.Printf("No runs. `%s` starts one.\n", c.Hint("run --help"))
		return nil
	}
	rows := append(Of(found), OfTickets(asking)...)
	Describe(ctx, client, rows)
	board.Sort(rows)
	c.Printf("%s\n", strings.Join(board.Lines(c.Style(), rows, c.Now(), c.Columns()), "\n"))
	return nil
}

// StatusText returns a status in its colour.
func StatusText(s terminal.Style, status run.Status, outcome string) string {
	text := string(status)
	if outcome != "" {
		text += " (" + outcome + ")"
	}
	switch {
	case status == run.Completed:
		return s.Good(text)
	case status == run.Failed:
		return s.Bad(text)
	case status.Waiting():
		return s.Wait(text)
	}
	return text
}
