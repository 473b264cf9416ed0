package review

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// queueView is the page of all runs and of the sessions that ask.
type queueView struct {
	shell
	Repositories []choice // to filter by; fewer than two: none are shown
	Groups       []group
	Start        bool // runs can be started here
	Hosts        string
}

// choice is a link of several, of which one is shown.
type choice struct {
	Label, Path string
	Shown       bool
}

// group is a part of the queue.
type group struct {
	Title string
	None  string // shown when there is nothing in it; empty: the group is left out then
	Rows  []row
}

// row is a run or a session in the queue.
type row struct {
	Name, Path       string
	Repository, Goal string
	Wants            string // what it does, or what a person is wanted for: approve, allow, answer
	Mark             string // the class of the word: wants, good, bad or none
	About            string // the patch, the tool or the question
	Stat, Cost       string
	Age              string

	root  string // the path of the repository
	since time.Time
	of    runs.Listed
}

// The bounds of the queue.
const (
	maxListed  = 200 // runs, besides all that wait
	maxAsked   = 40  // waiting runs that are asked what they wait for
	maxDone    = 30
	askedAtOne = 6 // at once
)

const repoField = "repo" // in an address: the path of the repository that is shown alone

func (p *page) showQueue(w http.ResponseWriter, r request) {
	view, err := p.queueOf(r.Context(), r.URL.Query().Get(repoField))
	if err != nil {
		showError(w, r, codeOf(err), err.Error())
		return
	}
	view.shell = r.shell("Runs")
	view.Live, view.Start = "/live", p.commands != nil && r.Owner
	view.Waits = len(view.Groups[0].Rows)
	if p.hosts != nil {
		view.Hosts = p.hosts(r.Context())
	}
	renderPage(w, http.StatusOK, "queue", view)
}

// queueOf returns the queue, of one repository if it is named.
func (p *page) queueOf(ctx context.Context, only string) (queueView, error) {
	listed, err := runs.ListWithWaits(ctx, p.runs, runs.Filter{Max: maxListed})
	if err != nil {
		return queueView{}, err
	}
	waits := p.waitsIn(ctx, listed)
	var rest []runs.Listed
	roots := map[string]bool{}
	for _, l := range listed {
		roots[l.Repository] = true
		if l.Turn() != runs.NeedsPerson && (only == "" || l.Repository == only) {
			rest = append(rest, l)
		}
	}
	slices.SortStableFunc(rest, func(a, b runs.Listed) int { return runs.CompareTurns(a, a.Started, b, b.Started) })
	over := slices.IndexFunc(rest, func(l runs.Listed) bool { return l.Turn() == runs.Over })
	if over < 0 {
		over = len(rest)
	}
	rest = rest[:min(len(rest), over+maxDone)]
	p.record.MarkMerged(ctx, rest[over:])
	for _, w := range waits {
		roots[w.root] = true
	}
	if only != "" {
		waits = slices.DeleteFunc(waits, func(r row) bool { return r.root != only })
	}
	return queueView{Repositories: repositoriesOf(roots, only), Groups: []group{
		{Title: "Needs you", None: "Nothing is waiting for you.", Rows: waits},
		{Title: "Working", Rows: p.queueRows(rest[:over])},
		{Title: "Done", Rows: p.queueRows(rest[over:])},
	}}, nil
}

// repositoriesOf returns the links to the queues of single repositories.
func repositoriesOf(roots map[string]bool, only string) []choice {
	list := []choice{{"All", "/", only == ""}}
	for root := range roots {
		if root != "" {
			list = append(list, choice{display.Line(filepath.Base(root)), "/?" + url.Values{repoField: {root}}.Encode(), root == only})
		}
	}
	if len(list) < 3 && only == "" {
		return nil
	}
	slices.SortFunc(list[1:], func(a, b choice) int { return strings.Compare(a.Label+a.Path, b.Label+b.Path) })
	return list
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
		Name: nameOf(l), Path: RunPath(l.ID), Repository: display.Line(filepath.Base(l.Repository)), Goal: display.Line(l.Goal), Cost: p.record.Usage(l.ID).String(),
		Wants: l.Word(false), Mark: markOf(l), Age: display.Age(p.now().Sub(since)), root: l.Repository, since: since, of: l,
	}
}

