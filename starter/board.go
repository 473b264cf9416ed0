package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Bounds of the board.
const (
	boardOpen     = 200 // open runs, besides all that wait
	boardDone     = 20  // runs that are over
	boardEvery    = 2 * time.Second
	boardAsking   = 8               // runs that are asked at once for what they wait for
	boardPatience = 3 * time.Second // for the answers of one look
	boardWorking  = 40              // runs at work that are asked what they do
)

// boardRows returns the rows of the board. What a run waits for is asked of the run itself, a few at once:
// a run that does not answer in time is shown by its goal.
func boardRows(ctx context.Context, client *runs.Client) ([]board.Row, error) {
	open, err := runs.ListWithWaits(ctx, client, runs.Filter{Open: true, Max: boardOpen})
	if err != nil {
		return nil, err
	}
	over, err := client.List(ctx, runs.Filter{Over: true, Max: boardDone})
	if err != nil {
		return nil, err
	}
	return listedRows(slices.Concat(open, over)), nil
}

func listedRows(found []runs.Listed) []board.Row {
	rows := make([]board.Row, len(found))
	for i, l := range found {
		rows[i] = board.Row{Listed: l}
	}
	return rows
}

// describeRows fills in what the waiting rows wait for, what the first working rows do, and what both have used.
func describeRows(ctx context.Context, client *runs.Client, rows []board.Row) {
	ctx, cancel := context.WithTimeout(ctx, boardPatience)
	defer cancel()
	slots := make(chan struct{}, boardAsking)
	var asking sync.WaitGroup
	working := 0
	for i := range rows {
		describe := describeWait
		switch board.GroupOf(rows[i].Listed) {
		case board.Done:
			continue
		case board.Working:
			if working++; working > boardWorking {
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

func describeWait(ctx context.Context, client *runs.Client, r *board.Row) {
	p, err := client.Pending(ctx, r.ID)
	if err != nil {
		return
	}
	switch {
	case p.Approval != nil:
		r.Title, r.Stat, r.Tool = p.Approval.Summary, p.Approval.Stat, p.Approval.Permission != nil
	case p.Question != nil:
		r.Title = p.Question.Question.Question
	}
	if state, err := client.State(ctx, r.ID); err == nil {
		r.Since = state.UpdatedAt
	}
	if facts, err := client.Facts(ctx, r.ID); err == nil {
		r.Used = facts.Usage
	}
}

// describeWork fills in what a run at work does and has used, the calls under way included.
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

// openBoard shows the board until the person leaves it. What the person asks for runs as the command of
// that name does.
func (c *cli) openBoard(ctx context.Context) error {
	f, ok := c.in.(*os.File)
	if !ok {
		return usageErrorf("the board needs a terminal: see `%s`", c.hintCommand("list"))
	}
	client, closeClient, err := c.dialEngine(ctx)
	if err != nil {
		return err
	}
	defer closeClient()
	b := &board.Board{Style: c.style()}
	day := &dayUsage{read: c.recordedEvents, dir: c.runsDir}
	for {
		action, err := c.showBoard(ctx, client, b, day, f)
		if err != nil || action == board.Quit {
			return err
		}
		if err := c.actOnBoard(ctx, client, b, action); err != nil {
			return err
		}
	}
}

// The sequences that take the whole screen, and give it back as it was.
const (
	takeScreen = "\x1b[?1049h\x1b[?25l"
	giveScreen = "\x1b[?25h\x1b[?1049l"
)

// showBoard shows the board until a key asks for an action.
func (c *cli) showBoard(ctx context.Context, client *runs.Client, b *board.Board, day *dayUsage, f *os.File) (board.Action, error) {
	k, err := terminal.OpenKeyboard(f)
	if err != nil {
		return "", fmt.Errorf("read the keys of this terminal: %w", err)
	}
	defer k.Close()
	fmt.Fprint(c.out, takeScreen)
	defer fmt.Fprint(c.out, giveScreen)
	defer context.AfterFunc(ctx, k.Close)()
	today := day.last
	looks := c.watchBoard(ctx, client, day)
	defer looks.stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		c.drawBoard(b, today)
		select {
		case <-ctx.Done():
			return board.Quit, nil
		case look := <-looks.found:
			if look.err != nil {
				b.SetError(complaintOf(look.err))
				continue
			}
			b.SetRows(look.rows)
			today = look.today
		case key, ok := <-k.Keys():
			if !ok {
				return board.Quit, nil
			}
			if action := b.Press(key); action != "" {
				return action, nil
			}
		case <-tick.C:
		}
	}
}

// boardLooks gives the rows of the board as they change.
type boardLooks struct {
	found chan boardLook
	stop  func()
}

type boardLook struct {
	rows  []board.Row
	today run.Usage // by all runs of this host
	err   error
}

// watchBoard looks again and again: first at the list, then at what the runs in it wait for.
func (c *cli) watchBoard(ctx context.Context, client *runs.Client, day *dayUsage) boardLooks {
	ctx, cancel := context.WithCancel(ctx)
	looks := boardLooks{found: make(chan boardLook)}
	var looking sync.WaitGroup
	looks.stop = func() { cancel(); looking.Wait() }
	give := func(l boardLook) {
		select {
		case looks.found <- l:
		case <-ctx.Done():
		}
	}
	looking.Go(func() {
		var merged mergedRuns
		for first := true; ctx.Err() == nil; first = false {
			rows, err := boardRows(ctx, client)
			if first && err == nil { // the list is there at once, the rest when the runs answer
				give(boardLook{rows: slices.Clone(rows), today: day.last})
			}
			if err == nil {
				describeRows(ctx, client, rows)
				day.sum(c.now())
				merged.mark(rows, func(found []runs.Listed) { c.markMerged(ctx, found) })
			}
			give(boardLook{rows, day.last, err})
			select {
			case <-ctx.Done():
			case <-time.After(boardEvery):
			}
		}
	})
	return looks
}

// mergedRuns remembers which runs are merged while the board is shown.
type mergedRuns map[run.ID]bool

// mark marks the merged runs. It looks into the repositories when a run is over that it has not seen so.
func (m *mergedRuns) mark(rows []board.Row, look func([]runs.Listed)) {
	var found []runs.Listed
	unseen := false
	for _, r := range rows {
		if r.Status == run.Completed {
			_, seen := (*m)[r.ID]
			found, unseen = append(found, r.Listed), unseen || !seen
		}
	}
	if unseen {
		look(found)
		*m = mergedRuns{}
		for _, l := range found {
			(*m)[l.ID] = l.Merged
		}
	}
	for i := range rows {
		rows[i].Merged = (*m)[rows[i].ID]
	}
}

func (c *cli) drawBoard(b *board.Board, today run.Usage) {
	columns, lines := 80, 24
	if c.width != nil && c.width() > 0 {
		columns = c.width()
	}
	if c.height != nil && c.height() > 0 {
		lines = c.height()
	}
	title := fmt.Sprintf("ratchet · %s · %s", display.Count(b.Waiting(), "run needs you", "runs need you"), c.now().Format("15:04"))
	if used := story.Usage(today); used != "" {
		title += " · today " + used
	}
	var text strings.Builder
	text.WriteString("\x1b[H")
	for i, line := range b.Draw(title, c.now(), columns, lines) {
		if i > 0 {
			text.WriteString("\r\n")
		}
		text.WriteString(line + "\x1b[K")
	}
	fmt.Fprint(c.out, text.String(), "\x1b[J")
}

// actOnBoard carries out an action on the chosen run, on the ordinary screen.
func (c *cli) actOnBoard(ctx context.Context, client *runs.Client, b *board.Board, action board.Action) error {
	r, _ := b.Chosen()
	screen := c.screenOn(c.out)
	args := []string{string(action), string(r.ID)}
	switch {
	case action == board.Start:
		goal, err := c.askLine(ctx, screen, screen.Wait("What shall the run reach? ")+screen.Dim("[a line, e your editor, Enter back] "))
		if goal == "" || err != nil {
			return ctx.Err()
		}
		if args = []string{string(action)}; goal != "e" {
			args = append(args, "--goal="+goal)
		}
	case action != board.Review:
	case board.GroupOf(r.Listed) == board.Working:
		args[0] = "watch"
	case board.GroupOf(r.Listed) == board.Done:
		args[0] = "status"
	}
	screen.Wrapped(screen.Dim("$ " + c.hintCommand("%s", story.OneLine(shellquote.Join(args...), 2000))))
	sub := c.fork(*c.console)
	sub.args = slices.Concat(args, c.globalArgs())
	sub.run(ctx)
	_, _ = c.askLine(ctx, screen, screen.Dim("Enter: back to the board "))
	return ctx.Err()
}

// askLine asks for a line, between two screens of the board. It returns the errors of dialog.Lines.
func (c *cli) askLine(ctx context.Context, screen *terminal.Screen, prompt string) (string, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	asking := c.open()
	defer asking.giveBack()
	lines := asking.readTyped(screen)
	screen.Line("")
	return lines.Ask(ctx, "  "+prompt)
}

// globalArgs returns the flags of this command line that its other commands take as well.
func (c *cli) globalArgs() []string {
	args := []string{"--runs-dir", c.runsDir, "--task-queue", c.queue}
	if c.plain {
		args = append(args, "--no-color")
	}
	return args
}

// waitTitle returns the line above the wait of a run.
func waitTitle(s terminal.Style, r board.Row) string {
	return s.Accent("▸ ") + s.Bold(r.Name.Shown(r.ID)) + s.Dim("  "+story.OneLine(r.Goal, 120))
}

// openBoardOrHelp shows the board, or the help where no engine answers.
func (c *cli) openBoardOrHelp(ctx context.Context, cmd *cobra.Command) error {
	err := c.openBoard(ctx)
	if _, away := errors.AsType[*temporalclient.Unreachable](err); away {
		_ = cmd.Help()
		return err
	}
	return err
}
