package review

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// works are the commands in progress that forms have begun. The engine and git hold what comes of them.
type works struct {
	mu     sync.Mutex
	merges map[run.ID]*work // the last merge or undo of a run, until it succeeds
	starts map[string]*work // by the name of the form
}

// work is a command in progress.
type work struct {
	done chan struct{} // closed when the others are set
	undo bool          // it takes a merge back
	id   run.ID        // of the run that it has started
	err  error
}

func newWorks() *works { return &works{merges: map[run.ID]*work{}, starts: map[string]*work{}} }

func (w *work) isOver() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

const (
	// workLimit bounds a command that starts a run: it asks the worker for the providers.
	workLimit = 90 * time.Second
	// mergePatience is how long a form waits for its merge. After that the page shows the progress of the checks.
	mergePatience = 10 * time.Second
)

var errNoCommands = faultError("this page offers no commands: use `starter` on its host")

// commandError reports that a command has changed nothing, and why.
type commandError struct{ error }

func (e *commandError) Unwrap() error { return e.error }

// mergeRun merges into the branch that was shown. The page of the run says what comes of it.
func mergeRun(p *page, ctx context.Context, id run.ID, by string, form url.Values) (outcome, error) {
	if p.commands == nil {
		return outcome{}, errNoCommands
	}
	v, err := p.viewRun(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	into := form.Get(intoField)
	s, err := p.record.Standing(ctx, v.Facts)
	switch {
	case err != nil || into == "" || into != s.Into:
		return outcome{}, faultError(fmt.Sprintf("branch %s is no longer checked out: load the page again", display.OneLine(into, 100)))
	case s.Branch != "": // the page says so
		return outcome{}, nil
	}
	p.awaitMerge(ctx, p.beginMerge(id, false, func(ctx context.Context) error { return p.commands.Merge(ctx, id, into, by) }))
	return outcome{}, nil
}

// undoRun takes back what a merge brought to the branch that was shown.
func undoRun(p *page, ctx context.Context, id run.ID, by string, form url.Values) (outcome, error) {
	if p.commands == nil {
		return outcome{}, errNoCommands
	}
	v, err := p.viewRun(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	from := form.Get(intoField)
	s, err := p.record.Standing(ctx, v.Facts)
	switch {
	case err == nil && from != "" && from == s.Undone: // the page says so
		return outcome{}, nil
	case err != nil || from == "" || from != s.Branch:
		return outcome{}, faultError(fmt.Sprintf("the run is not merged into %s: load the page again", display.OneLine(from, 100)))
	}
	p.awaitMerge(ctx, p.beginMerge(id, true, func(ctx context.Context) error { return p.commands.Undo(ctx, id, from, by) }))
	return outcome{}, nil
}

// awaitMerge waits for a merge or an undo, for a while.
func (p *page) awaitMerge(ctx context.Context, w *work) {
	late := time.NewTimer(mergePatience)
	defer late.Stop()
	select {
	case <-w.done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// beginMerge begins the merge or undo of a run, unless one is in progress.
func (p *page) beginMerge(id run.ID, undo bool, do func(context.Context) error) *work {
	p.works.mu.Lock()
	defer p.works.mu.Unlock()
	if w := p.works.merges[id]; w != nil && !w.isOver() {
		return w
	}
	w := &work{done: make(chan struct{}), undo: undo}
	p.works.merges[id] = w
	go func() {
		w.err = do(context.Background())
		if w.err == nil {
			p.works.mu.Lock()
			delete(p.works.merges, id)
			p.works.mu.Unlock()
		}
		close(w.done)
		p.live.wake(id)
	}()
	return w
}

func (p *page) mergeOf(id run.ID) *work {
	p.works.mu.Lock()
	defer p.works.mu.Unlock()
	return p.works.merges[id]
}

// startOnce starts a run: one for all forms of that name.
func (p *page) startOnce(ctx context.Context, form url.Values, start func(context.Context) (run.ID, error)) (outcome, error) {
	if p.commands == nil {
		return outcome{}, errNoCommands
	}
	once := form.Get(onceField)
	if once == "" || len(once) > maxOnce {
		return outcome{}, errOnce
	}
	p.works.mu.Lock()
	w := p.works.starts[once]
	if w == nil {
		w = &work{done: make(chan struct{})}
		p.works.starts[once] = w
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workLimit)
			defer cancel()
			if w.id, w.err = start(ctx); w.err != nil {
				p.works.mu.Lock()
				delete(p.works.starts, once) // it may be sent again
				p.works.mu.Unlock()
			}
			close(w.done)
		}()
	}
	p.works.mu.Unlock()
	<-w.done
	if w.err != nil {
		return outcome{}, &commandError{w.err}
	}
	return outcome{said: "started", path: RunPath(w.id)}, nil
}

// retryRun starts a run in place of one that is over, at the branch that was shown or at its last commit.
func retryRun(p *page, ctx context.Context, id run.ID, _ string, form url.Values) (outcome, error) {
	onto := form.Get(intoField)
	if onto != "" {
		v, err := p.viewRun(ctx, id)
		if err != nil {
			return outcome{}, err
		}
		if s, err := p.record.Standing(ctx, v.Facts); err != nil || onto != s.Into {
			return outcome{}, faultError(fmt.Sprintf("branch %s is no longer checked out: load the page again", display.OneLine(onto, 100)))
		}
	}
	return p.startOnce(ctx, form, func(ctx context.Context) (run.ID, error) { return p.commands.Retry(ctx, id, onto) })
}

// resultView is what came of a run that is over, and what can be done with it.
type resultView struct {
	Nothing  bool   // it has no commits, and its checks passed
	Merged   string // where and when its commits were merged; empty: they were not
	Into     string // the branch that a merge leads to; empty: none
	Merging  bool   // or undoing
	From     string // the branch that an undo leads from; empty: the run is not merged
	Undone   string // where and when its merge was undone; empty: it was not
	Failed   string // why the last merge did nothing
	Conflict bool   // because both have changed the same lines
	Retry    bool   // it can be retried
	Commands bool   // the page offers them
	Once     string // names the form of the retry
}

// resultOf returns what came of a run that is over.
func (p *page) resultOf(ctx context.Context, s seen) *resultView {
	f, completed := s.Facts, s.State.Status == run.Completed
	v := &resultView{Nothing: completed && f.Commits == 0, Retry: !completed, Commands: p.commands != nil, Once: newOnce()}
	if !completed || f.Commits == 0 {
		return v
	}
	stands, err := p.record.Standing(ctx, f)
	ago := display.Age(p.now().Sub(stands.At))
	switch {
	case err != nil:
	case stands.Branch != "":
		v.Merged, v.From = fmt.Sprintf("Merged into %s %s ago.", display.Line(stands.Branch), ago), stands.Branch
	case stands.Undone != "":
		v.Undone, v.Into = fmt.Sprintf("Undone on %s %s ago.", display.Line(stands.Undone), ago), stands.Into
	default:
		v.Into = stands.Into
	}
	w := p.mergeOf(f.RunID)
	switch {
	case w == nil || w.undo == (v.From == ""): // what it was to do is done
	case w.undo && w.isOver():
		v.Failed = "Not undone: " + display.OneLine(w.err.Error(), 1000)
	case !w.isOver():
		v.Merging = true
	default:
		v.Failed, v.Conflict = mergeFailure(w.err, v.Into)
	}
	return v
}

// mergeFailure says why a merge did nothing.
func mergeFailure(err error, into string) (text string, conflict bool) {
	c, conflict := errors.AsType[*merge.ConflictError](err)
	if !conflict {
		return "Not merged: " + display.OneLine(err.Error(), 1000), false
	}
	const most = 5
	paths := c.Paths[:min(len(c.Paths), most)]
	text = fmt.Sprintf("Not merged: the run and %s have both changed %s", into, strings.Join(paths, ", "))
	if more := len(c.Paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return display.Line(text + ". Nothing was changed."), true
}

// diffOf returns what the commits of a run that is over change; nil: nothing.
func (p *page) diffOf(ctx context.Context, s seen) *gateView {
	if s.Facts.Commits == 0 {
		return nil
	}
	v := &gateView{Stat: s.Facts.Stat.String()}
	patch, err := p.record.Diff(ctx, s.Facts)
	if err != nil {
		v.Missing = "The diff is not on this host, or the commits are gone."
		return v
	}
	v.readFiles(s.Facts.RunID, patch)
	return v
}