// markOf returns the class that colours the state of a run.
func markOf(l runs.Listed) string {
	switch {
	case l.Turn() == runs.NeedsPerson:
		return "wants"
	case l.Status == run.Failed, l.Outcome != "":
		return "bad"
	case l.Merged:
		return "good"
	}
	return ""
}

// waitsIn returns the rows of the runs that wait for a person, and of the sessions that ask, the longest wait first.
func (p *page) waitsIn(ctx context.Context, listed []runs.Listed) []row {
	waiting := slices.DeleteFunc(slices.Clone(listed), func(l runs.Listed) bool { return l.Turn() != runs.NeedsPerson })
	rows := slices.Concat(p.askAll(ctx, waiting), p.askingSessions(ctx), p.askingTickets(ctx))
	slices.SortStableFunc(rows, func(a, b row) int { return a.since.Compare(b.since) })
	return rows
}

// askAll asks the waiting runs what they wait for. A run that does not answer is shown by its goal.
func (p *page) askAll(ctx context.Context, waiting []runs.Listed) []row {
	rows := p.queueRows(waiting)
	eachOf(len(rows[:min(len(rows), maxAsked)]), func(i int) {
		r := &rows[i]
		if v, err := p.viewRun(ctx, r.of.ID); err == nil {
			r.addPending(*v.Pending)
			r.since, r.Age = v.State.UpdatedAt, display.Age(p.now().Sub(v.State.UpdatedAt))
		}
	})
	return rows
}

// eachOf calls ask with the numbers below n, a few at once.
func eachOf(n int, ask func(i int)) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, askedAtOne)
	for i := range n {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			ask(i)
		})
	}
	wg.Wait()
}

func (r *row) addPending(p run.Pending) {
	switch a, q := p.Approval, p.Question; {
	case a != nil && a.Permission != nil:
		r.Wants, r.About = r.of.Word(true), display.Line(a.Summary)
	case a != nil:
		r.About, r.Stat = display.Line(a.Summary), a.Stat.String()
	case q != nil:
		r.About = display.Line(display.FirstLine(q.Question.Question))
	}
}

// walk are the links from one thing that waits to its neighbours.
type walk struct {
	Place          string // such as 2 of 5; empty: this page is of nothing that waits
	Previous, Next string // paths; empty: none
}

// waitsNow returns what waits. Pages that are loaded at once share one look.
func (p *page) waitsNow(ctx context.Context) []row {
	p.looking.Lock()
	defer p.looking.Unlock()
	if p.now().Sub(p.looked) < waitsFresh {
		return p.waits
	}
	if waiting, err := p.runs.Waiting(ctx); err == nil {
		p.waits, p.looked = p.waitsIn(ctx, waiting), p.now()
	}
	return p.waits
}

// waitsFresh is how long a look at what waits holds.
const waitsFresh = 2 * time.Second

// walkFrom returns the neighbours of the page at a path, and the number of what waits.
func (p *page) walkFrom(ctx context.Context, path string) (w walk, waits int) {
	rows := p.waitsNow(ctx)
	at := slices.IndexFunc(rows, func(r row) bool { return r.Path == path })
	if at >= 0 {
		w.Place = fmt.Sprintf("%d of %d", at+1, len(rows))
	}
	if at > 0 {
		w.Previous = rows[at-1].Path
	}
	if at+1 < len(rows) {
		w.Next = rows[at+1].Path
	}
	return w, len(rows)
}

// nextAfter returns the path of the next waiting item after a decision at a path: the one behind it in the queue, or else
// the first. It returns "" if nothing else waits.
func (p *page) nextAfter(ctx context.Context, path string) string {
	rows := p.waitsNow(ctx)
	p.looking.Lock()
	p.looked = time.Time{}
	p.looking.Unlock()
	at := slices.IndexFunc(rows, func(r row) bool { return r.Path == path })
	for i := range rows {
		if r := rows[(at+1+i)%len(rows)]; r.Path != path {
			return r.Path
		}
	}
	return ""
}
