// Package deliveries gives batches to the workflows of standing sessions, reads what became of them, and says which are
// made by themselves.
package deliveries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

// Client reaches the workflows of sessions through one Temporal server.
type Client struct{ Temporal client.Client }

// The limits of the calls. An update waits for a worker.
const (
	callLimit   = 8 * time.Second
	updateLimit = 30 * time.Second
)

// ErrNoAnswer is the error for a session whose workflow does not answer in time.
var ErrNoAnswer = errors.New("no worker answers for the session: start one with `starter up` or `worker`")

// Read reads a batch from a document. The error is one line, with the code of the contract.
func Read(b []byte) (p activities.EnqueueInput, err error) {
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("batch_invalid: %w", err)
	}
	// Only the session knows its thread. To validate the rest, any thread will do.
	if err := (delivery.Batch{ID: p.ID, Thread: "thread", Jobs: p.Jobs, Profile: p.Profile}).Validate(); err != nil {
		return p, fmt.Errorf("batch_invalid: %w", err)
	}
	return p, nil
}

// Given is the receipt of a batch, with why it was closed; empty: it is open.
type Given struct {
	activities.Receipt
	Close delivery.Close `json:"close,omitempty"`
	Note  string         `json:"note,omitempty"`
}

// Enqueue gives the session a batch. A batch that is given twice is one batch: the engine has the receipt of the first
// call, and the session says what the batch has become since.
func (c Client) Enqueue(ctx context.Context, session string, p activities.EnqueueInput) (g Given, err error) {
	if err = c.updateSession(ctx, session, activities.UpdateOf(session, p, client.WorkflowUpdateStageCompleted), &g.Receipt); err != nil {
		return g, err
	}
	v, err := c.View(ctx, session)
	if err != nil {
		return g, nil // the session has the batch
	}
	g.Waiting = len(v.Fold.Queue)
	if e := v.Fold.Known(p.ID); e != nil {
		g.Close, g.Note = e.Close, e.Note
	}
	return g, nil
}

// Close closes a batch by a person's word.
func (c Client) Close(ctx context.Context, session string, closing deliveryflow.Closing) (v deliveryflow.View, err error) {
	err = c.updateSession(ctx, session, client.UpdateWorkflowOptions{UpdateName: deliveryflow.CloseUpdate, Args: []any{closing}}, &v)
	return v, err
}

// Sweep applies the deadlines that have passed.
func (c Client) Sweep(ctx context.Context, session string) (s deliveryflow.Swept, err error) {
	err = c.updateSession(ctx, session, client.UpdateWorkflowOptions{UpdateName: deliveryflow.SweepUpdate}, &s)
	return s, err
}

func (c Client) updateSession(ctx context.Context, session string, o client.UpdateWorkflowOptions, out any) error {
	ctx, cancel := context.WithTimeout(ctx, updateLimit)
	defer cancel()
	o.WorkflowID, o.WaitForStage = activities.WorkflowID(session), client.WorkflowUpdateStageCompleted
	handle, err := c.Temporal.UpdateWorkflow(ctx, o)
	if err == nil {
		err = handle.Get(ctx, out)
	}
	return explainError(session, err)
}

// View returns the deliveries of a session, by its workflow.
func (c Client) View(ctx context.Context, session string) (v deliveryflow.View, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	got, err := c.Temporal.QueryWorkflow(ctx, activities.WorkflowID(session), "", deliveryflow.Query)
	if err == nil {
		err = got.Get(&v)
	}
	return v, explainError(session, err)
}

// explainError returns an error with the code of the contract where there is one.
func explainError(session string, err error) error {
	if _, late := errors.AsType[*serviceerror.DeadlineExceeded](err); late || errors.Is(err, context.DeadlineExceeded) {
		return ErrNoAnswer
	}
	if err == nil {
		return nil
	}
	told := activities.SendError(session, err)
	if app, ok := errors.AsType[*temporal.ApplicationError](told); ok {
		return errors.New(app.Message())
	}
	return told
}

