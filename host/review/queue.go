package review

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// queueView is the page of all runs, and of the sessions and tickets that ask.
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

// row is a run, a session or a ticket in the queue.
type row struct {
	Name, Path       string
	Repository, Goal string
	Wants            string // what it does, or what a person is wanted for: approve, allow, answer
	Mark             string // the class of the word: wants, good, bad or none
	About            string // the patch, the tool or the question
	Stat, Cost       string
	Age              string
}

// The bounds of the queue.
const (
	maxListed = 200 // runs, besides all that wait
	maxDone   = 30
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
	others, err := p.inbox.Others(ctx)
	if err != nil {
		return queueView{}, err
	}
	items := p.inbox.Describe(ctx, append(inbox.Of(listed), others...), nil)
	roots := map[string]bool{}
	for _, i := range items {
		roots[i.Repository] = true
	}
	if only != "" {
		items = slices.DeleteFunc(items, func(i inbox.Item) bool { return i.Repository != only })
	}
	inbox.Sort(items)
	from := func(t runs.Turn) int { // the first item of the turn or a later one
		at, _ := slices.BinarySearchFunc(items, t, func(i inbox.Item, t runs.Turn) int { return cmp.Compare(i.Turn(), t) })
		return at
	}
	working, over := from(runs.Working), from(runs.Over)
	done := items[over:min(len(items), over+maxDone)]
	inbox.Update(done, func(list []runs.Listed) { p.record.MarkMerged(ctx, list) })
	return queueView{Repositories: repositoriesOf(roots, only), Groups: []group{
		{Title: "Needs you", None: "Nothing is waiting for you.", Rows: p.rowsOf(items[:working])},
		{Title: "Working", Rows: p.rowsOf(items[working:over])},
		{Title: "Done", Rows: p.rowsOf(done)},
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

func (p *page) rowsOf(items []inbox.Item) (rows []row) {
	for _, i := range items {
		rows = append(rows, p.rowOf(i))
	}
	return rows
}

func (p *page) rowOf(i inbox.Item) row {
	r := row{
		Name: display.OneLine(i.Shown(), 60), Path: pathOf(i), Repository: display.Line(filepath.Base(i.Repository)), Goal: display.Line(i.Goal), About: display.Line(display.FirstLine(i.About)),
		Wants: i.Wants(), Mark: markOf(i.Listed), Cost: i.Used.String(),
	}
	since := i.Waited()
	if i.Ended != nil {
		since = *i.Ended
	}
	r.Age = display.Age(p.now().Sub(since))
	if i.Kind == inbox.Run {
		r.Name, r.Cost = nameOf(i.Listed), cmp.Or(r.Cost, p.record.Usage(i.ID).String())
	}
	if i.Stat.Files > 0 {
		r.Stat = i.Stat.String()
	}
	return r
}

// pathOf returns the path of an item's page.
func pathOf(i inbox.Item) string {
	switch i.Kind {
	case inbox.Session:
		return sessionPath(session.ID(i.Ref))
	case inbox.Ticket:
		return ticketPath(i.Ref)
	}
	return RunPath(i.ID)
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

// walk are the links from one thing that waits to its neighbours.
type walk struct {
	Place          string // such as 2 of 5; empty: this page is of nothing that waits
	Previous, Next string // paths; empty: none
}

// waitsNow returns what waits. Pages that are loaded at once share one look.
func (p *page) waitsNow(ctx context.Context) []inbox.Item {
	p.looking.Lock()
	defer p.looking.Unlock()
	if p.now().Sub(p.looked) < waitsFresh {
		return p.waits
	}
	if items, err := p.inbox.Gather(ctx); err == nil {
		p.waits, p.looked = items, p.now()
	}
	return p.waits
}

// waitsFresh is how long a look at what waits holds.
const waitsFresh = 2 * time.Second

// walkFrom returns the neighbours of the page at a path, and the number of what waits.
func (p *page) walkFrom(ctx context.Context, path string) (w walk, waits int) {
	rows := p.waitsNow(ctx)
	at := slices.IndexFunc(rows, func(i inbox.Item) bool { return pathOf(i) == path })
	if at >= 0 {
		w.Place = fmt.Sprintf("%d of %d", at+1, len(rows))
	}
	if at > 0 {
		w.Previous = pathOf(rows[at-1])
	}
	if at+1 < len(rows) {
		w.Next = pathOf(rows[at+1])
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
	at := slices.IndexFunc(rows, func(i inbox.Item) bool { return pathOf(i) == path })
	for i := range rows {
		if to := pathOf(rows[(at+1+i)%len(rows)]); to != path {
			return to
		}
	}
	return ""
}
