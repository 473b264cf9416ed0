package board

import (
	"fmt"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Action is what a person asks for at the board.
type Action string

// The actions. Nothing is decided at the board itself: Review shows what waits, and asks there.
const (
	Review Action = "review" // of a run that waits: show it and ask; of another: follow it, or show how it ended
	Merge  Action = "merge"
	Open   Action = "open"
	Retry  Action = "retry"
	Start  Action = "run"
	Quit   Action = "quit"
)

// Board is the screen of runs, and of what else waits. A person moves over its rows and asks for actions by keys.
type Board struct {
	Style terminal.Style
	rows  []inbox.Item
	err   string // why the rows are old; empty: they are not

	chosen    string // its key
	search    string // rows that hold it in name, title, goal or repository
	searching bool   // keys go to the search
	help      bool
	hint      string // for the last key
	top       int    // first line shown
}

// SetRows replaces the rows. The chosen run stays chosen where it is still there.
func (b *Board) SetRows(rows []inbox.Item) {
	inbox.Sort(rows)
	b.rows, b.err = rows, ""
}

// SetError says why the rows are not up to date.
func (b *Board) SetError(err string) { b.err = err }

// Waiting returns the number of rows that need a person.
func (b *Board) Waiting() (n int) {
	for _, r := range b.rows {
		if GroupOf(r.Listed) == Needs {
			n++
		}
	}
	return n
}

// shownRows returns the rows that the search leaves.
func (b *Board) shownRows() []inbox.Item {
	if b.search == "" {
		return b.rows
	}
	var rows []inbox.Item
	for _, r := range b.rows {
		if strings.Contains(strings.ToLower(strings.Join([]string{nameOf(r), r.Key(), r.About, r.Goal, r.Repository}, "\n")), strings.ToLower(b.search)) {
			rows = append(rows, r)
		}
	}
	return rows
}

// Chosen returns the chosen row: the first one where none was chosen or the chosen one is gone. ok is false
// if there is no row.
func (b *Board) Chosen() (r inbox.Item, ok bool) {
	rows := b.shownRows()
	if len(rows) == 0 {
		return inbox.Item{}, false
	}
	return rows[b.index(rows)], true
}

func (b *Board) index(rows []inbox.Item) int {
	for i, r := range rows {
		if r.Key() == b.chosen {
			return i
		}
	}
	return 0
}

// Press handles a key. It returns the action that the person asks for; empty: none.
func (b *Board) Press(k terminal.Key) Action {
	b.hint = ""
	if b.searching {
		b.pressSearch(k)
		return ""
	}
	if b.help { // any key leaves the keys, and search begins
		b.help = false
		if k.Char != '/' {
			return ""
		}
	}
	switch {
	case k.Name == terminal.Up, k.Char == 'k':
		b.moveBy(-1)
	case k.Name == terminal.Down, k.Char == 'j':
		b.moveBy(1)
	case k.Name == terminal.PageUp:
		b.moveBy(-10)
	case k.Name == terminal.PageDown:
		b.moveBy(10)
	case k.Char == '/':
		b.searching, b.search = true, ""
	case k.Name == terminal.Escape:
		b.search = ""
	case k.Char == '?':
		b.help = true
	case k.Char == 's':
		return Start
	case k.Char == 'q', k.Name == terminal.EndInput:
		return Quit
	default:
		return b.actionOf(k)
	}
	return ""
}

// actionOf returns the action of a key on the chosen row.
func (b *Board) actionOf(k terminal.Key) Action {
	r, ok := b.Chosen()
	if !ok {
		b.hint = "no run here: s starts one, q quits"
		return ""
	}
	group := GroupOf(r.Listed)
	switch {
	case k.Name == terminal.Enter:
		return Review
	case r.Kind != inbox.Run && (k.Char == 'm' || k.Char == 'o'):
		b.hint = nameOf(r) + " is a " + string(r.Kind) + ", not a run: enter answers it"
	case k.Char == 'y', k.Char == 'n', k.Char == 'a', k.Char == 'r' && group == Needs:
		if group != Needs {
			b.hint = nameOf(r) + " needs nothing"
			return ""
		}
		return Review
	case k.Char == 'm' && r.Status == run.Completed:
		return Merge
	case k.Char == 'm':
		b.hint = nameOf(r) + " is not completed: nothing to merge"
	case k.Char == 'o':
		return Open
	case k.Char == 'r' && group == Done:
		return Retry
	default:
		b.hint = "unknown key; ? shows the keys"
	}
	return ""
}

func (b *Board) pressSearch(k terminal.Key) {
	var line terminal.Typed
	for _, r := range b.search {
		line.Press(terminal.Key{Char: r})
	}
	switch {
	case k.Name == terminal.Escape:
		b.searching, b.search = false, ""
	case line.Press(k):
		b.searching = false
	default:
		b.search = line.String()
	}
}

func (b *Board) moveBy(by int) {
	rows := b.shownRows()
	if len(rows) > 0 {
		b.chosen = rows[min(max(b.index(rows)+by, 0), len(rows)-1)].Key()
	}
}

var keys = [][2]string{
	{"enter", "review what waits, follow a run that works, show a run that ended"},
	{"y n a", "the same: you see the patch first and decide there"},
	{"m", "merge a completed run"}, {"r", "retry a run that has ended"}, {"o", "open the run's files"},
	{"s", "start a run"}, {"/", "search; escape shows all"}, {"j k", "down, up; also arrows and page keys"}, {"q", "quit; the runs continue"}, {"", "any key leaves this list"},
}

// Draw returns the lines of a screen of that size. The title stands in the first line, the keys in the last.
func (b *Board) Draw(title string, now time.Time, columns, lines int) []string {
	head := []string{" " + b.Style.Bold(terminal.Clip(title, max(columns-2, 1))), ""}
	foot := []string{b.footLine(columns)}
	body, chosen := b.drawGroups(now, columns)
	room := max(lines-len(head)-len(foot), 1)
	switch { // keep the chosen row in sight
	case chosen < b.top:
		b.top = max(chosen-1, 0)
	case chosen >= b.top+room:
		b.top = chosen - room + 1
	}
	b.top = max(min(b.top, len(body)-room), 0)
	body = body[b.top:min(b.top+room, len(body))]
	for len(body) < room {
		body = append(body, "")
	}
	return append(append(head, body...), foot...)
}

// drawGroups draws the groups, and returns the line of the chosen row.
func (b *Board) drawGroups(now time.Time, columns int) (lines []string, chosen int) {
	if b.help {
		for _, k := range keys {
			for i, text := range terminal.Fold(k[1], max(columns-11, 20)) {
				name := k[0]
				if i > 0 {
					name = ""
				}
				lines = append(lines, "  "+b.Style.Accent(name)+pad(7-len(name))+text)
			}
		}
		return lines, 0
	}
	rows := b.shownRows()
	v := view{style: b.Style, now: now, columns: columns, shortIDs: true}
	v.measureRows(rows)
	at, last := b.index(rows), Group(-1)
	for i, r := range rows {
		if g := GroupOf(r.Listed); g != last {
			if len(lines) > 0 {
				lines = append(lines, "")
			}
			lines, last = append(lines, " "+b.Style.Bold(titles[g])), g
		}
		mark := "   "
		if i == at {
			mark, chosen = " "+b.Style.Accent("❯")+" ", len(lines)
		}
		lines = append(lines, mark+v.drawRow(r))
	}
	switch {
	case len(rows) == 0 && b.search != "":
		lines = append(lines, "  no run contains "+story.OneLine(b.search, 60))
	case len(rows) == 0:
		lines = append(lines, "  No runs yet. s starts one.")
	}
	return lines, chosen
}

// foots name every key of the board, for terminals of less and less width.
var foots = []string{
	"enter y n a review · j k down, up · m merge · r retry · o open · s start · / search · ? keys · q leave",
	"enter y n a review  j k move  m merge  r retry  o open  s start  / ? q",
	"enter · m merge r retry o open s start · y n a j k / ? q",
	"enter y n a  j k  m r o s / ? q",
}

func (b *Board) footLine(columns int) string {
	switch {
	case b.searching:
		return " " + b.Style.Wait("/") + terminal.Clip(story.OneLine(b.search, 200), max(columns-3, 1))
	case b.hint != "":
		return " " + b.Style.Wait(terminal.Clip(b.hint, columns-2))
	case b.err != "":
		return " " + b.Style.Bad(terminal.Clip(story.OneLine(b.err, 300), columns-2))
	}
	before := ""
	if b.search != "" {
		before = fmt.Sprintf("/%s · escape shows all · ", story.OneLine(b.search, 30))
	}
	for _, text := range foots {
		if text = before + text; terminal.Width(text) <= columns-2 {
			return " " + b.Style.Dim(text)
		}
	}
	return " " + b.Style.Dim(terminal.Clip(before+foots[len(foots)-1], columns-2))
}