// Recorded returns the deliveries of a session by its ledger alone, and the audit entries, with the closes by people. It
// needs no engine.
func Recorded(store ledger.Store, session string) (v deliveryflow.View, audit []delivery.Line, err error) {
	entries, err := store.Read(session)
	if err != nil {
		return v, nil, err
	}
	v.Session = session
	for _, e := range entries {
		audit = append(audit, e.Audit...)
		if e.Event == nil {
			continue
		}
		if c, ok := e.Event.Payload.(delivery.Closed); ok {
			audit = append(audit, v.Fold.ClosedLine(e.Event.TS, c))
		}
		if _, err := v.Fold.Apply(*e.Event); err != nil {
			return v, audit, fmt.Errorf("the ledger of session %s is invalid at entry %d: %w", session, e.N, err)
		}
	}
	return v, audit, nil
}

// On calls do with the session that the argument names.
func On(ctx context.Context, c *factory.Factory, name string, do func(Client, string) error) error {
	t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
	if err != nil {
		return err
	}
	defer t.Close()
	session, err := findDelivered(ctx, c, sessionref.Client(c, t), name)
	if err != nil {
		return err
	}
	return do(Client{Temporal: t}, session)
}

// findDelivered returns the session that the argument names. The engine knows the sessions that have no delivery yet; one
// that is over for long is known by its ledger alone.
func findDelivered(ctx context.Context, c *factory.Factory, client sessions.Client, name string) (string, error) {
	known, err := Ledger(c).Sessions()
	if err != nil || slices.Contains(known, name) {
		return name, err
	}
	id, err := client.Find(ctx, name)
	if _, none := errors.AsType[*sessions.NotFoundError](err); none {
		return Session(c, name)
	}
	return string(id), err
}

// Mode returns the mode that the flag --deliveries names. Only a person trusts.
func Mode(c *factory.Factory, word string) (m delivery.Mode, err error) {
	if err := m.UnmarshalText([]byte(strings.ReplaceAll(word, "-", "_"))); err != nil {
		return "", usage.Errorf("--deliveries %q: want strict-safe or trusted-all", word)
	}
	if m == delivery.TrustedAll {
		return m, c.MayDecide()
	}
	return "", nil // the default
}

// CompleteSession completes the id of the session that gets the run's messages. A session that does not answer is
// refused before anything is started.
func CompleteSession(ctx context.Context, c *factory.Factory, in *run.Input) error {
	if in.Tell == "" {
		return nil
	}
	return On(ctx, c, in.Tell, func(d Client, session string) error {
		in.Tell = session
		_, err := d.View(ctx, session)
		if err == nil {
			WarnNotDelivered(ctx, c, d, session)
		}
		return err
	})
}

// WarnNotDelivered prints a line if the agent of the session takes no deliveries. A session that does not answer is no
// reason to say so.
func WarnNotDelivered(ctx context.Context, c *factory.Factory, d Client, name string) {
	s, err := sessionref.Client(c, d.Temporal).State(ctx, session.ID(name))
	if err == nil && !s.Input.Kind().Traits().Deliveries {
		fmt.Fprintf(c.Err, "starter: the agent of session %s is %s, which takes no deliveries; %s do\n", name, s.Input.Kind(),
			setup.ListKinds(func(t setup.Traits) bool { return t.Deliveries }, "and"))
	}
}

func Ledger(c *factory.Factory) ledger.Store { return ledger.In(c.RunsDir) }

// Session returns the session that the argument names: its id, or the beginning of the one that has it among
// those with deliveries. An id that has no delivery yet is taken as it is.
func Session(c *factory.Factory, name string) (string, error) {
	name = strings.TrimPrefix(name, "session-")
	known, err := Ledger(c).Sessions()
	if err != nil {
		return "", err
	}
	if slices.Contains(known, name) || name == "" {
		return name, nil
	}
	found := slices.DeleteFunc(known, func(id string) bool { return !strings.HasPrefix(id, name) })
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0], nil
	}
	return "", usage.Errorf("session %s is ambiguous: %s", name, strings.Join(found, ", "))
}
