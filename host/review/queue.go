package review

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// queueView is the page of all runs.
type queueView struct {
	shell
	Groups []group
}

// group is a part of the queue.
type group struct {
	Title string
	None  string // shown when there is nothing in it; empty: the group is left out then
	Rows  []row
}

// row is a run in the queue.
type row struct {
	Name, Path       string
	Repository, Goal string
	Wants            string // what a person is wanted for: approve, allow, answer
	About            string // the patch, the tool or the question
	Stat             string
	Status           string
	Age              string
}

// The bounds of the queue.
const (
	maxListed  = 200 // runs, besides all that wait
	maxAsked   = 40  // waiting runs that are asked what they wait for
	maxDone    = 30
	askedAtOne = 6 // at once
)

func (p *page) showQueue(w http.ResponseWriter, r request) {
	view, err := p.queueOf(r.Context())
	if err != nil {
		showError(w, r, codeOf(err), err.Error())
		return
	}
	view.shell = shell{Title: "Runs", Caller: r.caller, Live: "/live"}
	renderPage(w, http.StatusOK, "queue", view)
}

func (p *page) queueOf(ctx context.Context) (queueView, error) {
	listed, err := runs.ListWithWaits(ctx, p.runs, runs.Filter{Max: maxListed})
	if err != nil {
		return queueView{}, err
	}
	var waiting, working, done []runs.Listed
	for _, l := range listed {
		switch {
		case l.Status.Waiting():
			waiting = append(waiting, l)
		case l.Status.Terminal():
			done = append(done, l)
		default:
			working = append(working, l)
		}
	}
	needs := p.askAll(ctx, waiting)
	return queueView{Groups: []group{
		{Title: "Needs you", None: "Nothing waits for you.", Rows: needs},
		{Title: "Working", Rows: p.queueRows(working)},
		{Title: "Done", Rows: p.queueRows(done[:min(len(done), maxDone)])},
	}}, nil
}

func (p *page) queueRows(list []runs.Listed) (rows []row) {
	for _, l := range list {
		rows = append(rows, p.rowOf(l))
	}
	return rows
}

func (p *page) rowOf(l runs.Listed) row {
	since := l.Started
	if l.Ended != nil {
		since = *l.Ended
	}
	return row{
		Name: nameOf(l), Path: RunPath(l.ID), Repository: display.Line(filepath.Base(l.Repository)), Goal: display.Line(l.Goal),
		Status: statusWords(l), Age: age(p.now().Sub(since)),
	}
}

// askAll asks the waiting runs what they wait for. A run that does not answer is shown by its goal.
func (p *page) askAll(ctx context.Context, waiting []runs.Listed) []row {
	rows := p.queueRows(waiting)
	var wg sync.WaitGroup
	turns := make(chan struct{}, askedAtOne)
	for i, l := range waiting[:min(len(waiting), maxAsked)] {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if pending, err := p.runs.Pending(ctx, l.ID); err == nil {
				rows[i].addPending(pending)
			}
		})
	}
	wg.Wait()
	return rows
}

func (r *row) addPending(p run.Pending) {
	switch a, q := p.Approval, p.Question; {
	case a != nil && a.Permission != nil:
		r.Wants, r.About = "allow", display.Line(a.Summary)
	case a != nil:
		r.Wants, r.About, r.Stat = "approve", display.Line(a.Summary), statWords(a.Stat)
	case q != nil:
		r.Wants, r.About = "answer", display.Line(display.FirstLine(q.Question.Question))
	}
}
