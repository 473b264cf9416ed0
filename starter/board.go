package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Bounds of the board.
const (
	boardOpen     = 200 // open runs
	boardDone     = 20  // runs that are over
	boardEvery    = 2 * time.Second
	boardAsking   = 8               // runs that are asked at once for what they wait for
	boardPatience = 3 * time.Second // for the answers of one look
)

// boardRows returns the rows of the board. What a run waits for is asked of the run itself, a few at once:
// a run that does not answer in time is shown by its goal.
func boardRows(ctx context.Context, client *runs.Client) ([]board.Row, error) {
	open, err := client.List(ctx, runs.Filter{Open: true, Max: boardOpen})
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

// describeWaits fills in what the waiting rows wait for, and what the runs have used.
func describeWaits(ctx context.Context, client *runs.Client, rows []board.Row) {
	ctx, cancel := context.WithTimeout(ctx, boardPatience)
	defer cancel()
	slots := make(chan struct{}, boardAsking)
	var asking sync.WaitGroup
	for i := range rows {
		if board.GroupOf(rows[i].Listed) != board.Needs {
			continue
		}
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			describeWait(ctx, client, &rows[i])
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
	for {
		action, err := c.showBoard(ctx, client, b, f)
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
func (c *cli) showBoard(ctx context.Context, client *runs.Client, b *board.Board, f *os.File) (board.Action, error) {
	k, err := terminal.OpenKeyboard(f)
	if err != nil {
		return "", fmt.Errorf("read the keys of this terminal: %w", err)
	}
	defer k.Close()
	fmt.Fprint(c.out, takeScreen)
	defer fmt.Fprint(c.out, giveScreen)
	defer context.AfterFunc(ctx, k.Close)()
	looks := c.watchBoard(ctx, client)
	defer looks.stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		c.drawBoard(b)
		select {
		case <-ctx.Done():
			return board.Quit, nil
		case look := <-looks.found:
			if look.err != nil {
				b.SetError(complaintOf(look.err))
				continue
			}
			b.SetRows(look.rows)
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
	rows []board.Row
	err  error
}

// watchBoard looks again and again: first at the list, then at what the runs in it wait for.
func (c *cli) watchBoard(ctx context.Context, client *runs.Client) boardLooks {
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
		for first := true; ctx.Err() == nil; first = false {
			rows, err := boardRows(ctx, client)
			if first && err == nil { // the list is there at once, the rest when the runs answer
				give(boardLook{rows: slices.Clone(rows)})
			}
			if err == nil {
				describeWaits(ctx, client, rows)
			}
			give(boardLook{rows, err})
			select {
			case <-ctx.Done():
			case <-time.After(boardEvery):
			}
		}
	})
	return looks
}

func (c *cli) drawBoard(b *board.Board) {
	columns, lines := 80, 24
	if c.width != nil && c.width() > 0 {
		columns = c.width()
	}
	if c.height != nil && c.height() > 0 {
		lines = c.height()
	}
	title := fmt.Sprintf("ratchet · %s · %s", plural(b.Waiting(), "run needs you", "runs need you"), c.now().Format("15:04"))
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
	args := []string{string(action), string(r.ID)}
	switch {
	case action == board.Start:
		args = []string{string(action)}
	case action != board.Review:
	case board.GroupOf(r.Listed) == board.Working:
		args[0] = "watch"
	case board.GroupOf(r.Listed) == board.Done:
		args[0] = "status"
	}
	if !c.hasCommand(args[0]) {
		b.SetHint("there is no command " + args[0] + " yet")
		return nil
	}
	screen := c.screenOn(c.out)
	screen.Linef("%s", screen.Dim("$ "+c.hintCommand("%s", strings.Join(args, " "))))
	sub := newCLI(c.console)
	sub.args = slices.Concat(args, c.globalArgs())
	sub.main(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	lines := sub.readTyped(screen)
	_, err := lines.Ask(ctx, "\n  "+screen.Dim("Enter: back to the board "))
	for _, f := range sub.atEnd {
		f()
	}
	if err != nil {
		return ctx.Err()
	}
	return nil
}

// globalArgs returns the flags of this command line that its other commands take as well.
func (c *cli) globalArgs() []string {
	args := []string{"--runs-dir", c.runsDir, "--task-queue", c.queue}
	if c.plain {
		args = append(args, "--no-color")
	}
	return args
}

// hasCommand reports whether the program has a command of that name.
func (c *cli) hasCommand(name string) bool {
	for _, cmd := range newCLI(c.console).rootCommand().Commands() {
		if cmd.Name() == name {
			return true
		}
	}
	return false
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
