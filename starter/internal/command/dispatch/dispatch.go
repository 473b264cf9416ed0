// Package dispatch has the commands `starter dispatch` and `starter dispatches`.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

type dispatchFlags struct {
	intent, mode, message string
	wantsReply            bool
}

func New(c *factory.Factory) *cobra.Command {
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
		Args: usage.Args(1, "one garden id, as `starter peers` lists them"),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.intent, "intent", "", "the `outcome` that you expect: fire-and-forget or owned-outcome")
	flags.StringVar(&f.message, "message", "", "`text` of the message; - is standard input")
	flags.StringVar(&f.mode, "mode", "", "`how` a busy session takes it: follow_up after its turn (the default), or steer into it")
	flags.BoolVar(&f.wantsReply, "wants-reply", false, "tell the session that a reply is welcome; nothing waits for one")
	cmd.RunE = c.Handle(func(ctx context.Context, args []string) error {
		m, err := newMessage(c, args[0], f)
		if err != nil {
			return err
		}
		return dispatchMessage(ctx, c, m)
	})
	return cmd
}

// newMessage returns the message that the flags describe. It reports a usage error before it
// looks at the registry.
func newMessage(c *factory.Factory, target string, f dispatchFlags) (dispatch.Message, error) {
	if f.message == "-" {
		text, err := readMessage(c)
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
		return l, &usage.Error{Err: err}
	}
	dirs, err := dispatches.Registry(c)
	if err != nil {
		return l, err
	}
	l.Sender, err = dirs.Sender(dispatches.Caller(c))
	return l, err
}

// readMessage reads a message and the end of its line. It reads no more bytes than both can
// have, and refuses a longer input.
func readMessage(c *factory.Factory) (string, error) {
	const most = dispatch.MaxMessage*utf8.UTFMax + 1
	b, err := c.ReadInput("-", most)
	if err != nil {
		return "", err
	}
	if len(b) > most {
		return "", usage.Errorf("the message is too long: at most %d characters can be sent", dispatch.MaxMessage)
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}

// dispatched is the JSON output of a dispatch.
type dispatched struct {
	ID string `json:"id"` // as `starter dispatches` lists it
	dispatch.Result
	Hint string `json:"hint,omitempty"`
}

func dispatchMessage(ctx context.Context, c *factory.Factory, l dispatch.Message) error {
	t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
	if err != nil {
		return err
	}
	defer t.Close()
	waits := time.AfterFunc(silence, func() {
		fmt.Fprintln(c.Err, "no worker has taken the dispatch yet; waiting (interrupt to stop)")
	})
	defer waits.Stop()
	res, err := dispatches.Post(ctx, c, t, l, func() { waits.Stop() })
	if err != nil {
		return cutOff(c, l.Request.Target, err)
	}
	if c.JSON {
		err = c.PrintJSON(dispatched{l.ID, res, res.Hint()})
	} else {
		printDispatch(c, res)
	}
	if err == nil && !res.Succeeded() {
		err = &exit.StatusError{Status: run.Failed}
	}
	return err
}

// cutOff adds to the error of a dispatch that was cut off where to look for its result. It
// prints the error itself when an interrupt would end the command without a message.
func cutOff(c *factory.Factory, to dispatch.GardenID, err error) error {
	if _, cut := errors.AsType[*dispatches.CutOffError](err); !cut {
		return err
	}
	err = fmt.Errorf("%w; before you send it again, see what came of it: %s", err, c.Hint("dispatches %s", to))
	if exit.Complaint(err) == "" {
		fmt.Fprintf(c.Err, "\n%v\n", err)
	}
	return err
}

// silence is the time that a message may wait for a worker before the sender gets a report.
const silence = 5 * time.Second

func printDispatch(c *factory.Factory, res dispatch.Result) {
	s := c.Style()
	if res.Outcome == nil {
		c.Printf("%s %s", s.Bad("✗ rejected:"), res.Receipt.Reason())
		if seen := res.Receipt.Observed(); seen != "" {
			c.Printf(" (the target is %s)", seen)
		}
		c.Printf("\n")
	} else {
		sign := s.Good("✓")
		if !res.Succeeded() {
			sign = s.Bad("✗")
		}
		c.Printf("%s %s by %s", sign, res.Outcome.Kind, res.Outcome.Transport)
		if as := res.Outcome.DeliveredAs; as != "" {
			c.Printf(" (%s)", as)
		}
		c.Printf("\n")
		if res.Outcome.Error != "" {
			c.Printf("  %s\n", story.OneLine(res.Outcome.Error, 400))
		}
		for _, line := range answerLines(res.Outcome.Answer) {
			c.Printf("  %s\n", line)
		}
	}
	if res.Diagnostic != "" {
		c.Printf("  %s\n", s.Dim(story.OneLine(res.Diagnostic, 400)))
	}
	if hint := res.Hint(); hint != "" {
		c.Printf("  %s\n", hint)
	}
}

func answerLines(text string) []string {
	if text == "" {
		return nil
	}
	return story.Lines(text, 40)
}
