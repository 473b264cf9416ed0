// Package board shows runs by whose turn it is: those that need a person, with the sessions and tickets that do, those that
// work, and those that are over. It draws lines and follows keys; it asks the engine nothing. Texts of runs come to it as they
// are, and it makes them safe.
package board

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Group is the part of the board that a run belongs to.
type Group int

// The groups, in the order of the board.
const (
	Needs   = Group(runs.NeedsPerson)
	Working = Group(runs.Working)
	Done    = Group(runs.Over)
)

var titles = map[Group]string{Needs: "Needs you", Working: "Working", Done: "Done"}

// GroupOf returns the group of a run.
func GroupOf(l runs.Listed) Group { return Group(l.Turn()) }

// Lines draws the rows as groups, for a list without a terminal's help. Columns bound each line; zero: no
// bound.
func Lines(s terminal.Style, rows []inbox.Item, now time.Time, columns int) []string {
	v := view{style: s, now: now, columns: columns, shortIDs: columns > 0 && columns < wideScreen}
	v.measureRows(rows)
	lines, last := []string{}, Group(-1)
	for _, r := range rows {
		if g := GroupOf(r.Listed); g != last {
			if len(lines) > 0 {
				lines = append(lines, "")
			}
			lines, last = append(lines, s.Bold(titles[g])), g
		}
		lines = append(lines, "  "+v.drawRow(r))
	}
	return lines
}

// wideScreen is the least width of a screen on which a list has room for all of an id.
const wideScreen = 120

// mostColumns bounds a row: on a wider screen the figures would stand far from their text.
const mostColumns = 140

// leastTitle is the least width of a title. The figures behind it give way first, the age last.
const leastTitle = 12

// view draws rows in columns.
type view struct {
	style                  terminal.Style
	now                    time.Time
	columns                int
	shortIDs               bool
	name, state, repo, age int // widths of columns
}

func (v *view) measureRows(rows []inbox.Item) {
	for _, r := range rows {
		v.name = max(v.name, terminal.Width(v.nameOf(r)))
		v.state = max(v.state, terminal.Width(r.Wants()))
		v.repo = max(v.repo, terminal.Width(repositoryOf(r)))
		v.age = max(v.age, len(v.ageOf(r)))
	}
}

func nameOf(r inbox.Item) string { return terminal.Clip(story.OneLine(r.Shown(), 40), 36) }

// nameOf returns the name as the view shows it. A board has no room for all of an id.
func (v *view) nameOf(r inbox.Item) string {
	if v.shortIDs && (r.Name == "" || r.Kind == inbox.Session) { // the id of a session may be long
		return terminal.Clip(nameOf(r), 14)
	}
	return nameOf(r)
}

func repositoryOf(r inbox.Item) string {
	if r.Name != "" { // the name says it
		return ""
	}
	return terminal.Clip(story.OneLine(path.Base(r.Repository), 40), 16)
}

func (v *view) ageOf(r inbox.Item) string {
	since := r.Waited()
	if r.Ended != nil {
		since = *r.Ended
	}
	return display.Age(v.now.Sub(since))
}

// shownSession is the width of a session's id in a row: one is named by its beginning.
const shownSession = 9

// drawRow draws a run: name, state, title, and at the right end size, age and cost.
func (v *view) drawRow(r inbox.Item) string {
	state := r.Wants()
	colour := v.style.Accent
	switch {
	case GroupOf(r.Listed) == Needs:
		colour = v.style.Wait
	case r.Status == run.Completed:
		colour = v.style.Good
	case r.Status == run.Failed:
		colour = v.style.Bad
	case GroupOf(r.Listed) == Done:
		colour = v.style.Dim
	}
	head := v.style.Bold(v.nameOf(r)) + pad(v.name-terminal.Width(v.nameOf(r))+2) + colour(state) + pad(v.state-terminal.Width(state)+2)
	if v.repo > 0 {
		head += repositoryOf(r) + pad(v.repo-terminal.Width(repositoryOf(r))+2)
	}
	tails := v.tailsOf(r)
	title := story.OneLine(cmp.Or(r.About, r.Goal), 200)
	if v.columns == 0 {
		return strings.TrimRight(head+title, " ") + "  " + v.style.Dim(tails[0])
	}
	left := min(v.columns, mostColumns) - terminal.Width(head) - 3 - 1 // the mark before the row, and the last column
	for _, tail := range tails {
		if room := left - terminal.Width(tail) - 2; room >= leastTitle {
			title = terminal.Clip(title, room)
			return head + title + pad(room-terminal.Width(title)+2) + v.style.Dim(tail)
		}
	}
	return head + terminal.Clip(title, max(left, 1))
}

// tailsOf returns the figures at the right end of a row: all of them, then less and less.
func (v *view) tailsOf(r inbox.Item) []string {
	age := fmt.Sprintf("%*s", v.age, v.ageOf(r))
	cost := r.Used.String()
	if r.Used.Cost > 0 {
		cost = r.Used.Cost.String()
	}
	used := age
	if cost != "" {
		used += "  " + cost
	}
	all := used
	if r.Stat.Files > 0 {
		all = fmt.Sprintf("+%d -%d  ", r.Stat.Added, r.Stat.Deleted) + all
	}
	if r.Session != "" {
		all = "by session " + story.OneLine(r.Session, shownSession) + "  " + all
	}
	if r.Sandbox.Off() {
		all = "no sandbox  " + all
	}
	return []string{all, used, age}
}

func pad(n int) string { return strings.Repeat(" ", max(n, 0)) }
