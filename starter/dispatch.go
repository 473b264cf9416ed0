package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

type dispatchFlags struct {
	intent, mode, message string
	wantsReply            bool
}

func (c *cli) dispatchCommand() *cobra.Command {
	var f dispatchFlags
	cmd := &cobra.Command{
		Use:   "dispatch GARDEN_ID --intent INTENT --message TEXT",
		Short: "Send a message to an agent session that exists",
		Long: `Sends a message to an agent session by its garden id, with the outcome that you
expect: fire-and-forget ends with the acknowledgement; owned-outcome resumes a
session that does not run and waits for the end of its turn. The receipt says what
was decided and why, the outcome what came of it. Nothing is ever started for an id
that no session has. An interrupt ends the waiting, never the dispatch.`,
		Example: "  starter peers\n  starter dispatch 20260612T101500-3f2a9c --intent fire-and-forget --message 'the build is green'\n" +
			"  git diff | starter dispatch 20260612T101500-3f2a9c --intent owned-outcome --message -",
		Args: exactArgs(1, "one garden id, as `starter peers` lists them"),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.intent, "intent", "", "the `outcome` that you expect: fire-and-forget or owned-outcome")
	flags.StringVar(&f.message, "message", "", "`text` of the message; - is standard input")
	flags.StringVar(&f.mode, "mode", "", "`how` a busy session takes it: follow_up after its turn (the default), or steer into it")
	flags.BoolVar(&f.wantsReply, "wants-reply", false, "tell the session that a reply is welcome; nothing waits for one")
	cmd.RunE = c.handleWith(func(ctx context.Context, args []string) error {
		m, err := c.newMessage(args[0], f)
		if err != nil {
			return err
		}
		return c.dispatchMessage(ctx, m)
	})
	return cmd
}

// newMessage returns the message that the flags describe. It reports a usage error before it
// looks at the registry.
func (c *cli) newMessage(target string, f dispatchFlags) (dispatch.Message, error) {
	if f.message == "-" {
		text, err := readMessage(c.in)
		if err != nil {
			return dispatch.Message{}, err
		}
		f.message = text
	}
	l := dispatch.Message{ID: uuid.NewString(), Request: dispatch.Request{
		Target: dispatch.GardenID(target), Intent: dispatch.Intent(f.intent), Mode: dispatch.Mode(f.mode),
		Message: f.message, WantsReply: f.wantsReply,
	}}
	if err := l.Request.Validate(); err != nil {
		return l, &usageError{err}
	}
	dirs, err := c.findRegistry()
	if err != nil {
		return l, err
	}
	l.Sender, err = dirs.Sender(c.thisCaller())
	return l, err
}

// readMessage reads a message and the end of its line. It reads no more bytes than both can
// have, and refuses a longer input.
func readMessage(in io.Reader) (string, error) {
	const most = dispatch.MaxMessage*utf8.UTFMax + 1
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return "", err
	}
	if len(b) > most {
		return "", usageErrorf("the message is too long: at most %d characters can be sent", dispatch.MaxMessage)
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}

func (c *cli) findRegistry() (citizen.Dirs, error) { return citizen.FindDirs(c.lookupEnv) }

func (c *console) lookupEnv(name string) (string, bool) {
	for _, entry := range c.environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// thisCaller returns this process as the caller whose identity others look up.
func (c *cli) thisCaller() citizen.Caller {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	return citizen.Caller{Lookup: c.lookupEnv, CWD: dir, Parent: os.Getppid(), Now: c.now()}
}

// dispatched is the JSON output of a dispatch.
type dispatched struct {
	ID string `json:"id"` // as `starter dispatches` lists it
	dispatch.Result
	Hint string `json:"hint,omitempty"`
}

func (c *cli) dispatchMessage(ctx context.Context, l dispatch.Message) error {
	t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.runsDir})
	if err != nil {
		return err
	}
	defer t.Close()
	waits := time.AfterFunc(silence, func() {
		fmt.Fprintln(c.err, "no worker has taken the dispatch yet; waiting (interrupt to stop)")
	})
	defer waits.Stop()
	res, err := c.postMessage(ctx, t, l, func() { waits.Stop() })
	if err != nil {
		return c.cutOff(l.Request.Target, err)
	}
	if c.json {
		err = c.printJSON(dispatched{l.ID, res, res.Hint()})
	} else {
		c.printDispatch(res)
	}
	if err == nil && !res.Succeeded() {
		err = &statusError{run.Failed}
	}
	return err
}

// cutOff adds to the error of a dispatch that was cut off where to look for its result. It
// prints the error itself when an interrupt would end the command without a message.
func (c *cli) cutOff(to dispatch.GardenID, err error) error {
	if _, cut := errors.AsType[*dispatches.CutOffError](err); !cut {
		return err
	}
	err = fmt.Errorf("%w; before you send it again, see what came of it: %s", err, c.hintCommand("dispatches %s", to))
	if complaintOf(err) == "" {
		fmt.Fprintf(c.err, "\n%v\n", err)
	}
	return err
}

// silence is the time that a message may wait for a worker before the sender is told.
const silence = 5 * time.Second

// workerStart is the time that a worker which has just been started may take until the engine
// knows it.
const workerStart = 3 * time.Second

// postMessage sends the message and waits for the result. It refuses when no worker serves
// dispatches, because the message would wait for ever. taken is called when a workflow has
// accepted the message; it may be nil.
func (c *cli) postMessage(ctx context.Context, t client.Client, l dispatch.Message, taken func()) (dispatch.Result, error) {
	if served, err := c.clientOf(t).AwaitServed(ctx, workerStart); err == nil && !served {
		return dispatch.Result{}, runs.ErrNoWorker
	}
	return dispatches.Client{Temporal: t, Queue: c.queue, Taken: taken}.Dispatch(ctx, l)
}

func (c *cli) printDispatch(res dispatch.Result) {
	s := c.style()
	if res.Outcome == nil {
		c.printf("%s %s", s.Bad("✗ rejected:"), res.Receipt.Reason())
		if seen := res.Receipt.Observed(); seen != "" {
			c.printf(" (the target is %s)", seen)
		}
		c.printf("\n")
	} else {
		sign := s.Good("✓")
		if !res.Succeeded() {
			sign = s.Bad("✗")
		}
		c.printf("%s %s by %s", sign, res.Outcome.Kind, res.Outcome.Transport)
		if as := res.Outcome.DeliveredAs; as != "" {
			c.printf(" (%s)", as)
		}
		c.printf("\n")
		if res.Outcome.Error != "" {
			c.printf("  %s\n", story.OneLine(res.Outcome.Error, 400))
		}
		for _, line := range answerLines(res.Outcome.Answer) {
			c.printf("  %s\n", line)
		}
	}
	if res.Diagnostic != "" {
		c.printf("  %s\n", s.Dim(story.OneLine(res.Diagnostic, 400)))
	}
	if hint := res.Hint(); hint != "" {
		c.printf("  %s\n", hint)
	}
}

func answerLines(text string) []string {
	if text == "" {
		return nil
	}
	return story.Lines(text, 40)
}
