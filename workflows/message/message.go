// Package message takes the messages that come to a workflow both by update and by signal. Whoever sends an update is
// told whether the workflow takes it. A signal has no answer, so the workflow records one that it does not take.
package message

import (
	"errors"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// Inbox takes the signals of a workflow. Signals of other forms can be added to its Selector.
type Inbox struct {
	workflow.Selector
	refuse func(ctx workflow.Context, name string, why error)
	drains []func()
}

// NewInbox returns an inbox without handlers. It calls refuse for each signal that is dropped.
func NewInbox(ctx workflow.Context, refuse func(ctx workflow.Context, name string, why error)) *Inbox {
	return &Inbox{Selector: workflow.NewSelector(ctx), refuse: refuse}
}

// Serve begins to take signals, until the workflow ends.
func (in *Inbox) Serve(ctx workflow.Context) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			in.Select(ctx)
		}
	})
}

// Drain takes the signals that have come and wait.
func (in *Inbox) Drain() {
	for _, drain := range in.drains {
		drain()
	}
}

// Kind describes the messages of one name. Take is called for a message for which Check returns nil. Parse reads a
// message of one line, which is what a person types into a form.
type Kind[M, R any] struct {
	Name  string
	Form  string // what a message looks like, for people
	Check func(M) error
	Parse func(line string) (M, error)
	Take  func(M) R
}

// Register registers the handlers of a kind of messages. An update that Check refuses returns the error to its caller. A
// signal that Check refuses, or that is no message at all, changes nothing: a stray signal never ends a workflow.
func Register[M, R any](ctx workflow.Context, in *Inbox, k Kind[M, R]) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, k.Name,
		func(_ workflow.Context, m M) (R, error) { return k.Take(m), nil },
		workflow.UpdateHandlerOptions{Validator: k.Check, Description: k.Form})
	ch := workflow.GetSignalChannelWithOptions(ctx, k.Name, workflow.SignalChannelOptions{Description: k.Form})
	takeNext := func() bool {
		var raw converter.RawValue
		if !ch.ReceiveAsync(&raw) {
			return false
		}
		m, err := decode(raw, k.Parse)
		if err == nil {
			err = k.Check(m)
		}
		if err != nil {
			in.refuse(ctx, k.Name, err)
		} else {
			k.Take(m)
		}
		return true
	}
	in.AddReceive(ch, func(workflow.ReceiveChannel, bool) { takeNext() })
	in.drains = append(in.drains, func() {
		for takeNext() {
		}
	})
	return err
}

var errNoPayload = errors.New("the signal carries nothing")

// decode reads the message of a signal: an object, or a string that parse reads. The SDK would drop one that it cannot
// read without a trace.
func decode[M any](raw converter.RawValue, parse func(string) (M, error)) (m M, err error) {
	if raw.Payload() == nil {
		return m, errNoPayload
	}
	line, from := "", converter.GetDefaultDataConverter().FromPayload
	if from(raw.Payload(), &line) == nil { //workflowcheck:ignore // pure
		return parse(line)
	}
	err = from(raw.Payload(), &m) //workflowcheck:ignore // pure
	return m, err
}
