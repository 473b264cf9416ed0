// Package home shows the board, on which a person sees all runs.
package home

import (
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

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runrows"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Bounds of the board.
const (
	MostOpen   = 200 // open runs, besides all that wait
	boardDone  = 20  // runs that are over
	boardEvery = 2 * time.Second
)

// Rows returns the rows of the board. What a run waits for is asked of the run itself, a few at once:
// a run that does not answer in time is shown by its goal.
func Rows(ctx context.Context, client *runs.Client) ([]inbox.Item, error) {
	open, err := runs.ListWithWaits(ctx, client, runs.Filter{Open: true, Max: MostOpen})
	if err != nil {
		return nil, err
	}
	over, err := client.List(ctx, runs.Filter{Over: true, Max: boardDone})
	if err != nil {
		return nil, err
	}
	others, err := inbox.New(client).Others(ctx)
	if err != nil {
		return nil, err
	}
	return append(inbox.Of(slices.Concat(open, over)), others...), nil
}

// openBoard shows the board until the person leaves it. What the person asks for runs as the command of
// that name does.
func openBoard(ctx context.Context, c *factory.Factory) error {
	f, ok := c.In.(*os.File)
	if !ok {
		return usage.Errorf("the board needs a terminal: see `%s`", c.Hint("list"))
	}
	client, closeClient, err := c.Dial(ctx)
	if err != nil {
		return err
	}
	defer closeClient()
	b := &board.Board{Style: c.Style()}
	day := &dayUsage{read: c.RecordedEvents, dir: c.RunsDir}
	for {
		action, err := showBoard(ctx, c, client, b, day, f)
		if err != nil || action == board.Quit {
			return err
		}
		if err := actOnBoard(ctx, c, b, action); err != nil {
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
func showBoard(ctx context.Context, c *factory.Factory, client *runs.Client, b *board.Board, day *dayUsage, f *os.File) (board.Action, error) {
	k, err := terminal.OpenKeyboard(f)
	if err != nil {
		return "", fmt.Errorf("read the keys of this terminal: %w", err)
	}
	defer k.Close()
	fmt.Fprint(c.Out, takeScreen)
	defer fmt.Fprint(c.Out, giveScreen)
	defer context.AfterFunc(ctx, k.Close)()
	today, others := day.last, ""
	looks := watchBoard(ctx, c, client, day)
	defer looks.stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		drawBoard(c, b, today, others)
		select {
		case <-ctx.Done():
			return board.Quit, nil
		case look := <-looks.found:
			if look.err != nil {
				b.SetError(exit.Complaint(look.err))
				continue
			}
			b.SetRows(look.rows)
			today, others = look.today, look.hosts
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
	rows  []inbox.Item
	today run.Usage // by all runs of this host
	hosts string    // what those that have joined do
	err   error
}

// watchBoard looks again and again: first at the list, then at what the runs in it wait for.
func watchBoard(ctx context.Context, c *factory.Factory, client *runs.Client, day *dayUsage) boardLooks {
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
		disk := review.NewDisk(c.RunsDir)
		for first := true; ctx.Err() == nil; first = false {
			rows, err := Rows(ctx, client)
			if first && err == nil { // the list is there at once, the rest when the runs answer
				give(boardLook{rows: slices.Clone(rows), today: day.last})
			}
			if err == nil {
				rows = runrows.Describe(ctx, client, rows)
				day.sum(c.Now())
				inbox.Update(rows, func(list []runs.Listed) { disk.MarkMerged(ctx, list) }) // it looks where branches have moved
			}
			give(boardLook{rows, day.last, client.DescribeJoined(ctx, c.Now()), err})
			select {
			case <-ctx.Done():
			case <-time.After(boardEvery):
			}
		}
	})
	return looks
}

func drawBoard(c *factory.Factory, b *board.Board, today run.Usage, hosts string) {
	columns, lines := 80, 24
	if c.Width != nil && c.Width() > 0 {
		columns = c.Width()
	}
	if c.Height != nil && c.Height() > 0 {
		lines = c.Height()
	}
	title := fmt.Sprintf("ratchet · %s · %s", display.Count(b.Waiting(), "needs you", "need you"), c.Now().Format("15:04"))
	if used := today.String(); used != "" {
		title += " · today " + used
	}
	if hosts != "" {
		title += " · " + hosts
	}
	var text strings.Builder
	text.WriteString("\x1b[H")
	for i, line := range b.Draw(title, c.Now(), columns, lines) {
		if i > 0 {
			text.WriteString("\r\n")
		}
		text.WriteString(line + "\x1b[K")
	}
	fmt.Fprint(c.Out, text.String(), "\x1b[J")
}

// actOnBoard carries out an action on the chosen run, on the ordinary screen.
func actOnBoard(ctx context.Context, c *factory.Factory, b *board.Board, action board.Action) error {
	r, _ := b.Chosen()
	screen := c.ScreenOn(c.Out)
	args := []string{string(action), r.Key()}
	switch {
	case action == board.Start:
		goal, err := askLine(ctx, c, screen, screen.Wait("What should the run do? ")+screen.Dim("[a line, e your editor, Enter back] "))
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
	runCommand(ctx, c, screen, args...)
	_, _ = askLine(ctx, c, screen, screen.Dim("Enter: back to the board "))
	return ctx.Err()
}

// runCommand shows a command and runs it.
func runCommand(ctx context.Context, c *factory.Factory, screen *terminal.Screen, args ...string) {
	screen.Wrapped(screen.Dim("$ " + c.Hint("%s", story.OneLine(shellquote.Join(args...), 2000))))
	sub := c.Fork(*c.Console)
	sub.Args = slices.Concat(args, globalArgs(c))
	sub.Run(ctx)
}

// askLine asks for a line, between two screens of the board. It returns the errors of dialog.Lines.
func askLine(ctx context.Context, c *factory.Factory, screen *terminal.Screen, prompt string) (string, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	asking := c.Open()
	defer asking.GiveBack()
	lines := asking.ReadTyped(screen)
	screen.Line("")
	return lines.Ask(ctx, "  "+prompt)
}

// globalArgs returns the flags of this command line that its other commands take as well.
func globalArgs(c *factory.Factory) []string {
	args := []string{"--runs-dir", c.RunsDir, "--task-queue", c.Queue}
	if c.Plain {
		args = append(args, "--no-color")
	}
	return args
}

// OpenOrHelp shows the board, or the help where no engine answers.
func OpenOrHelp(ctx context.Context, c *factory.Factory, cmd *cobra.Command) error {
	err := openBoard(ctx, c)
	if _, away := errors.AsType[*temporalclient.Unreachable](err); away {
		_ = cmd.Help()
		return err
	}
	return err
}
