// Package inbox gathers what waits for a person: runs, standing sessions and tickets. Every screen that shows what waits
// takes its rows from here, so that no two of them differ.
package inbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// Kind says what an item is.
type Kind string

// The kinds.
const (
	Run     Kind = "run"
	Session Kind = "session"
	Ticket  Kind = "ticket"
)

// Item is a row of a list: a run, or a session or ticket that waits for a person.
type Item struct {
	// Listed is the run; of a session or ticket it has the name, the goal, the repository, the status and the begin.
	runs.Listed
	Kind Kind
	// Ref is the id of the session, or the name of the ticket; of a run it is empty.
	Ref string
	// About is the subject of the wait: a patch's summary, a tool call or a question. Empty: the item did not answer.
	About string
	Stat  run.Stat  // of the patch that waits
	Tool  bool      // a tool call waits, not a patch
	Used  run.Usage // zero: not known
	Since time.Time // of the wait; zero: since the start
	Wait  string    // id of the approval or question; empty: not known
}

// Key names the item among all items.
func (i Item) Key() string { return cmp.Or(i.Ref, string(i.ID)) }

// Shown returns how the item is called in front of people.
func (i Item) Shown() string { return i.Name.Shown(run.ID(i.Key())) }

// Wants says in a word or two what the item does, or what it wants of a person.
func (i Item) Wants() string { return i.Word(i.Tool) }

// Waited returns since when the item waits.
func (i Item) Waited() time.Time {
	if i.Since.IsZero() {
		return i.Started
	}
	return i.Since
}

// Command returns the command that leads to what waits, without the program's name.
func (i Item) Command() string {
	if i.Kind == Run {
		return "review " + i.Shown()
	}
	return "review " + i.Ref
}

// Of returns the items of runs.
func Of(list []runs.Listed) []Item {
	items := make([]Item, len(list))
	for i, l := range list {
		items[i] = Item{Listed: l, Kind: Run}
	}
	return items
}

// Update has a function change the runs of items.
func Update(items []Item, change func([]runs.Listed)) {
	list := make([]runs.Listed, len(items))
	for n, i := range items {
		list[n] = i.Listed
	}
	change(list)
	for n := range items {
		items[n].Listed = list[n]
	}
}

// Sort puts items in the order of lists: the longest wait first, other runs newest first.
func Sort(items []Item) {
	slices.SortStableFunc(items, func(a, b Item) int { return runs.CompareTurns(a.Listed, a.Waited(), b.Listed, b.Waited()) })
}

// The clients that find what waits.
type (
	// Runs is the part of runs.Client for runs.
	Runs interface {
		Waiting(context.Context, ...run.Status) ([]runs.Listed, error)
		View(context.Context, run.ID) (runs.View, error)
	}
	// Sessions is the part of sessions.Client for what sessions ask.
	Sessions interface {
		Asking(context.Context) ([]sessions.Listed, error)
		State(context.Context, session.ID) (session.Snapshot, error)
	}
	// Tickets is the part of runs.Client for what tickets ask.
	Tickets interface {
		AskingTickets(context.Context) ([]runs.TicketView, error)
	}
)

// Inbox finds what waits. Sessions and Tickets may be nil.
type Inbox struct {
	Runs     Runs
	Sessions Sessions
	Tickets  Tickets
}

// New returns the inbox of an engine.
func New(c *runs.Client) Inbox {
	return Inbox{Runs: c, Sessions: sessions.Client{Temporal: c.Temporal()}, Tickets: c}
}

// Bounds of one look.
const (
	most     = 100             // items that are asked what they wait for
	atOnce   = 8               // items that are asked at the same time
	patience = 3 * time.Second // with their answers
)

// Gather returns all that waits for a person, the longest wait first.
func (b Inbox) Gather(ctx context.Context) ([]Item, error) {
	waiting, err := b.Runs.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	others, err := b.Others(ctx)
	if err != nil {
		return nil, err
	}
	items := b.Describe(ctx, append(Of(waiting), others...), nil)
	items = slices.DeleteFunc(items, func(i Item) bool { return i.Turn() != runs.NeedsPerson })
	Sort(items)
	return items, nil
}

