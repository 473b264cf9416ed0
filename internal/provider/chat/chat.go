// Package chat is what providers on model APIs have in common: one call as a
// conversation of a few messages, in which the model may look around in the
// run's files. It fits the prompt into the model's window, keeps the time, the
// bounds and the budgets, and says what an error means. How an API is spoken is
// a Wire's business; the SDK behind it never retries.
//
// A message is sent again in two cases, neither of which waits or was paid: once
// with half of the artifacts when the API finds the prompt too long, and once
// without tools when it knows none.
package chat

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// Model is what is known of a model, in tokens.
type Model struct {
	Name   string
	Window int // of prompt and answer together
	// MaxOutput is the longest answer; zero: not known.
	MaxOutput int
	// Reserve is kept free for an answer that the request does not bound.
	Reserve int
}

// DefaultIdle is the default of Config.Idle. Reasoning models fall silent for
// minutes.
const DefaultIdle = 5 * time.Minute

// Config makes a provider.
type Config struct {
	Name  string // of the provider
	Model Model
	Wire  Wire
	// Redact takes secrets out of what the model and its API say, and out of the
	// files that the model reads. Nil takes none.
	Redact *redact.Redactor
	// Idle is the longest silence within an answer that has begun; zero is
	// DefaultIdle. What comes before it has the time of the request.
	Idle  time.Duration
	Price Price
}

// Wire speaks one API. It is safe for concurrent use.
type Wire interface {
	// Send asks for the next message of a conversation, by one request over
	// line, and tells line the text as it comes. What is known of the message is
	// returned with an error, too: ErrUnfinished when the stream ended before the
	// message did, a *StatusError for what the API says, a *provider.Error for
	// what can be judged at once, and whatever the transport reports.
	Send(ctx context.Context, c Conversation, line *Line) (Message, error)
}

// ErrUnfinished is the error of a stream that ended in good order before the
// message did.
var ErrUnfinished = errors.New("the stream ended before the answer did")

// Conversation is what a message is asked for. All of it is sent each time.
type Conversation struct {
	Model   string
	System  string
	Context string // the artifacts; empty when there are none
	User    string
	Key     string // the same for conversations that begin alike
	Tools   []explore.Tool
	// Exchanges are what the model asked for so far, and got.
	Exchanges []Exchange
	// MustAnswer forbids to use the tools further.
	MustAnswer bool
	// MaxOutput is positive. Bounded says that the request or a budget demands
	// it, and not we.
	MaxOutput   int
	Bounded     bool
	Temperature *float64
}

// Exchange is a message that asked for tools, and what they gave, in the same
// order.
type Exchange struct {
	Said    Message
	Results []explore.Result
}

// Message is one message of the model.
type Message struct {
	Finish provider.FinishReason // Stop or Length
	Calls  []explore.Call        // what it waits for; none when it is an answer
	Tokens *Tokens               // nil: not told
	Native any                   // the message as its wire sends it back
}

type chat struct {
	Config
	noTools *atomic.Bool // the API knows none
}

// New makes the provider.
func New(c Config) provider.Provider {
	if c.Idle == 0 {
		c.Idle = DefaultIdle
	}
	return chat{c, new(atomic.Bool)}
}

func (p chat) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		Name: p.Name, Version: p.Model.Name, MaxContextTokens: p.Model.Window,
		SupportsPatchFirst: true, SupportsStreaming: true, SupportsToolCalls: true, Explores: true,
	}
}

// Generate answers with the text of the model's last message; what it said
// before, between its looks at files, counts as progress alone. After an error
// the text is all that was said.
func (p chat) Generate(ctx context.Context, req provider.Request, progress func(provider.Progress)) (provider.Response, error) {
	start := time.Now()
	if err := ctx.Err(); err != nil {
		return provider.Response{}, err
	}
	if err := req.Check(); err != nil {
		return err.Response("", 0), err
	}
	c := p.begin(req, progress)
	finish, err := c.hold(ctx)
	resp := provider.Response{RawText: c.out.message(), FinishReason: finish}
	if err != nil {
		resp, err = c.failed(ctx, err)
	}
	resp.Usage = c.usage()
	resp.DurationMs = time.Since(start).Milliseconds()
	return resp, err
}
