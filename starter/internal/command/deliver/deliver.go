// Package deliver has the commands `starter deliver`, `starter deliveries` and `starter delivery`.
package deliver

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/deliveries"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

func New(c *factory.Factory) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "deliver SESSION --file FILE",
		Short: "Queue a result of background work for a standing session",
		Long: `Queues a batch of results for a standing session. The session gets it as a turn of its
own once it is proved idle, at most once; what cannot be proved waits for you: see
starter deliveries. The batch is a JSON object:

  {"id": "nightly-0612", "jobs": [{"id": "nightly", "state": "ready", "summary": "all green"}],
   "profile": {"delivery_read_only": true, "delivery_requires_approval": false,
               "delivery_requires_network": false, "delivery_requires_write_access": false}}

A batch without a profile that says so is delivered to no session by itself. The same
batch given twice is one batch. Everything in it is shown to the agent as untrusted data.`,
		Example:           "  starter deliver 0198c5e2 --file result.json\n  ./report | starter deliver 0198c5e2 --file -",
		Args:              usage.Args(1, "one SESSION, as `starter session list` lists them"),
		ValidArgsFunction: completeDelivered(c),
	}
	cmd.Flags().StringVar(&file, "file", "", "`file` that holds the batch; - is standard input")
	cmd.RunE = c.Handle(func(ctx context.Context, args []string) error {
		p, err := readBatch(c, file)
		if err != nil {
			return err
		}
		return deliveries.On(ctx, c, args[0], func(d deliveries.Client, session string) error {
			given, err := d.Enqueue(ctx, session, p)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(given)
			}
			state := "queued"
			if given.Close != "" {
				state = "closed as " + story.OneLine(strings.TrimSuffix(string(given.Close)+": "+given.Note, ": "), 200)
			}
			c.Printf("batch %s is %s; %d open: see `%s`\n", given.Batch, state, given.Waiting, c.Hint("deliveries %s", session))
			deliveries.WarnNotDelivered(ctx, c, d, session)
			return nil
		})
	})
	return cmd
}

// maxBatchFile bounds a document with a batch. Escapes can make it longer than the delivered text.
const maxBatchFile = 8 * delivery.MaxBatchBytes

// readBatch reads a batch. A fault in it is a usage error.
func readBatch(c *factory.Factory, file string) (p activities.EnqueueInput, err error) {
	if file == "" {
		return p, usage.Errorf("no --file given: name the file that holds the batch, or - for standard input")
	}
	b, err := c.ReadInput(file, maxBatchFile)
	if err != nil {
		return p, usage.Errorf("batch_unreadable: %w", err)
	}
	if len(b) > maxBatchFile {
		return p, usage.Errorf("batch_invalid: the batch has more than %d bytes: name its results as artifacts, which a session with --deliveries trusted-all takes", maxBatchFile)
	}
	if p, err = deliveries.Read(b); err != nil {
		return p, &usage.Error{Err: err}
	}
	return p, nil
}

func NewSettle(c *factory.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delivery",
		Short:   "Close what deliveries have left to a person",
		Example: "  starter deliveries 0198c5e2\n  starter delivery close 0198c5e2 --confirmed --note 'it is in the session'",
		Args:    usage.Args(0, "close or sweep"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(deliveryCloseCommand(c), deliverySweepCommand(c))
	return cmd
}

// closeFlags holds the flags of `delivery close`.
type closeFlags struct {
	batch, note, by                   string
	confirmed, unconfirmed, cancelled bool
}

func deliveryCloseCommand(c *factory.Factory) *cobra.Command {
	var f closeFlags
	cmd := &cobra.Command{
		Use:   "close SESSION --confirmed|--unconfirmed|--cancelled",
		Short: "Close a batch manually",
		Long: `Closes the batch at the head of a session's queue: as confirmed if you have seen the
result in the session, else as unconfirmed. Another batch, or one of which nothing
was sent, can be cancelled. Nothing is ever sent again for a batch that waits for a
person.`,
		Example:           "  starter delivery close 0198c5e2 --confirmed --note 'it is in the session'\n  starter delivery close 0198c5e2 --batch nightly-0612 --cancelled",
		Args:              usage.Args(1, "one SESSION, as `starter deliveries` lists them"),
		ValidArgsFunction: completeDelivered(c),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.batch, "batch", "", "`id` of the batch; default: the head of the queue")
	flags.BoolVar(&f.confirmed, "confirmed", false, "you have seen the result in the session")
	flags.BoolVar(&f.unconfirmed, "unconfirmed", false, "unknown, or it is not there")
	flags.BoolVar(&f.cancelled, "cancelled", false, "nothing was sent, and nothing will be")
	flags.StringVar(&f.note, "note", "", "`text` for the audit")
	byflag.Add(c, flags, &f.by, "`name` of who says it")
	cmd.MarkFlagsMutuallyExclusive("confirmed", "unconfirmed", "cancelled")
	cmd.RunE = c.Handle(func(ctx context.Context, args []string) error {
		if err := c.MayDecide(); err != nil {
			return err
		}
		closing, err := f.closing()
		if err != nil {
			return err
		}
		return deliveries.On(ctx, c, args[0], func(d deliveries.Client, session string) error {
			v, err := d.Close(ctx, session, closing)
			if err != nil {
				return err
			}
			return printDeliveries(c, v, nil)
		})
	})
	return cmd
}

// closing returns the decision of the flags.
func (f closeFlags) closing() (deliveryflow.Closing, error) {
	closing := deliveryflow.Closing{Batch: f.batch, By: f.by, Note: f.note}
	switch {
	case f.confirmed:
		closing.Reason = delivery.Confirmed
	case f.unconfirmed:
		closing.Reason = delivery.Unconfirmed
	case f.cancelled:
		closing.Reason = delivery.Cancelled
	default:
		return closing, usage.Errorf("say how it ended: --confirmed, --unconfirmed or --cancelled")
	}
	return closing, nil
}

func deliverySweepCommand(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:               "sweep SESSION",
		Short:             "Apply now what is due because time has passed",
		Example:           "  starter delivery sweep 0198c5e2",
		Args:              usage.Args(1, "one SESSION, as `starter deliveries` lists them"),
		ValidArgsFunction: completeDelivered(c),
		RunE: c.Handle(func(ctx context.Context, args []string) error {
			return deliveries.On(ctx, c, args[0], func(d deliveries.Client, session string) error {
				swept, err := d.Sweep(ctx, session)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.PrintJSON(swept)
				}
				c.Printf("%s\n", display.Line(fmt.Sprintf("%d batches or attempts of session %s were due", swept.Done, session)))
				return nil
			})
		}),
	}
}