// Others returns the sessions and tickets that wait.
func (b Inbox) Others(ctx context.Context) (items []Item, err error) {
	if b.Sessions != nil {
		list, err := b.Sessions.Asking(ctx)
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			items = append(items, OfSession(l))
		}
	}
	if b.Tickets != nil {
		list, err := b.Tickets.AskingTickets(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			items = append(items, OfTicket(v))
		}
	}
	return items, nil
}

// OfSession returns the item of a session that asks.
func OfSession(l sessions.Listed) Item {
	return Item{Kind: Session, Ref: string(l.ID), Listed: runs.Listed{
		Name: run.Name(l.ID), Status: run.AwaitingInput, Repository: l.Repository, Goal: cmp.Or(l.Title, l.Provider), Started: l.Started,
	}}
}

// OfTicket returns the item of a ticket that asks.
func OfTicket(v runs.TicketView) Item {
	_, short, _ := strings.Cut(v.Name, "/")
	return Item{Kind: Ticket, Ref: v.Name, About: v.State.Question.Text, Wait: v.State.Question.Key, Since: v.Since, Listed: runs.Listed{
		Name: run.Name(cmp.Or(short, v.Name)), Status: run.AwaitingInput, Repository: v.Repository, Goal: v.State.Title, Started: v.Since,
	}}
}

// Describe fills in what the waiting items wait for, and calls also for each other one. It leaves out the sessions that wait
// no more: lists show them a little longer. What does not answer in time stays as it is.
func (b Inbox) Describe(ctx context.Context, items []Item, also func(context.Context, *Item)) []Item {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	turns := make(chan struct{}, atOnce)
	var asking sync.WaitGroup
	asked := 0
	for n := range items {
		i, describe := &items[n], b.describe
		if i.Turn() != runs.NeedsPerson {
			describe = also
		} else if asked++; asked > most || i.Kind == Ticket { // a ticket has said it
			describe = nil
		}
		if describe == nil {
			continue
		}
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			describe(ctx, i)
		})
	}
	asking.Wait()
	return slices.DeleteFunc(items, func(i Item) bool { return i.Kind == Session && i.Turn() != runs.NeedsPerson })
}

func (b Inbox) describe(ctx context.Context, i *Item) {
	if i.Kind == Session {
		if s, err := b.Sessions.State(ctx, session.ID(i.Ref)); err == nil {
			i.setPending(sessions.PendingOf(s))
			i.Since, i.Used = s.Since, s.Usage
		}
		return
	}
	v, err := b.Runs.View(ctx, i.ID)
	if err != nil || v.Pending == nil {
		return
	}
	i.setPending(*v.Pending)
	i.Since, i.Used = v.State.UpdatedAt, v.Facts.Usage
}

func (i *Item) setPending(p run.Pending) {
	switch i.Status = p.Status; {
	case p.Approval != nil:
		i.About, i.Stat, i.Tool, i.Wait = p.Approval.Summary, p.Approval.Stat, p.Approval.Permission != nil, p.Approval.ApprovalID
	case p.Question != nil:
		i.About, i.Wait = p.Question.Question.Question, p.Question.QuestionID
	}
}

// Entry is an item as programs read it.
type Entry struct {
	Kind       Kind      `json:"kind"`
	Name       string    `json:"name"`
	ID         string    `json:"id"`
	Wants      string    `json:"wants" jsonschema:"approve, allow or answer"`
	About      string    `json:"about,omitempty" jsonschema:"the patch, the tool call or the question"`
	Wait       string    `json:"waitId,omitempty" jsonschema:"id of the approval or question"`
	Goal       string    `json:"goal,omitempty"`
	Repository string    `json:"repository,omitempty"`
	Since      time.Time `json:"since"`
	Command    string    `json:"command" jsonschema:"leads a person to it at a terminal"`
}

// Entries returns the items as programs read them.
func Entries(items []Item) []Entry {
	list := make([]Entry, len(items))
	for n, i := range items {
		list[n] = Entry{i.Kind, i.Shown(), i.Key(), i.Wants(), i.About, i.Wait, i.Goal, i.Repository, i.Waited(), fmt.Sprintf("starter %s", i.Command())}
	}
	return list
}
